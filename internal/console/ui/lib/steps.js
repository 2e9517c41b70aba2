// @ts-check
// The life of a survey: what can be done with it next. Everything that is missing
// before a survey starts, the server names at once.
import { html, useState } from "../vendor/preact.js";
import { Dialog, useAct, useOnce } from "./act.js";
import { call, may } from "./api.js";
import { go } from "./router.js";
import { Failure } from "./ui.js";
import { t } from "./words.js";

const next = { draft: ["activate", "delete"], ready: ["activate", "delete"], active: ["pause", "round", "close"], paused: ["resume", "close"], closed: ["reopen", "archive"] };

/** The request that takes a step. */
function request(s, step, words) {
  const path = "/v1/surveys/" + encodeURIComponent(s.surveyId);
  switch (step) {
    case "delete": return { path, method: "DELETE" };
    case "round": return { path: path + "/rounds", method: "POST", body: words ? { name: words } : {} };
  }
  return { path: path + "/" + step, method: "POST", body: words ? { reason: words } : {} };
}

function Take({ s, step, close, done }) {
  const [words, say] = useState(""), act = useAct(), once = useOnce();
  const take = async (e) => {
    e.preventDefault();
    const { path, method, body } = request(s, step, words.trim());
    const answer = await act.run(() => call(path, { method, body, headers: { ...once.headers(), "If-Match": `"${s.revision}"` } }));
    if (!answer) { once.renew(); return; }
    close();
    if (step === "delete") go("/surveys"); else done();
  };
  return html`<form class="form" onSubmit=${take}><h2>${t("step." + step)}</h2><p class="mute">${t("step.about." + step)}</p>
    ${step === "delete" ? null : html`<label class="field"><span>${t(step === "round" ? "step.roundName" : "step.reason")}</span><input id="words" maxlength="200" required=${step === "reopen"} value=${words} onInput=${(e) => say(e.target.value)} /></label>`}
    <${Failure} error=${act.error} /><div class="row-end"><button type="button" onClick=${close}>${t("ui.cancel")}</button><button type="submit" class="primary" disabled=${act.busy}>${t("step." + step)}</button></div></form>`;
}

/** Buttons for what can be done with a survey in its present state. */
export const Steps = ({ s, done }) => (may("surveys:write")
  ? (next[s.status] || []).map((step, i) => html`<${Dialog} key=${step} primary=${i === 0} label=${t("step." + step)}>${(close) => html`<${Take} s=${s} step=${step} close=${close} done=${done} />`}</${Dialog}>`) : null);
