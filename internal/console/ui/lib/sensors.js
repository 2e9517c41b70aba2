// @ts-check
// What households say against what sensors and kitchen tests have measured.
import { html, useEffect, useState } from "../vendor/preact.js";
import { Dialog, useAct, useOnce } from "./act.js";
import { call, may, query } from "./api.js";
import { Picture } from "./figures.js";
import { List, Rows } from "./list.js";
import { Name } from "./names.js";
import { base, route, surveyHref } from "./router.js";
import { Empty, Failure, Loaded, Tile, Time, useLoad } from "./ui.js";
import { language, number, t } from "./words.js";

const share = (v) => (v === undefined ? "–" : (100 * v).toFixed(1) + " %");
const two = (v) => (v === undefined ? "–" : v.toFixed(2));
const final = ["succeeded", "failed", "cancelled", "completedWithErrors"];

/** Asks again for a job until it has ended, and then tells. */
function useJob(job, done) {
  const [state, see] = useState("");
  useEffect(() => {
    if (!job) return undefined;
    let wanted = true, wait;
    const look = async () => {
      const now = await call("/v1/jobs/" + job.id).catch(() => null);
      if (!wanted) return;
      see(now?.status || "");
      if (now && final.includes(now.status)) done(); else wait = setTimeout(look, 1000);
    };
    look();
    return () => { wanted = false; clearTimeout(wait); };
  }, [job?.id]);
  return state;
}

function Run({ id, begun }) {
  const act = useAct(), once = useOnce(), [question, ask] = useState(""), [days, last] = useState("7");
  const list = useLoad(() => call(query(`/v1/surveys/${id}/statistics/questions`, { language: language.value })), [id, language.value]), items = list.data?.items || [];
  const usual = items.find((q) => q.question.includes("used_last")) || items[0];
  return html`<${Dialog} label=${t("sensors.run")} primary=${true} closed=${() => { act.clear(); once.renew(); }}>${(close) => html`<form class="form" onSubmit=${async (e) => {
    e.preventDefault();
    const r = await act.run(() => call(`/v1/surveys/${id}/cross-reference`, { method: "POST", body: { question: question || usual?.question, days: Number(days) }, headers: once.headers() }));
    if (r) { close(); begun(r); }
  }}><p>${t("sensors.runText")}</p>
    <label class="field"><span>${t("figures.question")}</span><select id="against" value=${question || usual?.question} onChange=${(e) => ask(e.target.value)}>${items.map((q) => html`<option key=${q.question} value=${q.question}>${q.label || q.question}</option>`)}</select></label>
    <label class="field"><span>${t("sensors.days")}</span><input type="number" required min="1" max="92" value=${days} onInput=${(e) => last(e.target.value)} /></label>
    <${Failure} error=${list.error || act.error} /><div class="row-end"><button type="button" onClick=${close}>${t("ui.cancel")}</button><button type="submit" class="primary" disabled=${act.busy || !usual}>${t("sensors.run")}</button></div></form>`}</${Dialog}>`;
}

/** The figures of a result, as the server has them. */
function Figures({ r }) {
  const h = r.households, a = r.agreement, d = r.difference;
  return html`<div class="tiles"><${Tile} label=${t("sensors.pairs")} value=${h.paired} small=${t("sensors.pairsSmall", { n: h.answered, gaps: h.unmeasured + h.tooFewDays + (h.otherUnit || 0) })} />
    ${a ? html`<${Tile} label=${t("sensors.agree")} value=${share(a.agreement)} small=${a.kappa === undefined ? a.noKappa || t("figures.hidden") : t("sensors.kappa", { k: two(a.kappa), low: two(a.kappaLow), high: two(a.kappaHigh) })} />
      <${Tile} label=${t("sensors.over")} value=${share(a.overReport)} small=${t("sensors.under", { n: share(a.underReport) })} />`
      : d ? html`<${Tile} label=${t("sensors.bias")} value=${two(d.bias)} small=${d.unit} /><${Tile} label=${t("sensors.limits")} value=${two(d.low) + " – " + two(d.high)} small=${t("sensors.limitsSmall")} />` : null}
    <${Tile} label=${t("sensors.adjusted")} value=${r.adjusted ? (a ? share(r.adjusted.value) : two(r.adjusted.value)) : "–"} small=${r.adjusted ? t("sensors.said", { n: a ? share(r.adjusted.said) : two(r.adjusted.said) }) : r.noAdjusted || t("figures.hidden")} /></div>`;
}

