// @ts-check
// What people do about a claim: take it, enter facts, decide where the rubric leaves it to
// them, dispute it, and decide about disputes.
import { html, useState } from "../vendor/preact.js";
import { useAct, useOnce } from "./act.js";
import { call, may } from "./api.js";
import { Name } from "./names.js";
import { Badge, Failure, Loaded, Time, useLoad } from "./ui.js";
import { t } from "./words.js";

const yesNo = ["true", "false"];

/** A field for a fact, as the rubric declares it. */
function Fact({ fact, value, change }) {
  const name = `${fact.description || fact.id}${fact.unit && fact.unit !== "1" ? ` (${fact.unit})` : ""}`;
  const options = fact.type === "boolean" ? yesNo : fact.type === "choice" ? fact.values : null;
  return html`<label class="field"><span>${name}</span>${options
    ? html`<select name=${"fact-" + fact.id} value=${value} onChange=${(e) => change(e.target.value)}><option value="">${t("claim.unknown")}</option>${options.map((o) => html`<option key=${o} value=${o}>${fact.type === "boolean" ? t(o === "true" ? "ui.yes" : "ui.no") : o}</option>`)}</select>`
    : html`<input name=${"fact-" + fact.id} type=${fact.type === "number" ? "number" : fact.type === "date" ? "date" : "text"} step="any" value=${value} onInput=${(e) => change(e.target.value)} />`}</label>`;
}

/** The facts that were entered, as the API takes them. */
export function entered(facts, values) {
  const out = {};
  for (const f of facts) {
    const v = values[f.id];
    if (v !== undefined && v !== "") out[f.id] = { value: f.type === "number" ? Number(v) : f.type === "boolean" ? v === "true" : v };
  }
  return out;
}

/** Takes a claim, and decides about it. */
export function Decide({ claim, facts = [], done }) {
  const path = `/v1/claims/${encodeURIComponent(claim.id)}`, act = useAct(), once = useOnce();
  const [until, keep] = useState(""), [values, set] = useState(/** @type {Record<string, string>} */ ({}));
  const [decision, choose] = useState(""), [reason, say] = useState(""), [amount, give] = useState("");
  if (!may("claims:evaluate") || !["pending", "flagged"].includes(claim.status)) return null;
  const take = async () => { const got = await act.run(() => call(path + "/lease", { method: "POST" })); if (got) keep(got.until); };
  const release = async () => { if (await act.run(() => call(path + "/lease", { method: "DELETE" }))) keep(""); };
  const send = async (e) => {
    e.preventDefault();
    const body = { facts: entered(facts, values), ...(decision ? { decision, reason: reason.trim() } : {}), ...(decision === "approved" && amount ? { amount: Number(amount) } : {}) };
    if (await act.run(() => call(path + "/evaluations", { method: "POST", headers: once.headers(), body }))) { once.renew(); done(); } else once.renew();
  };
  if (!until) return html`<section class="card"><h2>${t("claim.decide")}</h2><p class="mute">${t("claim.takeText")}</p><${Failure} error=${act.error} /><div class="actions"><button type="button" class="primary" disabled=${act.busy} onClick=${take}>${t("claim.take")}</button></div></section>`;
  return html`<section class="card"><h2>${t("claim.decide")}</h2><p class="mute" role="status">${t("claim.taken")} <${Time} at=${until} /></p><form class="form" onSubmit=${send}>
    ${facts.map((f) => html`<${Fact} key=${f.id} fact=${f} value=${values[f.id] || ""} change=${(v) => set({ ...values, [f.id]: v })} />`)}
    <label class="field"><span>${t("claim.decision")}</span><select name="decision" value=${decision} onChange=${(e) => choose(e.target.value)}><option value="">${t("claim.byRules")}</option>${["approved", "rejected", "flagged"].map((d) => html`<option key=${d} value=${d}>${t("state." + d)}</option>`)}</select></label>
    ${decision === "approved" ? html`<label class="field"><span>${t("claims.approved")} (${claim.amount?.unit || ""})</span><input name="amount" type="number" step="any" min="0" max=${claim.amount?.value} value=${amount} onInput=${(e) => give(e.target.value)} /></label>` : null}
    ${decision ? html`<label class="field"><span>${t("claim.reason")}</span><input name="reason" required maxlength="1000" value=${reason} onInput=${(e) => say(e.target.value)} /></label>` : null}
    <${Failure} error=${act.error} /><div class="actions"><button class="primary" disabled=${act.busy}>${t("claim.evaluate")}</button>
      <button type="button" disabled=${act.busy} onClick=${take}>${t("claim.renew")}</button><button type="button" disabled=${act.busy} onClick=${release}>${t("claim.release")}</button></div></form></section>`;
}

/** Why somebody decides so, with the buttons that do. */
function Because({ label, buttons, send }) {
  const [reason, say] = useState(""), act = useAct(), once = useOnce();
  const go = (value) => async () => {
    const ok = await act.run(() => send({ value, reason: reason.trim(), headers: once.headers() }));
    once.renew();
    if (ok) say("");
  };
  return html`<div class="form"><label class="field"><span>${label}</span><input maxlength="1000" value=${reason} onInput=${(e) => say(e.target.value)} /></label><${Failure} error=${act.error} />
    <div class="actions">${buttons.map(([value, text]) => html`<button key=${value} type="button" disabled=${act.busy || !reason.trim()} onClick=${go(value)}>${text}</button>`)}</div></div>`;
}

/** What was held against a claim, and what came of it. */
export function Disputes({ claim, done }) {
  const path = `/v1/claims/${encodeURIComponent(claim.id)}/disputes`;
  const of = useLoad(() => call(path), [claim.id, claim.status]);
  const mayDispute = (may("claims:write") || may("claims:evaluate")) && ["pending", "flagged", "approved"].includes(claim.status);
  const dispute = async ({ reason, headers }) => { const out = await call(path, { method: "POST", headers, body: { reason } }); done(); return out; };
  const decide = (d) => async ({ value, reason, headers }) => { const out = await call(`${path}/${encodeURIComponent(d.id)}/decision`, { method: "POST", headers, body: { outcome: value, reason } }); done(); return out; };
  if (!mayDispute && of.data && !of.data.items.length) return null;
  return html`<section class="card"><h2>${t("claim.disputes")}</h2><${Loaded} of=${of} rows=${2}>${({ items }) => items.map((d) => html`<div key=${d.id} class="dispute"><p><${Badge} value=${d.status} /> ${d.reason || (d.reasonErased ? html`<em class="mute">${t("claim.erased")}</em>` : "")}</p>
      <p class="mute small"><${Name} did=${d.disputer} /> · <${Time} at=${d.at} /></p>${d.decision ? html`<p>${d.decision} <span class="mute small">– <${Name} did=${d.decidedBy} /></span></p>` : null}
      ${d.status === "open" && may("claims:adjudicate") ? html`<${Because} label=${t("claim.reason")} buttons=${[["upheld", t("claim.uphold")], ["dismissed", t("claim.dismiss")]]} send=${decide(d)} />` : null}</div>`)}</${Loaded}>
    ${mayDispute ? html`<${Because} label=${t("claim.against")} buttons=${[["", t("claim.dispute")]]} send=${dispute} />` : null}</section>`;
}
