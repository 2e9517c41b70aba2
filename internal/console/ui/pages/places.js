// @ts-check
import { html, useEffect, useState } from "../vendor/preact.js";
import { call, query } from "../lib/api.js";
import { Filters, Rows } from "../lib/list.js";
import { PlaceMap, boxOf } from "../lib/map.js";
import { Name } from "../lib/names.js";
import { route, setQuery, twinHref } from "../lib/router.js";
import { Badge, Curl, Empty, Loaded, Page, useLoad } from "../lib/ui.js";
import { number, t } from "../lib/words.js";

const states = ["draft", "active", "suspended", "completed", "deactivated"];
const tones = { active: "good", suspended: "wait", deactivated: "bad", completed: "k8" };
const tone = (status) => tones[status] || "ref";
const perPage = 50;

/** The twin somebody has picked on the map. */
function Picked({ point, onClose }) {
  return html`<div class="card picked-place" role="status"><div><strong><${Name} did=${point.did} /></strong> <${Badge} value=${point.status} />
      <p class="mute">${point.type} · ${point.lat}, ${point.lon}</p></div>
    <div class="actions"><a class="button" href=${twinHref(point.did)}>${t("places.open")}</a><button type="button" onClick=${onClose}>${t("places.close")}</button></div></div>`;
}

/** The same places as rows; of clusters what the server tells of each. */
function Table({ data, from }) {
  const list = data.clusters.length ? data.clusters : data.items, at = from < list.length ? from : 0, step = (n) => setQuery({ from: n || "" });
  const where = [{ label: t("places.lat"), num: true, cell: (p) => p.lat }, { label: t("places.lon"), num: true, cell: (p) => p.lon }];
  const columns = data.clusters.length ? [{ label: t("places.twins"), num: true, cell: (c) => number(c.n) }, ...where]
    : [{ label: t("twins.name"), cell: (p) => html`<${Name} did=${p.did} link=${false} />` }, { label: t("twins.type"), cell: (p) => p.type }, { label: t("twins.status"), cell: (p) => html`<${Badge} value=${p.status} />` }, ...where];
  return html`<${Rows} columns=${columns} items=${list.slice(at, at + perPage)} id=${(p) => p.did || p.lat + " " + p.lon} href=${(p) => (p.did ? twinHref(p.did) : null)} />
    ${list.length > perPage && html`<nav class="pager" aria-label=${t("list.pages")}>
      <button type="button" disabled=${!at} onClick=${() => step(Math.max(0, at - perPage))}>‹ ${t("list.back")}</button>
      <span class="mute">${t("places.rows", { from: number(at + 1), to: number(Math.min(at + perPage, list.length)), n: number(list.length) })}</span>
      <button type="button" disabled=${at + perPage >= list.length} onClick=${() => step(at + perPage)}>${t("list.next")} ›</button></nav>`}`;
}

const Legend = ({ items }) => html`<div class="legend">${states.filter((s) => items.some((p) => p.status === s)).map((s) => html`<span key=${s}><i class=${tone(s)}></i>${t("state." + s)} <span class="mute">${number(items.filter((p) => p.status === s).length)}</span></span>`)}</div>`;

function Found({ data, asked, narrowed }) {
  const [picked, pick] = useState(/** @type {any} */ (null));
  useEffect(() => pick(null), [data]);
  const n = data.clusters.reduce((sum, c) => sum + c.n, data.items.length);
  if (!n) return html`<${Empty} icon="pin" title=${narrowed ? t("list.nothing") : t("places.empty")}><p>${narrowed ? t("list.widen") : t("places.emptyText")}</p></${Empty}>${data.truncated && html`<p class="note">${t("places.truncated")}</p>`}`;
  const label = t(data.clusters.length ? "places.clustered" : "places.found", { n: number(n) });
  return html`<p class="places-sum"><strong>${label}</strong>${data.rounded && html` <span class="mute">${t("places.rounded")}</span>`}</p>
    ${data.truncated && html`<p class="note">${t("places.truncated")}</p>`}
    ${asked.view === "table" ? html`<${Table} data=${data} from=${Number(asked.from) || 0} />`
      : html`<${PlaceMap} points=${data.items} clusters=${data.clusters} box=${boxOf(asked.bbox)} picked=${picked} label=${label + " " + t("places.keys")} tone=${tone} onPick=${pick} onBox=${(bbox) => setQuery({ bbox, from: "" })} />
        ${picked ? html`<${Picked} point=${picked} onClose=${() => pick(null)} />` : html`<p class="mute places-hint">${t(data.clusters.length ? "places.hintClusters" : "places.hint")}</p>`}
        <${Legend} items=${data.items} />`}`;
}

export default function Places() {
  const asked = route.value.query, { type, status, project, bbox } = asked;
  const url = query("/v1/entities:points", { type, status, project, bbox });
  const points = useLoad(() => call(url, { name: "places" }), [url]), counts = useLoad(() => call("/v1/counts"), []);
  const types = Object.keys(counts.data?.twins || {}).sort();
  const filters = [
    { key: "type", label: t("twins.type"), options: types.length || !type ? types : [type] },
    { key: "status", label: t("twins.status"), options: states.map((s) => ({ value: s, label: t("state." + s) })) },
    { key: "bbox", label: t("places.bbox"), placeholder: "33.5,-1.5,35.5,0.5" },
  ];
  const narrowed = !!(type || status || bbox);
  const tools = html`<div class="seg" role="group" aria-label=${t("places.as")}>${["map", "table"].map((v) => html`<button key=${v} type="button" aria-pressed=${(asked.view === "table") === (v === "table")} onClick=${() => setQuery({ view: v === "map" ? "" : v, from: "" })}>${t("places." + v)}</button>`)}</div>`;
  return html`<${Page} title=${t("page.places")} about=${t("places.about")}>
    <${Filters} filters=${filters} asked=${asked} narrowed=${narrowed} tools=${tools} />
    <${Loaded} of=${points}>${(data) => html`<${Found} data=${data} asked=${asked} narrowed=${narrowed} />`}</${Loaded}>
    <${Curl} path=${url} /></${Page}>`;
}
