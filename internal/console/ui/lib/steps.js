// @ts-check
// The life of a survey: what can be done with it next. Everything that is missing
// before a survey starts, the server names at once.
import { html } from "../vendor/preact.js";
import { call, may } from "./api.js";
import { Ask } from "./ask.js";
import { go } from "./router.js";
import { t } from "./words.js";

const next = { draft: ["activate", "delete"], ready: ["activate", "delete"], active: ["pause", "round", "close"], paused: ["resume", "close"], closed: ["reopen", "archive"] };

/** The request that takes a step. */
function request(s, step, words, once) {
  const path = "/v1/surveys/" + encodeURIComponent(s.surveyId), headers = { ...once, "If-Match": `"${s.revision}"` };
  switch (step) {
    case "delete": return call(path, { method: "DELETE", headers });
    case "round": return call(path + "/rounds", { method: "POST", headers, body: words ? { name: words } : {} });
  }
  return call(path + "/" + step, { method: "POST", headers, body: words ? { reason: words } : {} });
}

const fields = { delete: "", round: "step.roundName" };

/** Buttons for what can be done with a survey in its present state. */
export const Steps = ({ s, done }) => (may("surveys:write")
  ? (next[s.status] || []).map((step) => {
    const field = fields[step] ?? "step.reason";
    return html`<${Ask} key=${step} primary=${step === "activate" || step === "resume"} label=${t("step." + step)} about=${t("step.about." + step)} field=${field && t(field)} required=${step === "reopen"}
      send=${(words, once) => request(s, step, words, once)} done=${() => (step === "delete" ? go("/surveys") : done())} />`;
  }) : null);