/** The figures of the tiles again, with every digit that the server gave. */
function Exact({ r }) {
  const a = r.agreement, d = r.difference, all = [];
  const note = (name, ...values) => values.every((v) => v !== undefined) && all.push(name + " " + values.map(number).join(" – "));
  if (a) {
    note(t("sensors.agree"), a.agreement);
    if (a.kappa !== undefined) all.push(t("sensors.kappa", { k: number(a.kappa), low: number(a.kappaLow), high: number(a.kappaHigh) }));
    note(t("sensors.over"), a.overReport);
    all.push(t("sensors.under", { n: number(a.underReport) }));
  }
  if (d) {
    note(t("sensors.bias"), d.bias);
    note(t("sensors.limits"), d.low, d.high);
  }
  note(t("sensors.adjusted"), r.adjusted?.value);
  return all.length ? html`<dt>${t("figures.exact")}</dt><dd>${all.join(" · ")}</dd>` : null;
}

function Result({ id, r, label }) {
  const path = `/v1/surveys/${id}/cross-reference/${r.crossReferenceId}?picture=`, name = label(r.asked.question);
  return html`<${Figures} r=${r} />
    <div class=${r.difference ? "two even" : ""}><section class="card"><${Picture} path=${path + "both"} alt=${t("sensors.alt", { question: name, n: r.households.paired })} /></section>
      ${r.difference ? html`<section class="card"><${Picture} path=${path + "differences"} alt=${t("sensors.altDifferences", { bias: two(r.difference.bias), low: two(r.difference.low), high: two(r.difference.high) })} /></section>` : null}</div>
    <section class="card"><h2>${t("sensors.rest")}</h2><dl class="facts"><${Exact} r=${r} /><dt>${t("sensors.mismatches")}</dt><dd><a href=${surveyHref(decodeURIComponent(id)) + "?tab=flags&rule=sensor_mismatch"}>${t("sensors.flagged", { n: r.mismatches })}</a></dd>
      <dt>${t("sensors.hawthorne")}</dt><dd>${r.hawthorne?.index === undefined ? r.noHawthorne || t("figures.hidden") : t("sensors.hawthorneText", { index: two(r.hawthorne.index), observed: two(r.hawthorne.observed), unobserved: two(r.hawthorne.unobserved), n: r.hawthorne.households })}</dd>
      <dt>${t("sensors.gaps")}</dt><dd>${t("sensors.gapsText", { unmeasured: r.households.unmeasured, few: r.households.tooFewDays, missing: r.households.missingDays, days: r.households.days })}</dd>
      <dt>${t("sensors.lineage")}</dt><dd>${t("sensors.lineageText", { responses: r.lineage.responses, rows: r.lineage.dayRows, tests: r.lineage.tests })} <code>${r.lineage.answersHash}</code> <code>${r.lineage.readingsHash || ""}</code></dd></dl>
      ${may("responses:read") ? html`<${Pairs} id=${id} r=${r} />` : null}</section>`;
}

