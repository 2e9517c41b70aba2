// @ts-check
// What somebody has found out about a flag, and the dialog to say it.
import { html, useState } from "../vendor/preact.js";
import { Dialog, useAct, useOnce } from "./act.js";
import { call, may } from "./api.js";
import { Name } from "./names.js";
import { flagText } from "./said.js";
import { Failure, Time } from "./ui.js";
import { t } from "./words.js";

/** How a flag was settled; nothing while it is open. */
export const Settled = ({ of }) => (of ? html`<span class="settled"><span class=${"badge " + (of.outcome === "explained" ? "good" : "bad")}>${t("settle." + of.outcome)}</span> ${of.note} <span class="mute"><${Name} did=${of.by} /> · <${Time} at=${of.at} /></span></span>` : null);

/** Settles a flag of a response, or opens it again; done gets the flag as it is then. */
export function Settle({ survey, response, flag, done }) {
  const [outcome, choose] = useState("explained"), [note, write] = useState(""), act = useAct(), once = useOnce();
  if (!may("responses:verify") && !may("responses:check")) return null;
  const send = async (to, close) => {
    const body = { responseId: response, rule: flag.rule, ...(flag.question ? { question: flag.question } : {}), outcome: to, revision: flag.settled?.revision || 0, ...(to === "open" ? {} : { note: note.trim() }) };
    const one = await act.run(() => call(`/v1/surveys/${encodeURIComponent(survey)}/flags:settle`, { method: "POST", body, headers: once.headers() }));
    once.renew();
    if (one) { close(); done(one); }
  };
  return html`<${Dialog} label=${t(flag.settled ? "settle.change" : "settle.settle")} title=${t("settle.settle")} small closed=${() => { act.clear(); write(""); }}>${(close) => html`<form class="form" onSubmit=${(e) => { e.preventDefault(); send(outcome, close); }}>
    <h2>${t("settle.settle")}</h2><p class="mute">${flagText(flag)}</p><${Settled} of=${flag.settled} />
    <label class="field"><span>${t("settle.outcome")}</span><select value=${outcome} onChange=${(e) => choose(e.target.value)}>${["explained", "confirmed"].map((o) => html`<option value=${o}>${t("settle." + o + "Text")}</option>`)}</select></label>
    <label class="field"><span>${t("settle.note")}</span><textarea required rows="3" maxlength="1000" value=${note} onInput=${(e) => write(e.target.value)}></textarea></label>
    <${Failure} error=${act.error} />
    <div class="row-end">${flag.settled ? html`<button type="button" disabled=${act.busy} onClick=${() => send("open", close)}>${t("settle.open")}</button>` : null}<button type="button" onClick=${close}>${t("ui.cancel")}</button><button class="primary" disabled=${act.busy}>${t("settle.save")}</button></div></form>`}</${Dialog}>`;
}
