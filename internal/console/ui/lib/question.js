// @ts-check
// One question of an interview, as a phone shows it. What is asked and what is
// wrong the server says; here answers are only given their form.
import { html } from "../vendor/preact.js";
import { Geo, Media } from "./capture.js";
import { t } from "./words.js";

const isBlank = (v) => v === null || v === undefined || v === "" || (Array.isArray(v) && !v.length);

/** Choices with a text of one's own. */
function Choices({ q, def, value, set, id, many }) {
  const list = Array.isArray(value) ? value : isBlank(value) ? [] : [value], other = list.find((v) => v && typeof v === "object" && "other" in v);
  const put = (next) => set(many ? next : next[next.length - 1] ?? null);
  const pick = (v, on) => put(many ? (on ? [...list, v] : list.filter((x) => x !== v)) : on ? [v] : []);
  if (!many && !def.other && q.options?.length > 15) {
    return html`<select id=${id} value=${value ?? ""} onChange=${(e) => set(e.target.value || null)}><option value="">${t("fill.choose")}</option>${q.options.map((o) => html`<option key=${o.value} value=${o.value}>${o.label}</option>`)}</select>`;
  }
  const kind = many ? "checkbox" : "radio";
  return html`<div class="choices" id=${id} tabindex="-1">${(q.options || []).map((o) => html`<label key=${o.value} class="choice"><input type=${kind} name=${id} checked=${list.includes(o.value)} onChange=${(e) => pick(o.value, e.target.checked)} /><span>${o.label}</span></label>`)}
    ${def.other ? html`<label class="choice"><input type=${kind} name=${id} checked=${!!other} onChange=${(e) => put(e.target.checked ? [...(many ? list : []), { other: "" }] : list.filter((x) => x !== other))} /><span>${t("fill.other")}</span></label>
      ${other ? html`<input aria-label=${t("fill.other")} value=${other.other} onInput=${(e) => put([...list.filter((x) => x !== other), { other: e.target.value }])} />` : null}` : null}
    ${!many && !isBlank(value) ? html`<button type="button" class="link small" onClick=${() => set(null)}>${t("fill.clear")}</button>` : null}</div>`;
}

const Pair = ({ id, value, set, words }) => html`<div class="choices two-choices" id=${id} tabindex="-1">${[true, false].map((v) => html`<label key=${v} class="choice"><input type="radio" name=${id} checked=${value === v} onChange=${() => set(v)} /><span>${words[v ? 0 : 1]}</span></label>`)}</div>`;

const numberOf = (text) => { const s = text.trim().replace(",", "."); return s === "" ? null : Number.isNaN(Number(s)) ? text : Number(s); };

const Numeric = ({ id, value, set, unit, whole }) => html`<span class="with-unit"><input id=${id} inputmode=${whole ? "numeric" : "decimal"} value=${value ?? ""} onInput=${(e) => set(numberOf(e.target.value))} />${unit ? html`<span class="mute">${unit}</span>` : null}</span>`;

function Quantity({ id, q, def, value, set }) {
  const units = def.units?.length ? def.units : [def.unit || ""], unit = value?.unit ?? units[0];
  const put = (n, u) => set(n === null || n === undefined ? null : { value: n, unit: u });
  return html`<span class="with-unit"><input id=${id} inputmode="decimal" value=${value?.value ?? ""} onInput=${(e) => put(numberOf(e.target.value), unit)} />
    ${units.length > 1 ? html`<select aria-label=${t("fill.unit")} value=${unit} onChange=${(e) => put(value?.value, e.target.value)}>${units.map((u) => html`<option key=${u} value=${u}>${u}</option>`)}</select>` : html`<span class="mute">${unit || q.unit}</span>`}</span>`;
}

function Rating({ id, def, value, set }) {
  const from = def.validation?.min ?? 1, to = Math.min(from + 20, def.validation?.max ?? 5);
  return html`<div class="rating" id=${id} role="radiogroup" tabindex="-1">${Array.from({ length: to - from + 1 }, (_, i) => from + i).map((n) => html`<label key=${n} class="choice"><input type="radio" name=${id} checked=${value === n} onChange=${() => set(n)} /><span>${n}</span></label>`)}</div>`;
}

