// @ts-check
// Collections of claims: a form that makes one, and the steps that open, pause and close it.
import { html, useState } from "../vendor/preact.js";
import { Dialog, useAct, useOnce } from "./act.js";
import { call, didPath, may } from "./api.js";
import { Failure, nameOf, useLoad } from "./ui.js";
import { t } from "./words.js";

const blank = { name: "", description: "", protocol: "", version: "", projectId: "", quota: "", startsAt: "", endsAt: "" };
const moments = ["startsAt", "endsAt"];

/** The protocols whose claim types can decide about claims. */
export function useDeciding() {
  return useLoad(async () => {
    if (!may("protocols:read")) return [];
    const all = (await call("/v1/protocols?status=published&limit=200")).items;
    return all.filter((p) => !["claim", "credential", "system", "oracle"].includes(p.domainType));
  }, []);
}

/** The versions of a protocol, newest first. */
export const versionsOf = async (did) => (did ? (await call(`/v1/protocols/${didPath(did)}/versions`)).items : []);

/** What the form says, as the API takes it: nothing that was left empty. */
export function drafted(d) {
  const out = Object.fromEntries(Object.entries(d).filter(([, v]) => v.trim() !== "").map(([k, v]) => [k, v.trim()]));
  for (const key of moments) if (out[key]) out[key] += "T00:00:00Z";
  return { ...out, ...(out.quota ? { quota: Number(out.quota) } : {}) };
}

function Form({ close, done, once }) {
  const [d, set] = useState(blank), act = useAct(), protocols = useDeciding(), versions = useLoad(() => versionsOf(d.protocol), [d.protocol]);
  const projects = useLoad(async () => (may("entities:read") ? (await call("/v1/entities?type=Project&limit=100&fields=did,type,properties,metadata,externalIds")).items : []), []);
  const put = (key) => (e) => { once.renew(); set({ ...d, [key]: e.target.value, ...(key === "protocol" ? { version: "" } : {}) }); };
  const field = (key, rest = {}) => html`<label class="field"><span>${t("collect." + key)}</span><input name=${key} value=${d[key]} onInput=${put(key)} ...${rest} /></label>`;
  const pick = (key, first, options, rest = {}) => html`<label class="field"><span>${t("collect." + key)}</span><select name=${key} value=${d[key]} onChange=${put(key)} ...${rest}><option value="">${first}</option>${options.map(([v, label]) => html`<option key=${v} value=${v}>${label}</option>`)}</select></label>`;
  const make = async (e) => {
    e.preventDefault();
    if (await act.run(() => call("/v1/collections", { method: "POST", body: drafted(d), headers: once.headers() }))) { close(); done(); }
  };
  return html`<form class="form" onSubmit=${make}><h2>${t("collect.new")}</h2><p class="mute">${t("claims.noCollectionText")}</p>${field("name", { required: true, maxlength: 200 })}
    ${pick("protocol", t("collect.choose"), (protocols.data || []).map((p) => [p.did, p.name || p.did]), { required: true })}
    ${pick("version", t("collect.newest"), (versions.data || []).filter((v) => v.status === "published").map((v) => [v.version, v.version]))}
    ${pick("projectId", t("collect.everyProject"), (projects.data || []).map((p) => [p.did, nameOf(p)]))}
    ${field("quota", { type: "number", min: 0, step: 1, placeholder: t("collect.noLimit") })}<div class="row">${field("startsAt", { type: "date" })}${field("endsAt", { type: "date" })}</div>${field("description", { maxlength: 1000 })}
    <${Failure} error=${protocols.error || versions.error || act.error} /><div class="row-end"><button type="button" onClick=${close}>${t("ui.cancel")}</button><button class="primary" disabled=${act.busy}>${t("collect.make")}</button></div></form>`;
}

/** The button that makes a collection. */
export function NewCollection({ done }) {
  const once = useOnce();
  return html`<${Dialog} label=${t("collect.new")} primary closed=${once.renew}>${(close) => html`<${Form} close=${close} done=${done} once=${once} />`}</${Dialog}>`;
}

const steps = { open: ["pause", "close"], paused: ["open", "close"], closed: [] };

/** What can be done with a collection as it stands. */
export function Steps({ of, done }) {
  const act = useAct(), once = useOnce();
  if (!may("collections:write") || !steps[of.state]?.length) return null;
  const go = async (verb) => {
    if (verb === "close" && !confirm(t("collect.sure", { name: of.name }))) return;
    const ok = await act.run(() => call(`/v1/collections/${encodeURIComponent(of.id)}/${verb}`, { method: "POST", headers: once.headers() }));
    once.renew();
    if (ok) done();
  };
  return html`<span class="actions">${steps[of.state].map((verb) => html`<button key=${verb} type="button" class="small" disabled=${act.busy} onClick=${() => go(verb)}>${t("collect.step." + verb)}</button>`)}</span><${Failure} error=${act.error} />`;
}
