// @ts-check
// What a survey says about all households: the server's figures with their
// intervals, digit for digit, and its picture of them.
import { html, useRef } from "../vendor/preact.js";
import { call, may, query } from "./api.js";
import { route, setQuery } from "./router.js";
import { Rows } from "./list.js";
import { Curl, Empty, Failure, Loaded, Tile, useLoad, useWidth } from "./ui.js";
import { has, language, t } from "./words.js";

/** A number with all digits the server gave. */
const exact = (n) => (typeof n === "number" ? String(n) : "–");

const word = (key, code) => (has(key + code) ? t(key + code) : code);

/** What one of the figures is of, in the words of the template. */
function nameOf(figures, q, by) {
  const option = (of, v) => of?.options?.find((o) => o.value === v)?.label || (has("figures.value." + v) ? t("figures.value." + v) : v);
  return (e) => [e.option && option(q, e.option), e.value && option(by, e.value)].filter(Boolean).join(" · ") || t("figures.all");
}

/** The picture that the server draws, as wide as there is room for. */
export function Picture({ path, alt }) {
  const box = useRef(/** @type {any} */ (null)), room = useWidth(box, 0);
  const width = Math.min(860, Math.max(300, Math.floor(room / 20) * 20));
  return html`<figure class="chart figures" ref=${box}>${room > 0 && html`<img src=${`${path}&${new URLSearchParams({ format: "svg", width: String(width), language: language.value })}`} alt=${alt} width=${width} />`}</figure>`;
}

function Counted({ c }) {
  return html`<div class="tiles">
    <${Tile} label=${t("figures.answered")} value=${c.answered} small=${t("figures.ofSample", { n: c.sample })} />
    <${Tile} label=${t("figures.rate")} value=${c.responseRate === undefined ? "–" : (100 * c.responseRate).toFixed(1) + " %"} small=${t("figures.rateSmall")} />
    <${Tile} label=${t("figures.missing")} value=${c.missing} small=${t("figures.missingSmall", { n: c.ineligible })} />
    <${Tile} label=${t("figures.replacements")} value=${c.replacements} small=${t("figures.offList", { n: c.offList })} /></div>
    <p class="mute small">${c.words}</p>`;
}

/** Whether the precision that was aimed at is reached. */
const Decision = ({ p }) => (p?.status ? html`<span class=${"badge " + (p.status === "met" ? "good" : "warn")}>${t("figures.status." + p.status)}</span>` : null);

function Table({ s, name }) {
  return html`<${Rows} items=${s.estimates} id=${(e) => (e.option || "") + "/" + (e.value || "")} columns=${[
    { label: t("figures.of"), cell: (e) => html`${name(e)} <${Decision} p=${e.precision} />${e.suppressed && html`<span class="mute"> ${t("figures.hidden")}</span>`}` },
    { label: t("figures.estimate"), num: true, cell: (e) => html`<data value=${e.estimate}>${exact(e.estimate)}</data>` },
    { label: t("figures.low"), num: true, cell: (e) => exact(e.low) }, { label: t("figures.high"), num: true, cell: (e) => exact(e.high) },
    { label: t("figures.se"), num: true, cell: (e) => exact(e.se) }, { label: "n", num: true, cell: (e) => exact(e.n) },
    { label: t("figures.method"), cell: (e) => (e.method ? word("figures.method.", e.method) : "–") },
  ]} />
  ${s.differences && html`<h3>${t("figures.differences")}</h3><${Rows} items=${s.differences} id=${(e) => (e.option || "") + e.value} columns=${[
    { label: t("figures.of"), cell: (e) => html`${e.option ? name({ option: e.option }) + " · " : ""}${e.value} − ${e.less}${e.suppressed ? html`<span class="mute"> ${t("figures.hidden")}</span>` : ""}` },
    { label: t("figures.estimate"), num: true, cell: (e) => exact(e.estimate) }, { label: t("figures.low"), num: true, cell: (e) => exact(e.low) }, { label: t("figures.high"), num: true, cell: (e) => exact(e.high) },
    { label: "p", num: true, cell: (e) => exact(e.p) },
  ]} />`}`;
}

