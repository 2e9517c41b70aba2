// @ts-check
import { html, useEffect, useState } from "../vendor/preact.js";
import { Dialog, useAct } from "../lib/act.js";
import { call, may } from "../lib/api.js";
import { Editor } from "../lib/editor.js";
import { say } from "../lib/labels.js";
import { Rows } from "../lib/list.js";
import { Preview } from "../lib/preview.js";
import { base, go, route, setQuery } from "../lib/router.js";
import { Badge, Failure, Loaded, Page, Time, useLoad } from "../lib/ui.js";
import { t } from "../lib/words.js";
import { templateHref } from "./templates.js";

const path = (id) => "/v1/templates/" + encodeURIComponent(id);

/** A question and what hangs on it. */
const Line = ({ q }) => html`<li><strong>${say(q.label) || q.id}</strong>${q.required ? html` <span class="needed">*</span>` : null} <span class="mute">${q.type.replaceAll("_", " ")}${q.unit ? " · " + q.unit : ""}${q.pii && q.pii !== "none" ? " · " + t("template.personal") : ""}</span>
  ${q.relevant ? html`<div class="hint">${t("template.when")} <code>${q.relevant}</code></div>` : null}
  ${q.options?.length ? html`<div class="hint">${q.options.slice(0, 12).map((o) => say(o.label) || o.value || o).join(", ")}${q.options.length > 12 ? " …" : ""}</div>` : null}
  ${q.questions?.length ? html`<ul>${q.questions.map((x) => html`<${Line} key=${x.id} q=${x} />`)}</ul>` : null}</li>`;

const Outline = ({ v }) => html`${v.sections.map((s) => html`<section class="card" key=${s.id} data-section=${s.id}><h2>${say(s.title) || s.id}</h2>${s.relevant ? html`<p class="hint">${t("template.when")} <code>${s.relevant}</code></p>` : null}<ol class="questions">${s.questions.map((q) => html`<${Line} key=${q.id} q=${q} />`)}</ol></section>`)}`;

function Copy({ v }) {
  const act = useAct(), [id, name] = useState("");
  return html`<${Dialog} label=${t("template.copy")} small=${false}>${(close) => html`<form class="form" onSubmit=${async (e) => {
    e.preventDefault();
    const r = await act.run(() => call(path(v.templateId) + "/clone", { method: "POST", body: { templateId: id.trim() } }));
    if (r) { close(); go("/templates/" + encodeURIComponent(r.templateId) + "?tab=edit"); }
  }}><p>${t("template.copyText")}</p><label class="field"><span>${t("templates.id")}</span><input required maxlength="64" value=${id} onInput=${(e) => name(e.target.value)} /></label><${Failure} error=${act.error} />
    <div class="row-end"><button type="button" onClick=${close}>${t("ui.cancel")}</button><button type="submit" class="primary" disabled=${act.busy}>${t("template.copy")}</button></div></form>`}</${Dialog}>`;
}

function Edit({ v, done }) {
  const [next, change] = useState(v), [dirty, touch] = useState(false), [turn, again] = useState(0), [warned, warn] = useState([]), act = useAct();
  useEffect(() => { change(v); touch(false); }, [v.version, v.revision]);
  const save = () => act.run(async () => {
    await call(path(v.templateId), { method: "PUT", body: next, headers: { "If-Match": `"${v.revision}"` } });
    again(turn + 1);
    await done();
  });
  const publish = async () => {
    const made = await act.run(() => call(path(v.templateId) + "/publish", { method: "POST", body: {} }));
    if (!made) return;
    warn(made.warnings || []);
    await done();
    if (!made.warnings) setQuery({ tab: "" });
  };
  return html`<div class="split editor"><section class="card"><div class="card-head"><h2>${t("template.edit")}</h2><span class="actions"><button type="button" class="primary" disabled=${!dirty || act.busy} onClick=${save}>${t(v.status === "draft" ? "template.save" : "template.saveNext", { n: v.version + 1 })}</button>
      <button type="button" disabled=${dirty || act.busy || v.status !== "draft"} onClick=${publish}>${t("template.publish", { n: v.version })}</button></span></div>
      <${Failure} error=${act.error} />${warned.length ? html`<div class="note" role="status"><p>${t("template.noPhone")}</p><ul>${warned.map((w) => html`<li key=${w.pointer}><code>${w.pointer}</code> ${w.detail}</li>`)}</ul></div>` : null}<${Editor} template=${next} change=${(x) => { change(x); touch(true); }} /></section>
    <aside><section class="card"><h2>${t("template.phone")}</h2>${dirty ? html`<p class="note">${t("template.unsaved")}</p>` : null}<${Preview} template=${v} turn=${turn} /></section></aside></div>`;
}

