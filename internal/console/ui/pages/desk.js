// @ts-check
import { html, useRef, useState } from "../vendor/preact.js";
import { call, newId, query } from "../lib/api.js";
import { Bulk } from "../lib/bulk.js";
import { base, route, surveyHref } from "../lib/router.js";
import { Answers, Evidence } from "../lib/interview.js";
import { Name } from "../lib/names.js";
import { Badge, Curl, Empty, Failure, Loaded, Page, Time, useKeys, useLoad } from "../lib/ui.js";
import { t } from "../lib/words.js";
import { SurveyName } from "./surveys.js";

/** Takes the next one for this verifier, and reads it. */
async function take(surveyId, after) {
  const turn = await call("/v1/responses:next", { method: "POST", body: { ...(surveyId ? { surveyId } : {}), ...(after ? { after } : {}) } });
  if (!turn.next) return turn.after ? take(surveyId, turn.after) : { state: null };
  return { state: turn.next, response: await call("/v1/responses/" + encodeURIComponent(turn.next.responseId)) };
}

function OneByOne() {
  const survey = route.value.query.survey || "";
  const [after, skip] = useState(""), [turn, next] = useState(0), [done, count] = useState(0);
  const [comment, say] = useState(""), [error, fail] = useState(/** @type {any} */ (null)), [busy, wait] = useState(false), box = useRef(/** @type {any} */ (null));
  const one = useLoad(() => take(survey, after), [survey, after, turn]);
  const r = one.data?.response, state = one.data?.state;

  const decide = async (status) => {
    if (!r || busy || one.loading) return;
    if (status === "rejected" && !comment.trim()) {
      fail(new Error(t("desk.needReason")));
      box.current.focus();
      return;
    }
    wait(true);
    fail(null);
    try {
      await call(`/v1/responses/${encodeURIComponent(r.responseId)}/verification`, {
        method: "POST", headers: { "Idempotency-Key": newId() },
        body: { status, revision: r.revision, ...(comment.trim() ? { reason: comment.trim() } : {}) },
      });
      say("");
      count((n) => n + 1);
      next((n) => n + 1);
    } catch (e) {
      fail(e);
    }
    wait(false);
  };
  const pass = () => { if (r) { say(""); fail(null); skip(r.responseId); } };
  useKeys({ v: () => decide("verified"), x: (e) => { e.preventDefault(); decide("rejected"); }, s: pass, c: (e) => { e.preventDefault(); box.current?.focus(); }, Escape: () => box.current?.blur() });

  return html`    <p class="mute" role="status">${done ? t("desk.done", { n: done }) : ""}</p>
    <${Loaded} of=${one} rows=${8}>${({ response, state: st }) => (!response ? html`<${Empty} icon="desk" title=${t("desk.empty")}><p>${t("desk.emptyText")}</p></${Empty}>` : html`
      <div class="split desk" data-response=${response.responseId}>
        <section class="card"><div class="card-head"><h2><a href=${base + "/responses/" + encodeURIComponent(response.responseId)}>${t("response.with")} <${Name} did=${response.householdId} link=${false} /></a></h2><${Badge} value=${response.status} /></div>
          <p>${t("survey.collector")}: ${response.collector ? html`<${Name} did=${response.collector} />` : "–"}</p>
          <p class="mute"><a href=${surveyHref(response.surveyId)}><${SurveyName} id=${response.surveyId} /></a> · <${Time} at=${response.timestamp} />${response.durationSec ? ` · ${t("desk.minutes")}: ${(response.durationSec / 60).toFixed(0)}` : ""}${response.stratum ? " · " + response.stratum : ""}</p>
          <h2>${t("desk.answers")}</h2><${Answers} response=${response} /></section>
        <aside><section class="card"><${Evidence} id=${response.responseId} /></section>
          <section class="card form"><label class="field"><span>${t("desk.comment")}</span><textarea ref=${box} rows="3" maxlength="1000" value=${comment} onInput=${(e) => { say(e.target.value); fail(null); }}></textarea></label>
            <${Failure} error=${error} again=${error?.status === 412 ? () => next((n) => n + 1) : null} />
            <div class="actions"><button type="button" class="primary" disabled=${busy || !st.allowed.includes("verified")} onClick=${() => decide("verified")}>${t("desk.verify")} <kbd>v</kbd></button>
              <button type="button" disabled=${busy || !st.allowed.includes("rejected")} onClick=${() => decide("rejected")}>${t("desk.reject")} <kbd>x</kbd></button>
              <button type="button" disabled=${busy} onClick=${pass}>${t("desk.skip")} <kbd>s</kbd></button></div></section></aside>
      </div>`)}</${Loaded}>
    <${Curl} path="/v1/responses?verification=pending" />`;
}

export default function Desk() {
  const many = route.value.query.mode === "many", survey = route.value.query.survey || "";
  const to = (mode) => base + query("/desk", { mode, survey });
  return html`<${Page} title=${t("page.desk")} about=${t(many ? "bulk.about" : "desk.about")}>
    <nav class="tabs" aria-label=${t("page.desk")}><a href=${to("")} aria-current=${many ? undefined : "page"}>${t("bulk.one")}</a><a href=${to("many")} aria-current=${many ? "page" : undefined}>${t("bulk.many")}</a></nav>
    ${many ? html`<${Bulk} />` : html`<${OneByOne} />`}</${Page}>`;
}