function Rank({ id, q, value, set }) {
  const all = (q.options || []).map((o) => o.value), list = Array.isArray(value) ? value : all;
  const label = Object.fromEntries((q.options || []).map((o) => [o.value, o.label]));
  const move = (i, by) => { const next = [...list]; [next[i], next[i + by]] = [next[i + by], next[i]]; set(next); };
  return html`<ol class="rank" id=${id} tabindex="-1">${list.map((v, i) => html`<li key=${v}><span>${label[v] ?? v}</span><button type="button" class="small" disabled=${!i} aria-label=${t("fill.up") + " " + label[v]} onClick=${() => move(i, -1)}>↑</button><button type="button" class="small" disabled=${i === list.length - 1} aria-label=${t("fill.down") + " " + label[v]} onClick=${() => move(i, 1)}>↓</button></li>`)}</ol>
    ${isBlank(value) ? html`<button type="button" class="small" onClick=${() => set(all)}>${t("fill.orderIs")}</button>` : null}`;
}

const Matrix = ({ id, q, value, set }) => html`<div class="matrix" id=${id} tabindex="-1">${(q.rows || []).map((r) => html`<label key=${r.value} class="field"><span>${r.label}</span><select value=${value?.[r.value] ?? ""} onChange=${(e) => { const next = { ...(value || {}) }; if (e.target.value) next[r.value] = e.target.value; else delete next[r.value]; set(Object.keys(next).length ? next : null); }}>
    <option value="">${t("fill.choose")}</option>${(q.options || []).map((o) => html`<option key=${o.value} value=${o.value}>${o.label}</option>`)}</select></label>`)}</div>`;

const local = (v) => { const d = new Date(v); return Number.isNaN(d.getTime()) ? "" : new Date(d.getTime() - d.getTimezoneOffset() * 60000).toISOString().slice(0, 16); };
const Typed = ({ id, kind, value, set, ...more }) => html`<input id=${id} type=${kind} value=${value ?? ""} onInput=${(e) => set(e.target.value || null)} ...${more} />`;

/** How each type is asked. */
const inputs = {
  single_choice: (p) => html`<${Choices} ...${p} />`,
  multiple_choice: (p) => html`<${Choices} ...${p} many=${true} />`,
  boolean: (p) => html`<${Pair} ...${p} words=${[t("ui.yes"), t("ui.no")]} />`,
  consent: (p) => html`<${Pair} ...${p} words=${[t("fill.agree"), t("fill.disagree")]} />`,
  number: (p) => html`<${Numeric} ...${p} unit=${p.q.unit} />`,
  integer: (p) => html`<${Numeric} ...${p} unit=${p.q.unit} whole=${true} />`,
  quantity: (p) => html`<${Quantity} ...${p} />`,
  rating: (p) => html`<${Rating} ...${p} />`,
  rank: (p) => html`<${Rank} ...${p} />`,
  matrix: (p) => html`<${Matrix} ...${p} />`,
  date: (p) => html`<${Typed} ...${p} kind="date" />`,
  time: (p) => html`<${Typed} ...${p} kind="time" />`,
  datetime: (p) => html`<input id=${p.id} type="datetime-local" value=${local(p.value)} onInput=${(e) => p.set(e.target.value ? new Date(e.target.value).toISOString() : null)} />`,
  barcode: (p) => html`<${Typed} ...${p} kind="text" autocapitalize="off" />`,
  household_ref: (p) => html`<${Typed} ...${p} kind="text" placeholder="did:…" autocapitalize="off" />`,
  entity_ref: (p) => html`<${Typed} ...${p} kind="text" placeholder="did:…" autocapitalize="off" />`,
  geo: (p) => html`<${Geo} id=${p.id} value=${p.value} set=${p.set} around=${p.around} />`,
  text: (p) => html`<textarea id=${p.id} rows=${(p.def.validation?.maxLength || 0) > 120 ? 3 : 1} value=${p.value ?? ""} onInput=${(e) => p.set(e.target.value || null)}></textarea>`,
};
for (const type of ["photo", "audio", "file", "signature"]) inputs[type] = (p) => html`<${Media} ...${p} type=${type} />`;

const none = { noAnswer: "" };
const noAnswer = (v) => (v && typeof v === "object" && !Array.isArray(v) && "noAnswer" in v ? v : none).noAnswer;

