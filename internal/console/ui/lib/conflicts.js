// @ts-check
// Interviews that came from devices that were offline, and contradict what is stored or
// came when the survey took none: both contents side by side, and the decision.
import { html, useState } from "../vendor/preact.js";
import { Dialog, useAct, useOnce } from "./act.js";
import { base } from "./router.js";
import { call, may } from "./api.js";
import { Name } from "./names.js";
import { Badge, Empty, Failure, Loaded, Time, useLoad } from "./ui.js";
import { t } from "./words.js";

const said = (v) => (v === undefined || v === null ? "–" : typeof v === "string" ? v : JSON.stringify(v));

/** Whether there is no stored response: the survey was closed or paused. */
const isHeld = (c) => c.code === "SURVEY_CLOSED" || c.code === "SURVEY_PAUSED";

/** What differs, stored beside sent; with pick, which of the two is taken. */
function Differences({ of, take = {}, pick = null }) {
  if (!of.differences?.length) return null;
  return html`<div class="table-wrap"><table class="tight"><thead><tr><th scope="col">${t("figures.question")}</th><th scope="col">${t("conflict.stored")}</th><th scope="col">${t("conflict.sent")}</th></tr></thead>
    <tbody>${of.differences.map((x) => html`<tr key=${x.pointer}><th scope="row"><code class="long">${x.pointer.replace("/responses/", "")}</code></th>${x.masked ? html`<td colspan="2" class="mute">${t("ui.withheld")}</td>`
      : ["stored", "sent"].map((side) => html`<td key=${side} data-label=${t("conflict." + side)}>${pick ? html`<label class="choice-line"><input type="radio" name=${x.pointer} value=${side} checked=${take[x.pointer] === side} onChange=${() => pick(x.pointer, side)} /> ${said(x[side])}</label>` : said(x[side])}</td>`)}</tr>`)}</tbody></table></div>`;
}

/** The ways to decide about a conflict: what is kept, and in which words. */
const ways = (c) => (isHeld(c) ? [["sent", "conflict.accept"], ["stored", "conflict.refuse"]] : [["stored", "conflict.keepStored"], ["sent", "conflict.takeSent"], ["merged", "conflict.merge"]]);

function Resolve({ id, of, close, done }) {
  const [keep, choose] = useState(ways(of)[0][0]), [reason, say] = useState(""), act = useAct(), once = useOnce();
  const [take, set] = useState(/** @type {Record<string, string>} */ (Object.fromEntries((of.differences || []).map((x) => [x.pointer, "stored"]))));
  const send = async (e) => {
    e.preventDefault();
    const body = { keep, ...(reason.trim() ? { reason: reason.trim() } : {}), ...(keep === "merged" ? { take } : {}) };
    const answer = await act.run(() => call(`/v1/surveys/${id}/conflicts/${encodeURIComponent(of.conflictId)}/resolve`, { method: "POST", body, headers: once.headers() }));
    once.renew();
    if (answer) { close(); done(); }
  };
  return html`<form class="form" onSubmit=${send}><h2>${t("conflict.decide")}</h2>
    ${ways(of).map(([value, text]) => html`<label key=${value} class="choice-line"><input type="radio" name="keep" value=${value} checked=${keep === value} onChange=${() => choose(value)} /> ${t(text)}</label>`)}
    <${Differences} of=${of} take=${take} pick=${keep === "merged" ? (at, side) => set({ ...take, [at]: side }) : null} />
    <label class="field"><span>${t("step.reason")}</span><input id="words" maxlength="1000" required=${isHeld(of) && keep === "stored"} value=${reason} onInput=${(e) => say(e.target.value)} /></label>
    <${Failure} error=${act.error} /><div class="row-end"><button type="button" onClick=${close}>${t("ui.cancel")}</button><button type="submit" class="primary" disabled=${act.busy}>${t("conflict.decide")}</button></div></form>`;
}

const decides = (c) => may("responses:write") && (!isHeld(c) || may("surveys:write"));

/** The tab of a survey with the conflicts of its interviews. */
export function Conflicts({ id }) {
  const [resolved, choose] = useState("false");
  const all = useLoad(() => call(`/v1/surveys/${id}/conflicts?limit=100&resolved=${resolved}`), [id, resolved]);
  return html`<section class="card"><div class="card-head"><h2>${t("conflict.title")}</h2>
      <label class="field"><span>${t("survey.state")}</span><select id="resolved" value=${resolved} onChange=${(e) => choose(e.target.value)}><option value="false">${t("conflict.open")}</option><option value="true">${t("conflict.decided")}</option></select></label></div>
    <p class="mute">${t("conflict.about")}</p>
    <${Loaded} of=${all} rows=${4}>${(page) => (page.items.length ? page.items.map((c) => html`<article key=${c.conflictId}><div class="card-head"><h3>${t("conflict.code." + c.code)} <${Name} did=${c.householdId} /></h3>
        ${c.resolution ? html`<${Badge} value=${t("conflict.kept." + c.resolution)} />` : decides(c) ? html`<${Dialog} small label=${t("conflict.decide")}>${(close) => html`<${Resolve} id=${id} of=${c} close=${close} done=${all.reload} />`}</${Dialog}>` : null}</div>
      ${c.erased ? html`<p class="mute">${t("conflict.erased")}</p>` : html`<${Differences} of=${c} />`}
      <p class="mute">${t("conflict.from")} <${Name} did=${c.sentBy} /> · <${Time} at=${c.receivedAt} />${c.responseId ? html` · <a class="in-text" href=${base + "/responses/" + encodeURIComponent(c.responseId)}>${c.responseId}</a>` : null}${c.resolvedAt ? html` · ${t("conflict.decidedBy")} <${Name} did=${c.resolvedBy} /> ${c.reason || ""}` : null}</p></article>`)
      : html`<${Empty} icon="survey" title=${t("conflict.none")}><p>${t("conflict.noneText")}</p></${Empty}>`)}</${Loaded}></section>`;
}
