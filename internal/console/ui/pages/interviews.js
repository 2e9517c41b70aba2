// @ts-check
import { html, useState } from "../vendor/preact.js";
import { call } from "../lib/api.js";
import { Households } from "../lib/households.js";
import { Name } from "../lib/names.js";
import { base, go, route, setQuery, surveyHref } from "../lib/router.js";
import { Bar, Empty, Loaded, Page, Time, useLoad } from "../lib/ui.js";
import { t } from "../lib/words.js";
import { surveyName } from "./surveys.js";

const fillPath = (id) => "/surveys/" + encodeURIComponent(id) + "/fill";

function Drafts({ surveys }) {
  const [turn, again] = useState(0), own = useLoad(() => call("/v1/drafts?limit=100"), [turn]);
  const discard = async (d) => { await call(d.links.self, { method: "DELETE" }); again(turn + 1); };
  return html`<${Loaded} of=${own} rows=${2}>${(l) => (l.items.length ? html`<section class="card"><h2>${t("visits.drafts")}</h2><ul class="visits">${l.items.map((d) => html`<li key=${d.surveyId + d.responseId}>
    <a class="visit" href=${base + fillPath(d.surveyId) + "?response=" + encodeURIComponent(d.responseId)}><span><${Name} did=${d.householdId} link=${false} /></span><small>${surveys[d.surveyId] || d.surveyId} · ${t("visits.savedAt")} <${Time} at=${d.savedAt} /> · ${t("visits.until")} <time dateTime=${d.expiresAt}>${d.expiresAt.slice(0, 10)}</time></small></a>
    <button type="button" class="small" onClick=${() => discard(d)}>${t("fill.discard")}</button></li>`)}</ul></section>` : null)}</${Loaded}>`;
}

export default function Interviews() {
  const list = useLoad(() => call("/v1/surveys?status=active&limit=50"), []), chosen = route.value.query.survey;
  return html`<${Page} title=${t("page.interviews")} about=${t("visits.about")} curl="/v1/drafts"><div class="phone-page"><${Loaded} of=${list} rows=${4}>${(d) => html`
    <${Drafts} surveys=${Object.fromEntries(d.items.map((s) => [s.surveyId, surveyName(s)]))} />
    ${d.items.length ? d.items.map((s) => {
      const p = s.progress || {}, done = (p.completed || 0) + (p.partial || 0), open = chosen === s.surveyId || d.items.length === 1;
      return html`<section class="card" key=${s.surveyId} data-survey=${s.surveyId}><div class="card-head"><h2><a href=${surveyHref(s.surveyId)}>${surveyName(s)}</a></h2>
        ${open ? null : html`<button type="button" class="primary" onClick=${() => setQuery({ survey: s.surveyId })}>${t("visits.open")}</button>`}</div>
        ${p.target ? html`<div class="meter-row"><${Bar} of=${p.target} parts=${[["good", done]]} label=${`${done} / ${p.target}`} /><span class="num">${done}/${p.target}</span></div>` : null}
        ${open ? html`<${Households} id=${s.surveyId} pick=${(did) => go(fillPath(s.surveyId) + "?household=" + encodeURIComponent(did))} />` : null}</section>`;
    }) : html`<${Empty} icon="survey" title=${t("visits.noSurvey")}><p>${t("visits.noSurveyText")}</p></${Empty}>`}`}</${Loaded}></div></${Page}>`;
}
