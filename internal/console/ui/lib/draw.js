// @ts-check
// What people do about a sample, one dialog each: approve the design, freeze the
// frame, commit, add the second part, draw, replace a household.
import { html, useState } from "../vendor/preact.js";
import { Dialog, useAct, useOnce } from "./act.js";
import { call, may, me } from "./api.js";
import { Failure } from "./ui.js";
import { t } from "./words.js";

const path = (d) => "/v1/sampling/designs/" + encodeURIComponent(d.designId);
const mine = (did) => !!did && did === me.value?.principal;

/** A dialog with a form that sends one request below the design. */
function Ask({ d, to, label, text, primary = true, small = false, body, done, children }) {
  const act = useAct(), once = useOnce();
  return html`<${Dialog} label=${label} primary=${primary} small=${small} closed=${() => { act.clear(); once.renew(); }}>${(close) => html`<form class="form" onSubmit=${async (e) => {
    e.preventDefault();
    const r = await act.run(async () => call(path(d) + to, { method: "POST", body: await body(), headers: once.headers() }));
    if (r) { close(); done(r); }
  }}><p>${text}</p>${children}<${Failure} error=${act.error} /><div class="row-end"><button type="button" onClick=${close}>${t("ui.cancel")}</button><button type="submit" class="primary" disabled=${act.busy}>${label}</button></div></form>`}</${Dialog}>`;
}

const Field = ({ label, value, set, ...rest }) => html`<label class="field"><span>${label}</span><input value=${value} onInput=${(e) => set(e.target.value)} ...${rest} /></label>`;
const Pick = ({ label, value, set, options }) => html`<label class="field"><span>${label}</span><select value=${value} onChange=${(e) => set(e.target.value)}>${options.map(([v, text]) => html`<option key=${v} value=${v}>${text}</option>`)}</select></label>`;

/** Another person than its maker says whether a design is as it should be. */
export function Approve({ d, done }) {
  const [status, decide] = useState("approved"), [note, say] = useState("");
  if (d.verification.status !== "pending" || mine(d.createdBy) || !(may("sampling:write") || may("sampling:witness"))) return null;
  return html`<${Ask} d=${d} to="/approve" label=${t("draw.approve")} text=${t("draw.approveText")} done=${done} body=${() => ({ version: d.version, status, note })}>
    <${Pick} label=${t("samples.decision")} value=${status} set=${decide} options=${[["approved", t("state.approved")], ["rejected", t("state.rejected")]]} /><${Field} label=${t("draw.note")} value=${note} set=${say} maxlength="1000" /></${Ask}>`;
}

/** The households there are to choose from: a file, or what a query finds. */
export function Freeze({ d, again, done }) {
  const [from, choose] = useState("file"), [file, take] = useState(/** @type {any} */ (null)), [filter, narrow] = useState("eq(domainType,household)"), strata = !!d.stratification?.strata?.length;
  const [stratum, by] = useState(strata ? "district" : ""), [cluster, group] = useState(d.clusters ? "village" : "");
  const body = async () => (from === "file" ? { csv: await file.text() } : { registry: { filter, status: "active", stratum: stratum || undefined, cluster: cluster || undefined } });
  return html`<${Ask} d=${d} to="/frame" label=${t(again ? "draw.freezeAgain" : "draw.freeze")} primary=${!again} text=${t("draw.freezeText")} done=${done} body=${body}>
    <${Pick} label=${t("sample.from")} value=${from} set=${choose} options=${[["file", t("sample.file")], ["registry", t("sample.registry")]]} />
    ${from === "file" ? html`<label class="field"><span>${t("draw.file")}</span><input type="file" required accept=".csv,text/csv,text/plain" onChange=${(e) => take(e.target.files[0])} /><span class="hint">${t("draw.fileHint")}</span></label>`
      : html`<${Field} label=${t("draw.filter")} value=${filter} set=${narrow} required />${strata ? html`<${Field} label=${t("draw.stratum")} value=${stratum} set=${by} required />` : null}${d.clusters ? html`<${Field} label=${t("draw.cluster")} value=${cluster} set=${group} required />` : null}`}</${Ask}>`;
}