/** What a group or a repeat asks, one under the other. */
export const Questions = ({ list, defs, values, at, put, env }) => html`${list.filter((q) => q.relevant).map((q) => html`<${Question} key=${q.id} q=${q} def=${defs?.find((d) => d.id === q.id) || {}} value=${values?.[q.id]} at=${at + "/" + q.id} set=${(v) => put(q.id, v)} env=${env} />`)}`;

const withMember = (record, name, v) => { const next = { ...(record || {}) }; if (isBlank(v)) delete next[name]; else next[name] = v; return next; };

/** Questions of an element with the options that are the same in all. */
const whole = (list, like) => list.map((q) => {
  const same = like?.find((x) => x.id === q.id);
  return { ...q, options: q.options || same?.options, rows: q.rows || same?.rows, ...(q.questions ? { questions: whole(q.questions, same?.questions) } : {}) };
});

function Repeat({ q, def, value, at, set, env }) {
  const list = Array.isArray(value) ? value : [];
  const change = (i, record) => set(list.map((x, j) => (j === i ? record : x)));
  return html`<div class="repeat">${list.map((record, i) => html`<fieldset key=${i} class="element"><legend>${q.label} ${i + 1}</legend>
      <${Questions} list=${whole(q.elements?.[i] || q.questions || [], q.questions)} defs=${def.questions} values=${record} at=${at + "/" + i} put=${(k, v) => change(i, withMember(record, k, v))} env=${env} />
      <button type="button" class="small" onClick=${() => set(list.filter((_, j) => j !== i))}>${t("fill.remove")}</button></fieldset>`)}
    <button type="button" disabled=${list.length >= (def.maxRepeats || 200)} onClick=${() => set([...list, {}])}>${t("fill.add")}</button></div>`;
}

/** A question with its words, its answer, and what is wrong with it. */
export function Question({ q, def, value, at, set, env }) {
  const id = "q" + at.replaceAll("/", "-"), wrong = env.wrong(at), nested = q.type === "group" || q.type === "repeat";
  if (q.type === "note") return html`<div class="question note"><p>${q.label}</p>${q.hint ? html`<p class="hint">${q.hint}</p>` : null}</div>`;
  if (q.type === "calculate") return q.answer === undefined || q.answer === null ? null : html`<div class="question"><p class="label">${q.label}: <strong>${String(q.answer)}</strong></p></div>`;
  const ask = inputs[q.type] || inputs.text, no = noAnswer(value), say = (word) => set(no === word ? null : { noAnswer: word });
  return html`<div class=${"question" + (wrong.length ? " wrong" : "")} data-at=${at}>
    <label class="label" for=${nested ? undefined : id}>${q.label}${q.required ? html` <span class="needed" title=${t("fill.required")}>*</span>` : null}</label>
    ${q.hint ? html`<p class="hint">${q.hint}</p>` : null}
    ${q.type === "group" ? html`<fieldset class="element"><${Questions} list=${q.questions || []} defs=${def.questions} values=${value} at=${at} put=${(k, v) => set(withMember(value, k, v))} env=${env} /></fieldset>`
      : q.type === "repeat" ? html`<${Repeat} q=${q} def=${def} value=${value} at=${at} set=${set} env=${env} />`
      : q.readOnly ? html`<p>${String(q.answer ?? value ?? "–")}</p>`
      : env.look && ["photo", "audio", "file", "signature"].includes(q.type) ? html`<p class="mute">${t("template.noMedia")}</p>`
      : no ? null : ask({ q, def, value, set, id, around: env.around, found: env.found })}
    ${def.dontKnow || def.refuse ? html`<div class="actions">${def.dontKnow ? html`<button type="button" class="small" aria-pressed=${no === "dont_know"} onClick=${() => say("dont_know")}>${t("fill.dontKnow")}</button>` : null}
      ${def.refuse ? html`<button type="button" class="small" aria-pressed=${no === "refused"} onClick=${() => say("refused")}>${t("fill.refused")}</button>` : null}</div>` : null}
    ${wrong.map((w) => html`<p key=${w.code} class="wrong-text" role="alert">${w.detail}</p>`)}</div>`;
}

export { isBlank, withMember };