/** What is asked for, in the address. */
function Choices({ questions, asked, q, survey }) {
  const sections = [...new Set(questions.map((x) => x.section))], set = (key) => (e) => setQuery({ [key]: e.target.value });
  return html`<div class="filters figure-choices">
    <label class="wide"><span>${t("figures.question")}</span><select id="question" value=${q.question} onChange=${(e) => setQuery({ question: e.target.value, statistic: "", by: asked.by === e.target.value ? "" : asked.by })}>
      ${sections.map((s) => html`<optgroup key=${s} label=${s || "–"}>${questions.filter((x) => x.section === s).map((x) => html`<option key=${x.question} value=${x.question}>${x.label || x.question}</option>`)}</optgroup>`)}</select></label>
    <label><span>${t("figures.statistic")}</span><select id="statistic" value=${asked.statistic || q.statistics[0]} onChange=${set("statistic")}>${q.statistics.filter((s) => s !== "ratio").map((s) => html`<option key=${s} value=${s}>${t("figures.statistic." + s)}</option>`)}</select></label>
    <label><span>${t("figures.by")}</span><select id="by" value=${asked.by || ""} onChange=${set("by")}><option value="">${t("figures.all")}</option>
      <option value="stratum">${t("figures.stratum")}</option><option value="group">${t("figures.group")}</option><option value="mode">${t("figures.mode")}</option>
      ${questions.filter((x) => x.groups && x.question !== q.question).map((x) => html`<option key=${x.question} value=${x.question}>${x.label || x.question}</option>`)}</select></label>
    ${survey.round > 1 && html`<label><span>${t("figures.compare")}</span><select id="compare" value=${asked.compare || ""} onChange=${set("compare")}><option value="">–</option>${Array.from({ length: survey.round - 1 }, (_, i) => html`<option value=${"round:" + (i + 1)}>${t("survey.round", { n: i + 1 })}</option>`)}</select></label>`}
    <label class="check"><input id="verified" type="checkbox" checked=${asked.verified === "true"} onChange=${(e) => setQuery({ verified: e.target.checked ? "true" : "" })} /> ${t("figures.verified")}</label></div>`;
}

function Shown({ id, q, questions, asked }) {
  const path = query(`/v1/surveys/${id}/statistics`, { question: q.question, statistic: asked.statistic, by: asked.by, compare: asked.compare, verified: asked.verified });
  const of = useLoad(() => call(path, { name: "figures" }), [path]);
  const name = nameOf(of.data, q, questions.find((x) => x.question === of.data?.by));
  const said = (e) => `${name(e)}: ${e.suppressed ? t("figures.hidden") : `${exact(e.estimate)} (${exact(e.low)} – ${exact(e.high)}), n ${exact(e.n)}`}`;
  return html`<${Failure} error=${of.error} again=${of.reload} />
    ${!of.error && html`<${Loaded} of=${of} rows=${6}>${(s) => html`
      <section class="card"><${Picture} path=${path} alt=${(q.label || q.question) + ". " + s.estimates.map(said).join("; ")} />
        ${s.noInterval && html`<p class="note">${s.noInterval}</p>`}</section>
      <section class="card digits"><div class="card-head"><h2>${t("figures.exact")}</h2><span class="mute small">${s.noInterval ? word("figures.basis.", s.basis) : t("figures.head", { confidence: +(100 * s.confidence).toFixed(4), basis: word("figures.basis.", s.basis) })}</span></div><${Table} s=${s} name=${name} />
        ${s.remarks?.length ? html`<ul class="small mute">${s.remarks.map((r) => html`<li>${r}</li>`)}</ul>` : null}</section>
      <section class="card"><h2>${t("figures.counted")}</h2><${Counted} c=${s.counted} /></section>`}</${Loaded}>`}
    <${Curl} path=${path} />`;
}

/** The tab of a survey with its figures. */
export function Figures({ id, survey }) {
  const asked = route.value.query, list = useLoad(() => call(query(`/v1/surveys/${id}/statistics/questions`, { language: language.value })), [id, language.value]);
  if (!may("analytics:read")) return html`<${Failure} error=${{ status: 403, message: t("ui.needs", { scope: "analytics:read" }), code: "SCOPE_MISSING" }} />`;
  return html`<${Loaded} of=${list} rows=${6}>${({ items }) => {
    const q = items.find((x) => x.question === asked.question) || items[0];
    if (!q) return html`<${Empty} icon="survey" title=${t("figures.none")}><p>${t("figures.noneText")}</p></${Empty}>`;
    return html`<p class="figure-report"><a class="button" href=${`/v1/surveys/${id}/report?language=${language.value}`} target="_blank" rel="noopener">${t("figures.report")}</a> <span class="mute small">${t("figures.reportText")}</span></p>
      <${Choices} questions=${items} asked=${asked} q=${q} survey=${survey} /><${Shown} id=${id} q=${q} questions=${items} asked=${asked} />`;
  }}</${Loaded}>`;
}
