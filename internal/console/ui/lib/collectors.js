// @ts-check
// Who visits the households of a survey: people whose key may send interviews, and
// others by their DID.
import { html, useState } from "../vendor/preact.js";
import { Dialog, useAct } from "./act.js";
import { call, may } from "./api.js";
import { Failure, useLoad } from "./ui.js";
import { t } from "./words.js";

const sends = (k) => k.status === "active" && k.principal && (k.scopes || []).some((s) => s === "*" || s === "responses:*" || s === "responses:write");

/** The people who have a key that may send interviews, each once. */
async function people() {
  if (!may("keys:read")) return [];
  const keys = (await call("/v1/api-keys?status=active&limit=200")).items.filter(sends);
  return [...new Map(keys.map((k) => [k.principal, { did: k.principal, name: k.name }])).values()];
}

/** Collectors as they are typed: a DID and, after it, a name on each line. */
const typedOf = (text) => text.split("\n").map((l) => l.trim()).filter(Boolean).map((l) => {
  const [did, ...name] = l.split(/[\s,;]+/);
  return { did, name: name.join(" ") || undefined };
});

/** Fields to choose collectors with; set gets all that are chosen. */
export function PickCollectors({ chosen, set }) {
  const known = useLoad(people, []), list = [...new Map([...(known.data || []), ...chosen].map((c) => [c.did, c])).values()];
  const [typed, type] = useState("");
  const ticked = chosen.filter((c) => !c.typed);
  const write = (text) => { type(text); set([...ticked, ...typedOf(text).filter((c) => !ticked.some((x) => x.did === c.did)).map((c) => ({ ...c, typed: true }))]); };
  return html`<fieldset class="element"><legend>${t("collectors.title")}</legend>
    ${list.filter((c) => !c.typed).map((c) => html`<label key=${c.did} class="choice-line" title=${c.did}><input type="checkbox" name="collector" value=${c.did} checked=${chosen.some((x) => x.did === c.did)}
      onChange=${(e) => set(e.target.checked ? [...chosen, c] : chosen.filter((x) => x.did !== c.did))} /> ${c.name || c.did}</label>`)}
    <label class="field"><span>${t("collectors.others")}</span><textarea id="others" rows="2" placeholder="did:… Asha" value=${typed} onInput=${(e) => write(e.target.value)}></textarea></label></fieldset>`;
}

/** Collectors as the server takes them. */
export const sent = (chosen) => chosen.map(({ typed: _, ...c }) => c);

function Change({ s, close, done }) {
  const [chosen, set] = useState(/** @type {any[]} */ (s.collectors || [])), act = useAct();
  const save = async (e) => {
    e.preventDefault();
    const body = { items: sent(chosen) };
    if (await act.run(() => call(`/v1/surveys/${encodeURIComponent(s.surveyId)}/collectors`, { method: "PUT", headers: { "If-Match": `"${s.revision}"` }, body }))) { close(); done(); }
  };
  return html`<form class="form" onSubmit=${save}><h2>${t("collectors.change")}</h2><${PickCollectors} chosen=${chosen} set=${set} />
    <${Failure} error=${act.error} /><div class="row-end"><button type="button" onClick=${close}>${t("ui.cancel")}</button><button type="submit" class="primary" disabled=${act.busy}>${t("modes.save")}</button></div></form>`;
}

/** A button that changes who collects, as long as the survey may change. */
export const Collectors = ({ s, done }) => (may("surveys:write") && s.status !== "closed" && s.status !== "archived"
  ? html`<${Dialog} label=${t("survey.collectors")} title=${t("collectors.change")}>${(close) => html`<${Change} s=${s} close=${close} done=${done} />`}</${Dialog}>` : null);
