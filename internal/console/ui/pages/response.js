// @ts-check
import { html } from "../vendor/preact.js";
import { call, may } from "../lib/api.js";
import { base, surveyHref, twinHref } from "../lib/router.js";
import { Answers, Evidence } from "../lib/interview.js";
import { Name } from "../lib/names.js";
import { Badge, Loaded, Page, Time, useLoad } from "../lib/ui.js";
import { t } from "../lib/words.js";
import { SurveyName } from "./surveys.js";

function Decisions({ id }) {
  const state = useLoad(() => call(`/v1/responses/${encodeURIComponent(id)}/verification`), [id]);
  return html`<section class="card"><h2>${t("response.decisions")}</h2><${Loaded} of=${state} rows=${2}>${(s) => (s.decisions.length ? html`<ul class="decisions">${s.decisions.map((d) => html`<li key=${d.decisionId}><${Badge} value=${d.to} /> <${Name} did=${d.verifier} /> · <${Time} at=${d.timestamp} />${d.reason ? html`<p>${d.reason}</p>` : null}</li>`)}</ul>` : html`<p class="mute">${t("response.undecided")}</p>`)}</${Loaded}></section>`;
}

export default function Response({ id }) {
  const one = useLoad(() => call("/v1/responses/" + encodeURIComponent(id)), [id]);
  return html`<${Loaded} of=${one} rows=${8}>${(r) => html`<${Page} title=${html`${t("response.with")} <${Name} did=${r.householdId} link=${false} />`} curl=${"/v1/responses/" + encodeURIComponent(id)}
      crumb=${html`<a href=${base + "/surveys"}>${t("page.surveys")}</a> / <a href=${surveyHref(r.surveyId)}><${SurveyName} id=${r.surveyId} /></a> / <code>${r.responseId}</code>`}
      about=${html`<${Badge} value=${r.status} /> <${Badge} value=${r.verification?.status} /> · <${Time} at=${r.timestamp} />${r.mode ? html` · ${t("mode.asked", { how: t("mode." + r.mode) })}` : null} · ${t("survey.household")}: ${r.householdId ? html`<${Name} did=${r.householdId} />` : "–"}${r.householdId?.startsWith("did:") && may("entities:read") ? html` · <a href=${twinHref(r.householdId) + "?tab=timeline"}>${t("twin.tab.timeline")}</a>` : null}`}>
    <div class="split"><div><section class="card"><h2>${t("desk.answers")}</h2><${Answers} response=${r} /></section></div>
      <aside><section class="card"><${Evidence} id=${id} /></section><${Decisions} id=${id} /></aside></div></${Page}>`}</${Loaded}>`;
}
