// @ts-check
import { html, useState } from "../vendor/preact.js";
import { call, didPath, may } from "../lib/api.js";
import { EditTwin } from "../lib/twinform.js";
import { base, route, twinHref } from "../lib/router.js";
import { Graph } from "../lib/graph.js";
import { Rows } from "../lib/list.js";
import { Name } from "../lib/names.js";
import { Timeline } from "../lib/timeline.js";
import { Badge, Copy, Id, Loaded, Page, Time, nameOf, spaced, useLoad } from "../lib/ui.js";
import { Usage } from "../lib/usage.js";
import { has, t } from "../lib/words.js";

/** A value of a twin: what is within it stands under its names, two levels deep. */
function shown(v, depth = 0) {
  if (v === null || typeof v !== "object") return String(v);
  if (depth > 1) return html`<code>${JSON.stringify(v)}</code>`;
  if (Array.isArray(v)) return v.every((x) => x === null || typeof x !== "object") ? v.join(", ") : html`<ul class="inner">${v.map((x) => html`<li>${shown(x, depth + 1)}</li>`)}</ul>`;
  return html`<ul class="inner">${Object.entries(v).map(([k, x]) => html`<li key=${k}><span class="mute">${spaced(k)}</span> ${shown(x, depth + 1)}</li>`)}</ul>`;
}

function Around({ did }) {
  const [depth, setDepth] = useState(1), [picked, pick] = useState(/** @type {any} */ (null));
  const graph = useLoad(() => call(`/v1/entities/${didPath(did)}/graph?depth=${depth}&limit=300`, { name: "graph" }), [did, depth]);
  return html`<section class="card"><div class="card-head"><h2>${t("twin.around")}</h2><div class="seg" role="group" aria-label=${t("twin.depth")}>${[1, 2, 3].map((d) => html`<button type="button" key=${d} aria-pressed=${d === depth} onClick=${() => setDepth(d)}>${t("twin.steps", { n: d })}</button>`)}</div></div>
    <${Loaded} of=${graph} rows=${5}>${(g) => html`
      <${Graph} data=${g} root=${did} picked=${picked?.did} onPick=${pick} />
      ${picked && html`<p class="where">${picked.type}: <a href=${twinHref(picked.did)}>${nameOf(picked)}</a> <${Badge} value=${picked.status} /></p>`}
      ${g.truncated && html`<p class="note">${t("twin.truncated", { n: g.nodes.length })}</p>`}
      <details class="as-table"><summary>${t("twin.table")}</summary><${Rows} items=${g.nodes} id=${(n) => n.did} href=${(n) => twinHref(n.did)} columns=${[
        { label: t("twins.name"), cell: nameOf }, { label: t("twins.type"), cell: (n) => n.type },
        { label: t("twins.status"), cell: (n) => html`<${Badge} value=${n.status} />` }, { label: t("twin.away"), cell: (n) => n.depth, num: true },
      ]} /></details>`}</${Loaded}></section>`;
}

function Properties({ e }) {
  const withheld = e.withheld || [];
  return html`<section class="card"><h2>${t("twin.properties")}</h2><dl>
      ${Object.entries(e.properties || {}).map(([k, v]) => html`<dt key=${k} title=${k}>${spaced(k)}</dt><dd>${shown(v)}</dd>`)}
      ${withheld.map((k) => html`<dt key=${k} title=${k}>${spaced(k)}</dt><dd class="mute">${t("ui.withheld")}</dd>`)}
      ${Object.entries(e.externalIds || {}).map(([k, v]) => html`<dt key=${k}>${k}</dt><dd><code>${v}</code></dd>`)}</dl>
    ${e.missingRelationships?.length ? html`<p class="note">${t("twin.missing", { list: e.missingRelationships.map((m) => m.role || m).join(", ") })}</p>` : null}</section>`;
}

function Relationships({ did }) {
  const [most, showMore] = useState(50);
  const list = useLoad(() => call(`/v1/entities/${didPath(did)}/relationships?limit=${most}`), [did, most]);
  return html`<section class="card"><h2>${t("twin.relationships")}</h2><${Loaded} of=${list} rows=${3}>${(d) => (d.items.length ? html`<${Rows} items=${d.items} id=${(r) => r.id + r.direction} columns=${[
    { label: t("twin.role"), cell: (r) => (r.direction === "in" ? "← " : "→ ") + r.role }, { label: t("twin.other"), cell: (r) => html`<${Name} did=${r.target} />` },
    { label: t("twin.since"), cell: (r) => html`<${Time} at=${r.since} />` },
  ]} />${d.page?.hasMore && most < 1000 ? html`<button type="button" class="small" onClick=${() => showMore(Math.min(1000, most * 4))}>${t("twin.more")}</button>` : null}` : html`<p class="mute">${t("twin.no")}</p>`)}</${Loaded}></section>`;
}

