// @ts-check
import { html, useRef, useState } from "../vendor/preact.js";
import { call, hasArea, may, me, newId } from "../lib/api.js";
import { Dialog, useAct } from "../lib/act.js";
import { List, Rows } from "../lib/list.js";
import { NewPhone } from "../lib/phone.js";
import { Rights } from "../lib/scopes.js";
import { Badge, Copy, Failure, Loaded, Page, Time, useLoad } from "../lib/ui.js";
import { t } from "../lib/words.js";

/** What people call the browser that calls itself this. */
function browser(agent) {
  const name = [["Edg/", "Edge"], ["OPR/", "Opera"], ["SamsungBrowser/", "Samsung Internet"], ["Firefox/", "Firefox"], ["HeadlessChrome/", "Chrome"], ["Chrome/", "Chrome"], ["Safari/", "Safari"]].find(([mark]) => agent.includes(mark));
  const on = [["Android", "Android"], ["iPhone", "iPhone"], ["iPad", "iPad"], ["Windows", "Windows"], ["Mac OS", "macOS"], ["Linux", "Linux"]].find(([mark]) => agent.includes(mark));
  return name ? [name[1], on?.[1]].filter(Boolean).join(" · ") : agent.slice(0, 40) || "–";
}

/** Asks for another name for a key. */
function Rename({ k, done }) {
  const [name, set] = useState(k.name), act = useAct();
  const save = (close) => async (e) => {
    e.preventDefault();
    const r = await act.run(() => call("/v1/api-keys/" + encodeURIComponent(k.id), { method: "PATCH", body: { name: name.trim() }, headers: { "If-Match": `"${k.revision}"`, "Content-Type": "application/merge-patch+json" } }));
    if (r) { close(); done(); }
  };
  return html`<${Dialog} label=${t("keys.rename")} small closed=${act.clear}>${(close) => html`<form class="form" onSubmit=${save(close)}><h2>${t("keys.rename")}</h2>
    <label class="field"><span>${t("keys.for")}</span><input required maxlength="200" value=${name} onInput=${(e) => set(e.target.value)} /></label>
    <${Failure} error=${act.error} /><div class="row-end"><button type="button" onClick=${close}>${t("ui.cancel")}</button><button class="primary" disabled=${act.busy}>${t("keys.save")}</button></div></form>`}</${Dialog}>`;
}

const roles = ["manager", "supervisor", "collector", "verifier", "evaluator", "auditor", "device", "owner"];

function NewKey({ done }) {
  const dialog = useRef(/** @type {any} */ (null));
  const [name, setName] = useState(""), [role, setRole] = useState("manager"), [made, show] = useState(/** @type {any} */ (null)), [error, fail] = useState(/** @type {any} */ (null));
  const once = useRef(newId());
  const make = async (e) => {
    e.preventDefault();
    fail(null);
    try {
      show(await call("/v1/api-keys", { method: "POST", body: { name, role }, headers: { "Idempotency-Key": once.current } }));
      done();
    } catch (x) {
      fail(x);
    }
  };
  const reset = () => { show(null); setName(""); fail(null); once.current = newId(); }; // Escape closes too
  const close = () => dialog.current.close();
  return html`<button type="button" class="primary" onClick=${() => dialog.current.showModal()}>${t("keys.new")}</button>
    <dialog ref=${dialog} onClose=${reset} aria-label=${t("keys.new")}>${made
      ? html`<div class="form copyable"><h2>${made.name}</h2><p>${t("keys.shown")}</p><code class="secret">${made.key}</code><div class="row-end"><${Copy} text=${made.key} /><button type="button" onClick=${close}>${t("ui.close")}</button></div></div>`
      : html`<form class="form" onSubmit=${make}><h2>${t("keys.new")}</h2>
        <label class="field"><span>${t("keys.for")}</span><input required maxlength="200" value=${name} onInput=${(e) => setName(e.target.value)} /></label>
        <label class="field"><span>${t("keys.role")}</span><select value=${role} onChange=${(e) => setRole(e.target.value)}>${roles.map((r) => html`<option value=${r}>${t("role." + r)}</option>`)}</select></label>
        <${Failure} error=${error} /><div class="row-end"><button type="button" onClick=${close}>${t("ui.cancel")}</button><button class="primary">${t("keys.make")}</button></div></form>`}</dialog>`;
}