/** Binds the next draw to the frame and a hidden part of the seed. */
export function Commit({ d, frame, draw, done }) {
  const [source, choose] = useState("party"), [party, name] = useState(""), [beacon, which] = useState("drand/quicknet"), [round, number] = useState(""), [at, when] = useState(""), [reason, say] = useState("");
  if (!frame?.hash || !may("sampling:write") || draw && draw.state !== "drawn") return null;
  const second = source === "party" ? { source, party: party.trim() || undefined } : beacon === "nist/2.0" ? { source, beacon, at: at && new Date(at).toISOString() } : { source, beacon, round: Number(round) };
  return html`<${Ask} d=${d} to="/commit" label=${t(draw ? "draw.commitAgain" : "draw.commit")} primary=${!draw} text=${t("draw.commitText")} done=${done} body=${() => ({ second, reason: reason || undefined })}>
    <${Pick} label=${t("sample.second")} value=${source} set=${choose} options=${[["party", t("draw.party")], ["beacon", t("draw.beacon")]]} />
    ${source === "party" ? html`<${Field} label=${t("draw.who")} value=${party} set=${name} placeholder="did:…" />`
      : html`<${Pick} label=${t("draw.which")} value=${beacon} set=${which} options=${["drand/quicknet", "drand/default", "nist/2.0"].map((b) => [b, b])} />
        ${beacon === "nist/2.0" ? html`<${Field} label=${t("draw.at")} value=${at} set=${when} type="datetime-local" required />` : html`<${Field} label=${t("draw.round")} value=${round} set=${number} type="number" min="1" required />`}`}
    ${draw ? html`<${Field} label=${t("draw.why")} value=${reason} set=${say} required maxlength="1000" />` : null}</${Ask}>`;
}

/** Adds the second part of the seed. */
export function Contribute({ d, draw, done }) {
  const [part, say] = useState("");
  if (draw?.state !== "committed") return null;
  const beacon = draw.second?.source === "beacon", other = beacon || !mine(draw.committedBy) && (!draw.second?.party || mine(draw.second.party));
  if (!other || !(may("sampling:write") || may("sampling:witness"))) return html`<span class="mute small">${t("draw.notYou")}</span>`;
  return html`<${Ask} d=${d} to="/contribute" label=${t("draw.contribute")} text=${t(beacon ? "draw.beaconText" : "draw.contributeText")} done=${done} body=${() => ({ part: part.trim() })}><${Field} label=${t("draw.part")} value=${part} set=${say} required maxlength="200" /></${Ask}>`;
}

/** Draws: after both parts, or by a seed that one party names. */
export function Draw({ d, frame, draw, done }) {
  const act = useAct(), [seed, name] = useState("");
  if (!may("sampling:write")) return null;
  if (draw?.state === "contributed" || draw?.state === "drawing") {
    return html`<button type="button" class="primary" disabled=${act.busy} onClick=${async () => { const r = await act.run(() => call(path(d) + "/draw", { method: "POST", body: {} })); if (r) done(r); }}>${t("draw.draw")}</button><${Failure} error=${act.error} />`;
  }
  if (draw || !frame?.hash) return null;
  return html`<${Ask} d=${d} to="/draw" label=${t("draw.sole")} primary=${false} text=${t("sample.sole")} done=${done} body=${() => ({ seed: seed.trim() })}><${Field} label=${t("checks.seed")} value=${seed} set=${name} required maxlength="200" /></${Ask}>`;
}

/** Has the next household of the draw take the place of one that is not reached. */
export function Replace({ d, unit, done }) {
  const [reason, say] = useState("");
  const which = unit.householdId ? { householdId: unit.householdId } : { unit: unit.unit };
  return html`<${Ask} d=${d} to="/replacements" label=${t("draw.replace")} primary=${false} small=${true} text=${t("draw.replaceText")} done=${done} body=${() => ({ ...which, reason })}><${Field} label=${t("sample.reason")} value=${reason} set=${say} required maxlength="1000" /></${Ask}>`;
}
