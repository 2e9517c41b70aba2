// @ts-check
// The interviews of a survey as a table, on a map and by their pictures: three
// views of one filter, which stands in the address.
import { html } from "../vendor/preact.js";
import { call, may, query } from "./api.js";
import { Filters, List } from "./list.js";
import { Name } from "./names.js";
import { base, route, setQuery } from "./router.js";
import { Badge, Curl, Empty, Loaded, Time, useLoad } from "./ui.js";
import { t } from "./words.js";

const hrefOf = (r) => base + "/responses/" + encodeURIComponent(r.responseId);

/** The filters people choose, as the API reads them. */
function rql(asked) {
  const list = ["status", "stratum", "collector"].filter((k) => asked[k]).map((k) => `eq(${k},${encodeURIComponent(asked[k])})`);
  return list.length > 1 ? `and(${list.join(",")})` : list[0] || "";
}

const states = (list) => list.map((s) => ({ value: s, label: t("state." + s) }));

const filtersOf = (survey) => [
  { key: "verification", label: t("survey.decision"), options: states(["pending", "in_review", "needs_correction", "verified", "rejected"]) },
  { key: "status", label: t("survey.state"), options: states(["complete", "partial", "refused"]), local: true },
  ...(survey.sampling?.strata?.length ? [{ key: "stratum", label: t("survey.stratum"), options: survey.sampling.strata.map((s) => s.name), local: true }] : []),
  ...(survey.collectors?.length ? [{ key: "collector", label: t("survey.collector"), options: survey.collectors.map((c) => ({ value: c.did || c, label: c.name || c.did || c })), local: true }] : []),
];

const Table = ({ id, survey, tools }) => html`<${List} path=${`/v1/surveys/${id}/responses`} id=${(r) => r.responseId} href=${hrefOf} tools=${tools}
  params=${{ filter: rql(route.value.query), fields: "responseId,householdId,status,verification,collector,stratum,timestamp,durationSec,flags" }} filters=${filtersOf(survey)}
  columns=${[
    { label: t("survey.household"), cell: (r) => html`<${Name} did=${r.householdId} link=${false} />` }, { label: t("survey.state"), cell: (r) => html`<${Badge} value=${r.status} />` },
    { label: t("survey.decision"), cell: (r) => html`<${Badge} value=${r.verification?.status} />` }, { label: t("survey.collector"), cell: (r) => html`<${Name} did=${r.collector} />` },
    { label: t("survey.stratum"), cell: (r) => r.stratum || "–" }, { label: t("surveys.flagged"), cell: (r) => r.flags?.length || "–", num: true }, { label: t("survey.sent"), cell: (r) => html`<${Time} at=${r.timestamp} />` },
  ]} empty=${{ icon: "survey", title: t("survey.noInterviews") }} />`;

/** A page of the filter, for the views that are no table. */
function Shown({ id, survey, tools, limit, fields, children }) {
  const asked = route.value.query, url = query(`/v1/surveys/${id}/responses`, { verification: asked.verification, filter: rql(asked), limit, fields, cursor: asked.cursor });
  const list = useLoad(() => call(url, { name: "submissions" }), [url]), filters = filtersOf(survey);
  const on = () => setQuery({ cursor: list.data.page.nextCursor });
  return html`<${Filters} filters=${filters} asked=${asked} narrowed=${filters.some((f) => asked[f.key])} tools=${tools} />
    <${Loaded} of=${list} rows=${6}>${(d) => html`${d.items.length ? children(d.items) : html`<${Empty} icon="survey" title=${t("list.nothing")}><p>${t("list.widen")}</p></${Empty}>`}
      ${asked.cursor || d.page.hasMore ? html`<nav class="pager" aria-label=${t("list.pages")}><button type="button" disabled=${!asked.cursor} onClick=${() => setQuery({ cursor: "" })}>‹ ${t("submissions.first")}</button><button type="button" disabled=${!d.page.hasMore} onClick=${on}>${t("list.next")} ›</button></nav>` : null}`}</${Loaded}><${Curl} path=${url} />`;
}

const tone = { verified: "good", rejected: "bad", invalidated: "bad" };

