// @ts-check
// One decision about many interviews: those a filter chooses, as they were when
// they were read. What has changed since the server skips and names.
import { html, useState } from "../vendor/preact.js";
import { useAct } from "./act.js";
import { call, query } from "./api.js";
import { Filters } from "./list.js";
import { Name } from "./names.js";
import { base, route } from "./router.js";
import { Badge, Curl, Empty, Failure, Loaded, Time, useLoad } from "./ui.js";
import { has, number, t } from "./words.js";
import { surveyName } from "../pages/surveys.js";

const most = 500; // responses of one call

const ruleName = (rule) => (has("flag." + rule) ? t("flag." + rule) : rule.replaceAll("_", " "));

/** What waits in a survey, a page at a time, until there is enough for one call. */
async function waiting(id) {
  const items = [];
  for (let cursor = ""; ;) {
    const p = await call(query(`/v1/surveys/${encodeURIComponent(id)}/responses`, { verification: "pending", fields: "responseId,revision,flags,collector,householdId,timestamp,status", limit: most, cursor }), { name: "bulk" });
    items.push(...p.items);
    if (!p.page.hasMore || items.length >= most) return { items: items.slice(0, most), more: p.page.hasMore || items.length > most };
    cursor = p.page.nextCursor;
  }
}

function Decide({ id, list, done }) {
  const act = useAct(), [status, choose] = useState("verified"), [reason, say] = useState("");
  const go = async (e) => {
    e.preventDefault();
    const r = await act.run(() => call(`/v1/surveys/${encodeURIComponent(id)}/verification:bulk`, { method: "POST", body: { status, ...(reason.trim() ? { reason: reason.trim() } : {}), responses: list.map((r) => ({ responseId: r.responseId, revision: r.revision })) } }));
    if (r) done(r);
  };
  return html`<form class="card form" onSubmit=${go}><label class="field"><span>${t("bulk.decision")}</span><select value=${status} onChange=${(e) => choose(e.target.value)}>${["verified", "rejected", "needs_correction", "in_review"].map((s) => html`<option key=${s} value=${s}>${t("state." + s)}</option>`)}</select></label>
    <label class="field"><span>${t("bulk.reason")}</span><textarea rows="2" maxlength="1000" required=${status !== "verified" && status !== "in_review"} value=${reason} onInput=${(e) => say(e.target.value)}></textarea></label>
    <${Failure} error=${act.error} /><button type="submit" class="primary" disabled=${act.busy || !list.length}>${t("bulk.go", { n: number(list.length) })}</button></form>`;
}

/** Decides about all that wait in a survey and fit the filter in the address. */
export function Bulk() {
  const asked = route.value.query, surveys = useLoad(() => call("/v1/surveys?limit=100"), []), [turn, again] = useState(0), [outcome, tell] = useState(/** @type {any} */ (null));
  const all = useLoad(() => (asked.survey ? waiting(asked.survey) : { items: [] }), [asked.survey, turn]), items = all.data?.items || [];
  const people = surveys.data?.items.find((s) => s.surveyId === asked.survey)?.collectors || [];
  const distinct = (f) => [...new Set(items.flatMap(f))].sort();
  const fits = (r) => (!asked.collector || r.collector === asked.collector) && (!asked.rule || r.flags?.some((f) => f.rule === asked.rule)) && (!asked.flagged || (asked.flagged === "yes") === !!r.flags?.length);
  const list = items.filter(fits), filters = [
    { key: "survey", label: t("surveys.name"), options: (surveys.data?.items || []).map((s) => ({ value: s.surveyId, label: surveyName(s) })) },
    { key: "flagged", label: t("surveys.flagged"), options: ["yes", "no"].map((v) => ({ value: v, label: t("ui." + v) })) },
    { key: "rule", label: t("checks.rule"), options: distinct((r) => (r.flags || []).map((f) => f.rule)).map((v) => ({ value: v, label: ruleName(v) })) },
    { key: "collector", label: t("survey.collector"), options: distinct((r) => [r.collector]).map((v) => ({ value: v, label: people.find((c) => c.did === v)?.name || v })) },
  ];
  return html`<${Filters} filters=${filters} asked=${asked} narrowed=${filters.some((f) => asked[f.key])} />
    ${outcome ? html`<p class="note" role="status">${t("bulk.done", { changed: outcome.changed, skipped: outcome.skipped, refused: outcome.refused })} ${outcome.items?.find((i) => i.detail)?.detail || ""}</p>` : null}
    ${!asked.survey ? html`<${Empty} icon="desk" title=${t("bulk.choose")}><p>${t("bulk.chooseText")}</p></${Empty}>` : html`<${Loaded} of=${all} rows=${4}>${(d) => (list.length ? html`
      <div class="split"><section class="card"><h2>${t("bulk.count", { n: number(list.length) })}${d.more ? " " + t("bulk.more") : ""}</h2><p class="mute">${t("bulk.sample")}</p>
        <ul class="visits">${list.slice(0, 5).map((r) => html`<li key=${r.responseId}><a class="visit" href=${base + "/responses/" + encodeURIComponent(r.responseId)}><span><${Name} did=${r.householdId} link=${false} /></span><${Badge} value=${r.status} /><small><${Name} did=${r.collector} link=${false} /> · <${Time} at=${r.timestamp} /> ${(r.flags || []).map((f) => ruleName(f.rule)).join(", ")}</small></a></li>`)}</ul></section>
        <aside><${Decide} id=${asked.survey} list=${list} done=${(r) => { tell(r); again(turn + 1); }} /></aside></div>` : html`<${Empty} icon="desk" title=${t("desk.empty")} />`)}</${Loaded}>`}
    <${Curl} path=${`/v1/surveys/${encodeURIComponent(asked.survey || "…")}/responses?verification=pending`} />`;
}