function Sessions() {
  const list = useLoad(() => call("/v1/console/sessions?limit=100"), []), [error, fail] = useState(/** @type {any} */ (null));
  const end = async (s) => {
    fail(null);
    try {
      await call("/v1/console/sessions/" + encodeURIComponent(s.id), { method: "DELETE" });
    } catch (e) {
      fail(e);
    }
    list.reload();
  };
  return html`<section class="card"><h2>${t("keys.sessions")}</h2><${Failure} error=${error} /><${Loaded} of=${list} rows=${3}>${(d) => (d.items.length ? html`<${Rows} items=${d.items} id=${(s) => s.id} columns=${[
    { label: t("keys.name"), cell: (s) => html`${s.name}${s.current ? html` <span class="mute">(${t("keys.this")})</span>` : null}` },
    { label: t("keys.from"), cell: (s) => html`<code>${s.address}</code>` },
    { label: t("keys.browser"), cell: (s) => html`<span title=${s.agent}>${browser(s.agent)}</span>` },
    { label: t("keys.used"), cell: (s) => html`<${Time} at=${s.seenAt} />` },
    { label: "", cell: (s) => (s.current ? null : html`<button type="button" class="small" onClick=${() => end(s)}>${t("keys.end")}</button>`) },
  ]} />` : html`<p class="mute">${t("keys.noSessions")}</p>`)}</${Loaded}></section>`;
}

export default function Keys() {
  const [turn, again] = useState(0), [error, fail] = useState(/** @type {any} */ (null));
  const revoke = async (k) => {
    if (!confirm(t("keys.sure", { name: k.name }))) return;
    fail(null);
    try {
      await call("/v1/api-keys/" + encodeURIComponent(k.id), { method: "DELETE" });
    } catch (e) {
      fail(e);
    }
    again((n) => n + 1);
  };
  return html`<${Page} title=${t("page.keys")} about=${t("keys.about")} actions=${may("keys:write") && html`${hasArea("b") && may("collect:send") && html`<${NewPhone} done=${() => again((n) => n + 1)} />`}<${NewKey} done=${() => again((n) => n + 1)} />`}>
    <${Failure} error=${error} />
    <${List} path="/v1/api-keys" turn=${turn} id=${(k) => k.id}
      filters=${[{ key: "status", label: t("keys.state"), options: ["active", "rotated", "expired", "revoked"].map((s) => ({ value: s, label: t("state." + s) })) }]}
      columns=${[
        { label: t("keys.name"), cell: (k) => k.name },
        { label: t("keys.state"), cell: (k) => html`<${Badge} value=${k.status} />` },
        { label: t("keys.rights"), cell: (k) => html`<${Rights} scopes=${k.scopes} />` },
        { label: t("keys.used"), cell: (k) => html`<${Time} at=${k.lastUsedAt} />` },
        { label: t("keys.ends"), cell: (k) => html`<${Time} at=${k.expiresAt} />` },
        { label: "", cell: (k) => (may("keys:write") && (k.status === "active" || k.status === "rotated") ? html`<span class="actions"><${Rename} k=${k} done=${() => again((n) => n + 1)} />${k.id !== me.value.key && html`<button type="button" class="small" onClick=${() => revoke(k)}>${t("keys.revoke")}</button>`}</span>` : null) },
      ]}
      empty=${{ icon: "key", title: t("keys.empty") }} />
    <${Sessions} /></${Page}>`;
}
