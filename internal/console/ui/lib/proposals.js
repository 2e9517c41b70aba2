// @ts-check
// What interviews ask of twins, and the dialog to decide it.
import { html, useState } from "../vendor/preact.js";
import { Dialog, useAct, useOnce } from "./act.js";
import { call, may } from "./api.js";
import { Name } from "./names.js";
import { Badge, Failure, Loaded, Time, useLoad } from "./ui.js";
import { t } from "./words.js";

const states = ["open", "accepted", "rejected", "withdrawn"];
const said = (v) => (v === undefined || v === null ? "–" : typeof v === "string" ? v : JSON.stringify(v));

/** What would change, old beside new. */
function Changes({ of, leave, toggle }) {
  return html`<div class="scroll"><table><thead><tr><th>${t("proposal.property")}</th><th>${t("proposal.base")}</th><th>${t("proposal.stored")}</th><th>${t("proposal.proposed")}</th>${toggle ? html`<th>${t("proposal.leave")}</th>` : null}</tr></thead>
    <tbody>${of.changes.map((c) => html`<tr key=${c.property}><td>${c.property} ${c.conflict ? html`<span class="badge bad">${t("proposal.hard")}</span>` : null}</td>
      ${of.withheld?.includes(c.property) ? html`<td colspan="3" class="mute">${t("proposal.withheld")}</td>` : html`<td>${said(c.base)}</td><td>${said(c.stored)}</td><td>${said(c.proposed)}</td>`}
      ${toggle ? html`<td><input type="checkbox" aria-label=${t("proposal.leave") + " " + c.property} checked=${leave.includes(c.property)} onChange=${() => toggle(c.property)} /></td>` : null}</tr>`)}</tbody></table></div>`;
}

function Decide({ id, of, done }) {
  const [reason, write] = useState(""), [leave, setLeave] = useState(/** @type {string[]} */ ([])), act = useAct(), once = useOnce();
  if (!may("entities:write")) return null;
  const toggle = (name) => setLeave(leave.includes(name) ? leave.filter((x) => x !== name) : [...leave, name]);
  const send = async (decision, close) => {
    const body = { decision, version: of.version, ...(reason.trim() ? { reason: reason.trim() } : {}), ...(decision === "accept" && leave.length ? { leave } : {}), ...(of.revision ? { revision: of.revision } : {}) };
    const one = await act.run(() => call(`/v1/surveys/${id}/proposals/${of.proposalId}/decision`, { method: "POST", body, headers: once.headers() }));
    once.renew();
    if (one) { close(); done(); }
  };
  return html`<${Dialog} label=${t("proposal.decide")} title=${t("proposal.decide")} small closed=${() => { act.clear(); write(""); setLeave([]); }}>${(close) => html`<form class="form" onSubmit=${(e) => { e.preventDefault(); send("accept", close); }}>
    <h2>${t("proposal." + of.action)}</h2>${of.conflict === "none" ? null : html`<p>${t("proposal.conflictText." + of.conflict)}</p>`}
    <${Changes} of=${of} leave=${leave} toggle=${toggle} />
    <label class="field"><span>${t("proposal.reason")}</span><textarea rows="2" maxlength="1000" value=${reason} onInput=${(e) => write(e.target.value)}></textarea></label>
    <${Failure} error=${act.error} />
    <div class="row-end"><button type="button" onClick=${close}>${t("ui.cancel")}</button><button type="button" disabled=${act.busy} onClick=${() => send("reject", close)}>${t("proposal.reject")}</button><button class="primary" disabled=${act.busy}>${t("proposal.accept")}</button></div></form>`}</${Dialog}>`;
}

/** The tab of a survey with what its interviews ask of twins. */
export function Proposals({ id }) {
  const [status, choose] = useState("open");
  const all = useLoad(() => call(`/v1/surveys/${id}/proposals?limit=100&status=${status}`), [id, status]);
  return html`<section class="card"><div class="card-head"><h2>${t("proposal.title")}</h2>
      <label class="field"><span>${t("survey.state")}</span><select value=${status} onChange=${(e) => choose(e.target.value)}>${states.map((s) => html`<option value=${s}>${t("proposal.state." + s)}</option>`)}</select></label></div>
    <p class="mute">${t("proposal.about")}</p>
    <${Loaded} of=${all} rows=${4}>${(page) => (page.items.length ? page.items.map((p) => html`<article key=${p.proposalId}><div class="card-head"><h3>${t("proposal." + p.action)} <${Name} did=${p.twin} /> ${p.conflict === "none" ? null : html`<${Badge} value=${t("proposal." + p.conflict)} />`}</h3>
        ${p.status === "open" ? html`<${Decide} id=${id} of=${p} done=${all.reload} />` : null}</div>
      ${p.erased ? html`<p class="mute">${t("proposal.erased")}</p>` : html`<${Changes} of=${p} />`}
      <p class="mute"><${Time} at=${p.receivedAt} />${p.decidedBy ? html` · <${Name} did=${p.decidedBy} /> · <${Time} at=${p.decidedAt} /> ${p.reason}` : null}</p></article>`) : html`<p class="mute">${t("proposal.nothing")}</p>`)}</${Loaded}></section>`;
}
