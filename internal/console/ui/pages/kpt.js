// @ts-check
// Kitchen performance tests: what was weighed, and what the two groups say about
// the fuel that is saved.
import { html, useState } from "../vendor/preact.js";
import { Dialog, useAct, useOnce } from "../lib/act.js";
import { call, may, query } from "../lib/api.js";
import { Picture } from "../lib/figures.js";
import { List, Rows } from "../lib/list.js";
import { Name } from "../lib/names.js";
import { route, setQuery } from "../lib/router.js";
import { Badge, Failure, Loaded, Page, Time, nameOf, useLoad } from "../lib/ui.js";
import { number, t } from "../lib/words.js";

const digits = (v) => (v === undefined ? "–" : v.toFixed(2));
const groups = ["reference", "intervention"];

/** A test as somebody writes it down: each day with its weight. */
function Record({ project, done }) {
  const act = useAct(), once = useOnce(), [d, set] = useState(/** @type {any} */ ({ testGroup: "intervention", fuel: "wood", unit: "kg", method: "simple_random" }));
  const put = (key) => (e) => set({ ...d, [key]: e.target.value });
  const field = (key, rest = {}) => html`<label class="field"><span>${t("kpt." + key)}</span><input id=${"kpt-" + key} value=${d[key] ?? ""} onInput=${put(key)} ...${rest} /></label>`;
  const pick = (key, options, label) => html`<label class="field"><span>${t("kpt." + key)}</span><select value=${d[key]} onChange=${put(key)}>${options.map((o) => html`<option key=${o} value=${o}>${label(o)}</option>`)}</select></label>`;
  const body = () => {
    const logs = (d.logs || "").split(/[\s;]+|,\s+/).filter(Boolean).map((x) => Number(x.replace(",", "."))), people = Object.fromEntries(["children", "women", "men"].filter((k) => d[k]).map((k) => [k, Number(d[k])]));
    const end = new Date(Date.parse(d.start) + 86400000 * Math.max(0, logs.length - 1));
    return { projectId: project, householdId: d.household?.trim(), testGroup: d.testGroup, testPeriod: { startDate: d.start, endDate: end.toISOString().slice(0, 10) }, people: Object.keys(people).length ? people : undefined,
      fuelMeasurements: { fuel: d.fuel, unit: d.unit, total: +logs.reduce((a, b) => a + b, 0).toFixed(6), dailyLogs: logs }, selection: d.document ? { method: d.method, document: d.document } : undefined };
  };
  return html`<${Dialog} label=${t("kpt.record")} primary=${true} closed=${() => { act.clear(); once.renew(); }}>${(close) => html`<form class="form" onSubmit=${async (e) => {
    e.preventDefault();
    if (await act.run(async () => call("/v1/kpt", { method: "POST", body: body(), headers: once.headers() }))) { close(); done(); }
  }}><p>${t("kpt.recordText")}</p>${field("household", { required: true, placeholder: "did:…" })}
    <div class="row">${pick("testGroup", groups, (g) => t("kpt.group." + g))}${field("start", { type: "date", required: true })}</div>${field("logs", { required: true, placeholder: "3.2 2.8 3.0 2.9", inputmode: "decimal" })}
    <div class="row">${field("fuel", { required: true })}${pick("unit", ["kg", "l", "kWh", "MJ"], (u) => u)}</div><div class="row">${["children", "women", "men"].map((k) => field(k, { type: "number", min: "0", step: "any" }))}</div>
    <div class="row">${pick("method", ["simple_random", "systematic", "stratified", "cluster", "multistage", "census", "purposive"], (m) => t("kpt.method." + m))}${field("document")}</div>
    <${Failure} error=${act.error} /><div class="row-end"><button type="button" onClick=${close}>${t("ui.cancel")}</button><button type="submit" class="primary" disabled=${act.busy}>${t("kpt.record")}</button></div></form>`}</${Dialog}>`;
}

