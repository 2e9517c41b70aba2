// @ts-check
// How a survey is asked: which of its modes it has, before it begins. Which questions
// a mode leaves out, and whether it can ask the survey at all, the server says.
import { html, useState } from "../vendor/preact.js";
import { Dialog, useAct } from "./act.js";
import { call, may } from "./api.js";
import { Failure } from "./ui.js";
import { t } from "./words.js";

/** The ways there are to ask, in the order people read them. */
export const modes = ["visit", "phone", "browser", "collect", "ussd", "chat", "web", "import"];

function Choose({ s, close, done }) {
  const [chosen, set] = useState(/** @type {string[]} */ (s.modes || [])), act = useAct();
  const save = async (e) => {
    e.preventDefault();
    const headers = { "If-Match": `"${s.revision}"`, "Content-Type": "application/merge-patch+json" };
    if (await act.run(() => call("/v1/surveys/" + encodeURIComponent(s.surveyId), { method: "PATCH", headers, body: { modes: modes.filter((m) => chosen.includes(m)) } }))) { close(); done(); }
  };
  return html`<form class="form" onSubmit=${save}><h2>${t("modes.title")}</h2><p class="mute">${t("modes.about")}</p>
    ${modes.map((m) => html`<label key=${m} class="choice-line"><input type="checkbox" value=${m} checked=${chosen.includes(m)} onChange=${(e) => set(e.target.checked ? [...chosen, m] : chosen.filter((x) => x !== m))} /> ${t("mode." + m)}
      ${s.unasked?.[m]?.length ? html`<small class="hint">${t("modes.unasked", { questions: s.unasked[m].join(", ") })}</small>` : null}</label>`)}
    <${Failure} error=${act.error} /><div class="row-end"><button type="button" onClick=${close}>${t("ui.cancel")}</button><button type="submit" class="primary" disabled=${act.busy || !chosen.length}>${t("modes.save")}</button></div></form>`;
}

/** A button that changes how a survey is asked, while that can change. */
export const Modes = ({ s, done }) => (may("surveys:write") && ["draft", "ready"].includes(s.status)
  ? html`<${Dialog} label=${t("modes.change")}>${(close) => html`<${Choose} s=${s} close=${close} done=${done} />`}</${Dialog}>` : null);