function Versions({ id, list }) {
  const q = route.value.query, newest = list[0]?.version, from = Number(q.from) || newest - 1, to = Number(q.to) || newest;
  const diff = useLoad(() => (from >= 1 && from !== to ? call(`${path(id)}/diff?from=${from}&to=${to}`) : { changes: [] }), [id, from, to]);
  const pick = (key, value) => html`<select aria-label=${t("template." + key)} value=${value} onChange=${(e) => setQuery({ [key]: e.target.value })}>${list.map((v) => html`<option key=${v.version} value=${v.version}>${v.version}</option>`)}</select>`;
  return html`<section class="card"><${Rows} items=${list} id=${(v) => String(v.version)} href=${(v) => templateHref(id) + "?version=" + v.version} columns=${[
      { label: t("templates.version"), cell: (v) => String(v.version) }, { label: t("twins.status"), cell: (v) => html`<${Badge} value=${v.status} />` }, { label: t("twins.changed"), cell: (v) => html`<${Time} at=${v.published || v.updated} />` },
      { label: "XLSForm", cell: (v) => html`<a href=${v.links.xlsform} download>${t("template.download")}</a>` }]} /></section>
    ${list.length > 1 ? html`<section class="card"><h2>${t("template.diff")} ${pick("from", from)} → ${pick("to", to)}</h2><${Loaded} of=${diff} rows=${2}>${(d) => (d.changes.length ? html`<${Rows} items=${d.changes} id=${(c) => c.pointer + c.kind} columns=${[
      { label: t("template.where"), cell: (c) => html`<code>${c.pointer}</code>` }, { label: t("template.what"), cell: (c) => c.detail }, { label: t("template.breaking"), cell: (c) => t(c.breaking ? "ui.yes" : "ui.no") }]} />` : html`<p class="mute">${t("twin.same")}</p>`)}</${Loaded}></section>` : null}`;
}

export default function Template({ id }) {
  const asked = route.value.query, [turn, again] = useState(0);
  const one = useLoad(async () => {
    const list = (await call(path(id) + "/versions")).items, at = asked.version || (asked.tab === "edit" ? list[0].version : list.find((v) => v.current)?.version || list[0].version);
    return { list, v: await call(`${path(id)}/versions/${at}`) };
  }, [id, asked.version, asked.tab === "edit", turn]);
  return html`<${Loaded} of=${one} rows=${8}>${({ v, list }) => {
    const mine = may("templates:write") && !v.shipped, tabs = ["questions", "phone", ...(mine ? ["edit"] : []), "versions"], tab = tabs.includes(asked.tab) ? asked.tab : "questions";
    return html`<${Page} title=${say(v.title) || id} crumb=${html`<a href=${base + "/templates"}>${t("page.templates")}</a> / <code>${id}</code>`} curl=${`${path(id)}/versions/${v.version}`} actions=${may("templates:write") ? html`<${Copy} v=${v} />` : null}
        about=${html`<${Badge} value=${v.status} /> ${t("templates.version")} ${v.version} · ${v.stage || ""}${v.shipped ? " · " + t("templates.shipped") : ""}`}>
      <nav class="tabs" aria-label=${id}>${tabs.map((x) => html`<a key=${x} href=${templateHref(id) + (x === "questions" ? "" : "?tab=" + x)} aria-current=${x === tab ? "page" : undefined}>${t("template.tab." + x)}</a>`)}</nav>
      ${tab === "phone" ? html`<${Preview} template=${v} />` : tab === "edit" ? html`<${Edit} v=${v} done=${() => again(turn + 1)} />` : tab === "versions" ? html`<${Versions} id=${id} list=${list} />` : html`<${Outline} v=${v} />`}</${Page}>`;
  }}</${Loaded}>`;
}