/** What the tests of a project say, with the server's picture. */
function Analysis({ project, asked, turn }) {
  const path = query("/v1/kpt/analysis", { projectId: project, fuel: asked.fuel, per: asked.per }), of = useLoad(() => call(path, { name: "kpt" }), [path, turn]);
  return html`<section class="card"><div class="card-head"><h2>${t("kpt.says")}</h2><label class="choice-line"><span class="sr">${t("kpt.per")}</span><select id="per" value=${asked.per || "household"} onChange=${(e) => setQuery({ per: e.target.value }, { replace: true })}>${["household", "head", "adult"].map((p) => html`<option key=${p} value=${p}>${t("kpt.per." + p)}</option>`)}</select></label></div>
    <${Loaded} of=${of} rows=${4}>${(a) => html`${a.groups.length ? html`<${Picture} path=${path} alt=${a.groups.map((g) => `${t("kpt.group." + g.group)}: ${digits(g.estimate)} ${a.unit || ""} (${digits(g.low)} – ${digits(g.high)})`).join("; ")} />
      <${Rows} items=${[...a.groups, ...(a.saving ? [{ ...a.saving, group: "saving" }] : [])]} id=${(g) => g.group} columns=${[{ label: t("kpt.testGroup"), cell: (g) => html`${t("kpt.group." + g.group)} ${g.precision?.status ? html`<span class=${"badge " + (g.precision.status === "met" ? "good" : "warn")}>${t("figures.status." + g.precision.status)}</span>` : null}` },
        { label: t("figures.estimate"), num: true, cell: (g) => (g.suppressed ? t("figures.hidden") : html`<data value=${g.estimate}>${g.estimate ?? "–"}</data>`) }, { label: t("figures.low"), num: true, cell: (g) => g.low ?? "–" }, { label: t("figures.high"), num: true, cell: (g) => g.high ?? "–" }, { label: "n", num: true, cell: (g) => g.n ?? "–" }]} />` : html`<p class="mute">${t("kpt.noFigures")}</p>`}
      ${(a.remarks || []).map((r) => html`<p class="small mute" key=${r}>${r}</p>`)}<p class="small mute">${t("kpt.leftOut", { undocumented: a.leftOut.undocumented, alone: a.leftOut.notConcurrent, people: a.leftOut.withoutPeople })}</p>`}</${Loaded}></section>`;
}

export default function KitchenTests() {
  const asked = route.value.query, [turn, again] = useState(0);
  const projects = useLoad(() => (may("entities:read") ? call("/v1/entities?type=Project&limit=100&fields=did,type,properties,metadata,externalIds") : { items: [] }), []);
  const list = projects.data?.items || [], project = asked.projectId || list[0]?.did || "";
  return html`<${Page} title=${t("page.kpt")} about=${t("kpt.about")} actions=${may("responses:write") && project ? html`<${Record} project=${project} done=${() => again(turn + 1)} />` : null}>
    <${Failure} error=${projects.error} again=${projects.reload} />${project && may("analytics:read") ? html`<${Analysis} project=${project} asked=${asked} turn=${turn} />` : null}
    <${List} path="/v1/kpt" turn=${turn} params=${{}} id=${(k) => k.id} filters=${[{ key: "projectId", label: t("samples.project"), options: list.map((p) => ({ value: p.did, label: nameOf(p) })) }, { key: "testGroup", label: t("kpt.testGroup"), options: groups.map((g) => ({ value: g, label: t("kpt.group." + g) })) },
      { key: "fuel", label: t("kpt.fuel"), placeholder: "wood" }, { key: "status", label: t("survey.state"), options: ["recorded", "withdrawn"].map((s) => ({ value: s, label: t("state." + s) })) }]}
      columns=${[{ label: t("survey.household"), cell: (k) => (k.householdId?.startsWith("did:") ? html`<${Name} did=${k.householdId} />` : html`<code>${k.householdId || k.id}</code>`) }, { label: t("kpt.testGroup"), cell: (k) => t("kpt.group." + k.testGroup) },
        { label: t("kpt.period"), cell: (k) => html`<span class="nowrap">${k.testPeriod?.startDate || "–"}</span>` }, { label: t("kpt.days"), num: true, cell: (k) => k.days || "–" }, { label: t("kpt.perDay"), num: true, cell: (k) => (k.perDay === undefined ? "–" : `${number(+k.perDay.toFixed(3))} ${k.fuelMeasurements.unit} ${k.fuelMeasurements.fuel}`) },
        { label: t("kpt.perHead"), num: true, cell: (k) => digits(k.perHeadDay) }, { label: t("survey.state"), cell: (k) => html`<${Badge} value=${k.status} />${k.warnings?.length ? html` <span class="badge warn" title=${k.warnings.join(" ")}>${t("kpt.lacks")}</span>` : null}` }, { label: t("twin.when"), cell: (k) => html`<${Time} at=${k.created} />` }]}
      empty=${{ icon: "flame", title: t("kpt.empty"), text: t("kpt.emptyText") }} /></${Page}>`;
}