/** Points without tiles: a grid in degrees and a bar that says how far. */
function Points({ items }) {
  const there = items.filter((r) => r.location);
  if (!there.length) return html`<${Empty} icon="pin" title=${t("submissions.noPlaces")}><p>${t("submissions.noPlacesText")}</p></${Empty}>`;
  const lat = there.map((r) => r.location.lat), lon = there.map((r) => r.location.lon), mid = { lat: (Math.min(...lat) + Math.max(...lat)) / 2, lon: (Math.min(...lon) + Math.max(...lon)) / 2 };
  const flat = Math.max(0.2, Math.cos((mid.lat * Math.PI) / 180)), half = Math.max(0.002, (Math.max(...lat) - Math.min(...lat)) / 2, ((Math.max(...lon) - Math.min(...lon)) / 2) * flat) * 1.1;
  const x = (v) => 400 + ((v - mid.lon) * flat * 280) / half, y = (v) => 300 - ((v - mid.lat) * 280) / half;
  const step = 10 ** Math.floor(Math.log10(half)), lines = Array.from({ length: 80 }, (_, i) => i - 40), km = (half * 111.32) / 2.8, round = 10 ** Math.floor(Math.log10(km)) * (km / 10 ** Math.floor(Math.log10(km)) >= 5 ? 5 : 1);
  return html`<figure class="card map"><svg viewBox="0 0 800 600" role="img" aria-label=${t("submissions.map", { n: there.length })}>
    ${lines.map((i) => { const a = y((Math.round(mid.lat / step) + i) * step), b = x((Math.round(mid.lon / step) + i) * step); return html`${a > 0 && a < 600 ? html`<path class="grid" d=${`M0 ${a}H800`} />` : null}${b > 0 && b < 800 ? html`<path class="grid" d=${`M${b} 0V600`} />` : null}`; })}
    ${there.map((r) => html`<a key=${r.responseId} href=${hrefOf(r)} aria-label=${`${t("survey.id")} ${r.responseId.slice(0, 8)}, ${t("state." + (r.verification?.status || "pending"))}`}><circle class=${"place " + (tone[r.verification?.status] || "wait")} cx=${x(r.location.lon)} cy=${y(r.location.lat)} r="7" /></a>`)}
    <path class="scale" d=${`M30 570h${(round * 100) / km}`} /><text x="30" y="560">${round} km</text></svg>
    <figcaption class="mute">${t("submissions.map", { n: there.length })}${there.length < items.length ? " " + t("submissions.without", { n: items.length - there.length }) : ""}</figcaption></figure>`;
}

/** Every hash that answers name. */
function hashes(v, out = []) {
  if (typeof v === "string" && v.startsWith("sha256:")) out.push(v.slice(7));
  else if (v && typeof v === "object") Object.values(v).forEach((x) => hashes(x, out));
  return out;
}

/** The pictures of one interview: as evidence for verifiers, else as answers say. */
function Pictures({ r }) {
  const own = hashes(r.responses).map((h) => "/v1/attachments/" + h);
  const seen = useLoad(() => (own.length || !may("responses:verify") ? null : call(`/v1/responses/${encodeURIComponent(r.responseId)}/evidence`)), [r.responseId]);
  const files = own.length ? own : (seen.data?.files || []).filter((f) => f.received && f.mediaType?.startsWith("image/")).map((f) => f.link);
  return html`${files.map((src) => html`<a key=${src} class="shot" href=${hrefOf(r)}><img src=${src} alt=${t("survey.id") + " " + r.responseId.slice(0, 8)} loading="lazy" /><${Badge} value=${r.verification?.status} /></a>`)}`;
}

const views = {
  table: Table,
  map: (p) => html`<${Shown} ...${p} limit=${200} fields="responseId,location,verification">${(items) => html`<${Points} items=${items} />`}</${Shown}>`,
  media: (p) => html`<${Shown} ...${p} limit=${24} fields="responseId,verification,responses">${(items) => html`<div class="gallery wide">${items.map((r) => html`<${Pictures} key=${r.responseId} r=${r} />`)}</div><p class="mute">${t("submissions.media", { n: items.length })}</p>`}</${Shown}>`,
};

export function Submissions({ id, survey }) {
  const view = route.value.query.view in views ? route.value.query.view : "table", View = views[view];
  const tools = html`<div class="seg" role="group" aria-label=${t("submissions.view")}>${Object.keys(views).map((v) => html`<button key=${v} type="button" aria-pressed=${v === view} onClick=${() => setQuery({ view: v === "table" ? "" : v, cursor: "" })}>${t("submissions." + v + "View")}</button>`)}</div>`;
  return html`<${View} id=${id} survey=${survey} tools=${tools} />`;
}