function Pairs({ id, r }) {
  const [open, unfold] = useState(false), of = useLoad(() => (open ? call(`/v1/surveys/${id}/cross-reference/${r.crossReferenceId}/pairs?limit=200`) : { items: [] }), [open, r.crossReferenceId]);
  const value = (v) => (r.agreement ? t(v ? "ui.yes" : "ui.no") : number(v));
  return html`<details class="as-table" onToggle=${(e) => unfold(e.target.open)}><summary>${t("sensors.asTable")}</summary><${Loaded} of=${of} rows=${3}>${(p) => html`<${Rows} items=${p.items} id=${(x) => x.recordId} columns=${[
    { label: t("survey.household"), cell: (x) => (x.householdId.startsWith("did:") ? html`<${Name} did=${x.householdId} />` : html`<code>${x.householdId}</code>`) }, { label: t("sensors.saidOne"), num: true, cell: (x) => value(x.said) }, { label: t("sensors.measuredOne"), num: true, cell: (x) => value(x.measured) },
    { label: t("sensors.daysOne"), num: true, cell: (x) => x.days }, { label: t("survey.id"), cell: (x) => html`<a href=${base + "/responses/" + encodeURIComponent(x.recordId)}>${t("ui.open")}</a>${x.mismatch ? html` <span class="badge warn">${t("sensors.differs")}</span>` : null}` }]} />`}</${Loaded}></details>`;
}

/** The tab of a survey with what was measured. */
export function Sensors({ id }) {
  const [turn, again] = useState(0), [job, begun] = useState(/** @type {any} */ (null)), asked = route.value.query.run, path = `/v1/surveys/${id}/cross-reference`;
  const status = useJob(job, () => { begun(null); again((n) => n + 1); });
  const one = useLoad(async () => ({ r: asked ? await call(`${path}/${encodeURIComponent(asked)}`) : (await call(path + "?limit=1")).items[0] }), [id, asked, turn]);
  const names = useLoad(() => call(query(`/v1/surveys/${id}/statistics/questions`, { language: language.value })), [id, language.value]);
  const label = (q) => names.data?.items.find((x) => x.question === q)?.label || q;
  if (!may("analytics:read")) return html`<${Failure} error=${{ status: 403, message: t("ui.needs", { scope: "analytics:read" }), code: "SCOPE_MISSING" }} />`;
  return html`<div class="card-head"><p class="mute">${t("sensors.about")}</p>${may("responses:verify") || may("responses:check") ? html`<${Run} id=${id} begun=${begun} />` : null}</div>
    ${job ? html`<p role="status"><a class="in-text" href=${base + "/jobs"}>${t("checks.begun")}</a> ${status ? t("state." + status) : ""}</p>` : null}
    <${Loaded} of=${one} rows=${6}>${({ r }) => (r ? html`<h2 class="part">${label(r.asked.question)}</h2><p class="mute"><${Time} at=${r.createdAt} /> · ${t("sensors.asked", { days: r.asked.days, round: r.asked.round })}</p><${Result} id=${id} r=${r} label=${label} />`
      : html`<${Empty} icon="activity" title=${t("sensors.none")}><p>${t("sensors.noneText")}</p></${Empty}>`)}</${Loaded}>
    <h2 class="part">${t("sensors.all")}</h2><${List} path=${path} turn=${turn} id=${(r) => r.crossReferenceId} href=${(r) => surveyHref(decodeURIComponent(id)) + "?tab=sensors&run=" + r.crossReferenceId} limit=${10}
      columns=${[{ label: t("figures.question"), cell: (r) => label(r.asked.question) }, { label: t("sensors.pairs"), num: true, cell: (r) => r.households.paired }, { label: t("sensors.agree"), num: true, cell: (r) => (r.agreement ? share(r.agreement.agreement) : "–") },
        { label: t("sensors.bias"), num: true, cell: (r) => (r.difference ? two(r.difference.bias) : "–") }, { label: t("sensors.mismatches"), num: true, cell: (r) => r.mismatches }, { label: t("checks.by"), cell: (r) => html`<${Name} did=${r.createdBy} />` }, { label: t("twin.when"), cell: (r) => html`<${Time} at=${r.createdAt} />` }]}
      empty=${{ icon: "activity", title: t("sensors.none"), text: t("sensors.noneText") }} />`;
}