/** What changed between two revisions that follow each other. */
function Changes({ did, from, to }) {
  const diff = useLoad(() => call(`/v1/entities/${didPath(did)}/diff?from=${from}&to=${to}`), [did, from, to]);
  return html`<h2>${t("twin.diff")}: ${from} → ${to}</h2><${Loaded} of=${diff} rows=${3}>${(d) => (d.patch.length ? html`<${Rows} items=${d.patch} id=${(c) => c.op + c.path} columns=${[
    { label: t("twin.what"), cell: (c) => html`<code>${c.path}</code>` },
    { label: t("twin.how"), cell: (c) => (has("patch." + c.op) ? t("patch." + c.op) : c.op) },
    { label: t("twin.value"), cell: (c) => (c.op === "remove" ? "–" : html`<span class="new">${shown(c.value)}</span>`) },
  ]} />` : html`<p class="mute">${t("twin.same")}</p>`)}</${Loaded}>`;
}

function History({ did }) {
  const list = useLoad(() => call(`/v1/entities/${didPath(did)}/history?limit=50`), [did]);
  const chain = useLoad(() => call(`/v1/entities/${didPath(did)}/audit`), [did]);
  const [at, look] = useState(Number(route.value.query.revision) || 0);
  return html`<section class="card"><h2>${t("twin.history")}</h2>
    <${Loaded} of=${chain} rows=${1}>${(c) => html`<p><${Badge} value=${c.ok ? "ok" : "failed"} /> ${c.ok ? t("twin.whole", { n: c.checked }) : t("twin.broken", { n: c.broken ?? c.brokenAt ?? "?" })}</p>`}</${Loaded}>
    <${Loaded} of=${list}>${(d) => html`<${Rows} items=${d.items} id=${(h) => h.revision} columns=${[
      { label: t("twin.number"), cell: (h) => h.revision }, { label: t("twin.what"), cell: (h) => h.action },
      { label: t("twin.who"), cell: (h) => html`<${Name} did=${h.actor} />` }, { label: t("twin.reason"), cell: (h) => h.reason || "–" },
      { label: t("twin.when"), cell: (h) => html`<${Time} at=${h.at} />` }, { label: t("twin.hash"), cell: (h) => html`<${Id} value=${h.hash} />` },
      { label: t("twin.changes"), cell: (h) => (h.revision > 1 ? html`<button type="button" class="small" onClick=${() => look(h.revision)}>${t("ui.open")}</button>` : "–") },
    ]} />`}</${Loaded}>
    ${at > 1 && html`<${Changes} key=${at} did=${did} from=${at - 1} to=${at} />`}</section>`;
}

function Document({ did }) {
  const doc = useLoad(() => call(`/v1/entities/${didPath(did)}/did-document`), [did]);
  return html`<section class="card"><${Loaded} of=${doc}>${(d) => html`<pre class="curl" tabindex="0"><code>${JSON.stringify(d, null, 2)}</code></pre>`}</${Loaded}></section>`;
}

const tabs = { overview: null, timeline: Timeline, history: History, document: Document };

/** Whether claims are made about twins of this kind. */
const claims = (e) => ["device", "household", "asset"].includes(e.domainType);

export default function Twin({ did }) {
  const one = useLoad(() => call("/v1/entities/" + didPath(did)), [did]);
  const tab = route.value.query.tab in tabs ? route.value.query.tab : "overview", Tab = tabs[tab];
  return html`<${Loaded} of=${one} rows=${8}>${(e) => html`<${Page} title=${nameOf(e)} actions=${e.status === "deactivated" ? null : html`${may("claims:write") && claims(e) ? html`<a class="button" href=${base + "/claims/new?subject=" + encodeURIComponent(e.did)}>${t("claimnew.title")}</a>` : null}${may("entities:write") && e.protocol ? html`<${EditTwin} e=${e} done=${one.reload} />` : null}`} crumb=${html`<a href=${base + "/twins"}>${t("page.twins")}</a> / <a href=${base + "/twins?type=" + encodeURIComponent(e.type)}>${e.type}</a>`}
      about=${html`<${Badge} value=${e.status} /> <span class="copyable"><${Id} value=${e.did} /> <${Copy} text=${e.did} label=${t("twin.copy")} /></span> · ${t("twin.revision", { n: e.revision })} · <${Time} at=${e.updated} />`} curl=${"/v1/entities/" + didPath(did)}>
    <nav class="tabs" aria-label=${nameOf(e)}>${Object.keys(tabs).map((x) => html`<a key=${x} href=${twinHref(did) + (x === "overview" ? "" : "?tab=" + x)} aria-current=${x === tab ? "page" : undefined}>${t("twin.tab." + x)}</a>`)}</nav>
    ${Tab ? html`<${Tab} did=${did} />` : html`<div class="split"><div><${Around} did=${did} />${e.class === "physical" && may("devices:read") ? html`<${Usage} key=${did} did=${did} />` : null}</div><aside><${Properties} e=${e} /><${Relationships} did=${did} /></aside></div>`}
  </${Page}>`}</${Loaded}>`;
}
