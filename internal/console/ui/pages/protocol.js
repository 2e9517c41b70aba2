// @ts-check
import { html } from "../vendor/preact.js";
import { call, didPath } from "../lib/api.js";
import { Rows } from "../lib/list.js";
import { base, route, setQuery } from "../lib/router.js";
import { Badge, Loaded, Page, useLoad } from "../lib/ui.js";
import { t } from "../lib/words.js";

const bounds = (d) => [d.format, d.unit, d.enum && d.enum.join(", "), d.minimum !== undefined && "≥ " + d.minimum, d.maximum !== undefined && "≤ " + d.maximum, d.maxLength && t("protocols.most", { n: d.maxLength })].filter(Boolean).join(" · ") || "–";

/** Everything two versions of a protocol differ in. */
function Versions({ did, list }) {
  const q = route.value.query, to = q.to || list[0].version, from = q.from || list[1]?.version;
  const diff = useLoad(() => (from && from !== to ? call(`/v1/protocols/${encodeURIComponent(did).replaceAll("%3A", ":")}/diff?from=${encodeURIComponent(from)}&to=${encodeURIComponent(to)}`) : { changes: [] }), [did, from, to]);
  const pick = (key, value) => html`<select aria-label=${t("template." + key)} value=${value} onChange=${(e) => setQuery({ [key]: e.target.value })}>${list.map((v) => html`<option key=${v.version} value=${v.version}>${v.version}</option>`)}</select>`;
  return html`<section class="card"><h2>${t("template.tab.versions")}</h2><${Rows} items=${list} id=${(v) => v.version} columns=${[{ label: t("templates.version"), cell: (v) => v.version }, { label: t("twins.status"), cell: (v) => html`<${Badge} value=${v.status} />` }]} />
    ${list.length > 1 ? html`<h2>${t("template.diff")} ${pick("from", from)} → ${pick("to", to)}</h2><${Loaded} of=${diff} rows=${2}>${(d) => (d.changes.length ? html`<${Rows} items=${d.changes} id=${(c) => (c.pointer || c.path) + c.kind} columns=${[{ label: t("template.where"), cell: (c) => html`<code>${c.pointer || c.path || c.member}</code>` }, { label: t("template.what"), cell: (c) => c.detail || c.kind }]} />` : html`<p class="mute">${t("twin.same")}</p>`)}</${Loaded}>` : null}</section>`;
}

export default function Protocol({ did }) {
  const path = "/v1/protocols/" + didPath(did), one = useLoad(async () => ({ p: await call(path), list: (await call(path + "/versions")).items }), [did]);
  return html`<${Loaded} of=${one} rows=${8}>${({ p, list }) => html`<${Page} title=${p.name} about=${html`<${Badge} value=${p.status} /> ${p.version} · ${p.description || ""}`} curl=${path} crumb=${html`<a href=${base + "/protocols"}>${t("page.protocols")}</a> / <code>${did}</code>`}>
    <section class="card"><h2>${t("protocols.properties")}</h2><${Rows} items=${Object.entries(p.properties || {})} id=${([name]) => name} columns=${[
      { label: t("twins.name"), cell: ([name]) => name }, { label: t("template.type"), cell: ([, d]) => d.type }, { label: t("template.required"), cell: ([name, d]) => t(d.required || p.required?.includes(name) ? "ui.yes" : "ui.no") },
      { label: t("protocols.bounds"), cell: ([, d]) => bounds(d) }, { label: t("template.personal"), cell: ([, d]) => t(d.pii && d.pii !== "none" ? "ui.yes" : "ui.no") }]} /></section>
    <section class="card"><h2>${t("twin.relationships")}</h2>${Object.keys(p.relationships || {}).length ? html`<${Rows} items=${Object.entries(p.relationships)} id=${([name]) => name} columns=${[
      { label: t("twin.role"), cell: ([name]) => name }, { label: t("twin.other"), cell: ([, r]) => r.class || r.type || "–" }, { label: t("protocols.many"), cell: ([, r]) => `${r.min ?? 0} – ${r.max ?? "∞"}` }]} />` : html`<p class="mute">–</p>`}</section>
    <${Versions} did=${did} list=${list} /></${Page}>`}</${Loaded}>`;
}
