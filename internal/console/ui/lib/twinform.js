// @ts-check
// A twin from the schema of its protocol: to make one, and to change one. What a
// value must be like the server says; here it is only given its form.
import { html, useState } from "../vendor/preact.js";
import { Dialog, useAct, useOnce } from "./act.js";
import { call, didPath } from "./api.js";
import { Failure, Loaded, useLoad } from "./ui.js";
import { go } from "./router.js";
import { t } from "./words.js";

const isList = (d) => d.type === "object" || d.type === "array";

/** What somebody typed as the value of a property; a text when it is not one. */
function valueOf(d, text) {
  if (text === "" || text === undefined) return undefined;
  if (d.type === "boolean") return text === "true";
  if (d.type === "integer" || d.type === "number") return Number.isNaN(Number(text)) ? text : Number(text);
  if (!isList(d)) return text;
  try { return JSON.parse(text); } catch { return text; }
}

const textOf = (v) => (v === undefined || v === null ? "" : typeof v === "object" ? JSON.stringify(v, null, 1) : String(v));

function Input({ d, value, set }) {
  const on = (e) => set(e.target.value);
  if (d.type === "boolean" || d.enum) {
    const list = d.enum ? d.enum.map((v) => [String(v), String(v)]) : [["true", t("ui.yes")], ["false", t("ui.no")]];
    return html`<select value=${value} onChange=${on}><option value=""></option>${list.map(([v, label]) => html`<option key=${v} value=${v}>${label}</option>`)}</select>`;
  }
  if (isList(d)) return html`<textarea rows="3" spellcheck="false" value=${value} placeholder=${d.type === "array" ? "[]" : "{}"} onInput=${on}></textarea>`;
  if ((d.maxLength || 0) > 300) return html`<textarea rows="3" maxlength=${d.maxLength} value=${value} onInput=${on}></textarea>`;
  const kind = d.format === "date" || d.type === "date" ? "date" : "text";
  return html`<input type=${kind} maxlength=${d.maxLength} inputmode=${d.type === "integer" ? "numeric" : d.type === "number" ? "decimal" : undefined} value=${value} onInput=${on} />`;
}

/** The properties of a protocol as fields; withheld ones cannot be changed. */
function Fields({ protocol, texts, set, withheld = [] }) {
  return html`${Object.entries(protocol.properties || {}).filter(([name]) => !withheld.some((p) => p.endsWith("/" + name) || p === name)).map(([name, d]) => html`<label class="field" key=${name}><span>${d.title || name}${d.required || protocol.required?.includes(name) ? " *" : ""}${d.unit ? ` (${d.unit})` : ""}</span>
    <${Input} d=${d} value=${texts[name] ?? ""} set=${(v) => set({ ...texts, [name]: v })} />${d.description ? html`<small class="hint">${d.description}</small>` : null}</label>`)}`;
}

function Make({ close, type }) {
  const list = useLoad(() => call("/v1/protocols?limit=100"), []), [did, choose] = useState(""), [texts, set] = useState({}), [scheme, setScheme] = useState(""), [known, setKnown] = useState(""), act = useAct(), once = useOnce();
  return html`<${Loaded} of=${list} rows=${3}>${(d) => {
    const all = d.items.filter((p) => p.status === "published"), p = all.find((x) => x.did === did) || all.find((x) => x.domainType === (type || "organisation").toLowerCase()) || all[0];
    const send = async (e) => {
      e.preventDefault();
      const properties = Object.fromEntries(Object.entries(p.properties || {}).map(([name, one]) => [name, valueOf(one, texts[name])]).filter(([, v]) => v !== undefined));
      const kind = p.domainType[0].toUpperCase() + p.domainType.slice(1);
      const made = await act.run(() => call("/v1/entities", { method: "POST", headers: once.headers(), body: { type: kind, protocol: p.did, properties, ...(scheme.trim() && known.trim() ? { externalIds: { [scheme.trim()]: known.trim() } } : {}) } }));
      if (made) { close(); go("/twins/" + encodeURIComponent(made.did)); } else once.renew();
    };
    return html`<form class="form" onSubmit=${send}><label class="field"><span>${t("twinform.protocol")}</span><select value=${p.did} onChange=${(e) => { choose(e.target.value); set({}); }}>${all.map((x) => html`<option key=${x.did} value=${x.did}>${x.name}</option>`)}</select><small class="hint">${p.description}</small></label>
      <${Fields} protocol=${p} texts=${texts} set=${set} />
      <div class="pair"><label class="field"><span>${t("twinform.scheme")}</span><input value=${scheme} onInput=${(e) => setScheme(e.target.value)} /></label><label class="field"><span>${t("twinform.known")}</span><input value=${known} onInput=${(e) => setKnown(e.target.value)} /></label></div>
      <${Failure} error=${act.error} /><div class="row-end"><button type="button" onClick=${close}>${t("ui.cancel")}</button><button type="submit" class="primary" disabled=${act.busy}>${t("twinform.make")}</button></div></form>`;
  }}</${Loaded}>`;
}

/** A button that makes a twin of any protocol. */
export const NewTwin = ({ type }) => html`<${Dialog} label=${t("twinform.new")} primary=${true}>${(close) => html`<${Make} close=${close} type=${type} />`}</${Dialog}>`;

function Change({ e, close, done }) {
  const path = "/v1/entities/" + didPath(e.did), protocol = useLoad(() => call("/v1/protocols/" + didPath(e.protocol) + (e.protocolVersion ? "?version=" + encodeURIComponent(e.protocolVersion) : "")), [e.did]);
  const [texts, set] = useState(Object.fromEntries(Object.entries(e.properties || {}).map(([k, v]) => [k, textOf(v)]))), act = useAct();
  return html`<${Loaded} of=${protocol} rows=${4}>${(p) => html`<form class="form" onSubmit=${async (event) => {
    event.preventDefault();
    const properties = {};
    for (const [name, d] of Object.entries(p.properties || {})) if ((texts[name] ?? "") !== textOf(e.properties?.[name])) properties[name] = valueOf(d, texts[name]) ?? null;
    const changed = await act.run(() => call(path, { method: "PATCH", headers: { "If-Match": `"${e.revision}"`, "Content-Type": "application/merge-patch+json" }, body: { properties } }));
    if (changed) { close(); done(); }
  }}><${Fields} protocol=${p} texts=${texts} set=${set} withheld=${e.withheld || []} /><${Failure} error=${act.error} />
    <div class="row-end"><button type="button" onClick=${close}>${t("ui.cancel")}</button><button type="submit" class="primary" disabled=${act.busy}>${t("twinform.save")}</button></div></form>`}</${Loaded}>`;
}

/** A button that changes the properties of a twin. */
export const EditTwin = ({ e, done }) => html`<${Dialog} label=${t("twinform.edit")}>${(close) => html`<${Change} e=${e} close=${close} done=${done} />`}</${Dialog}>`;
