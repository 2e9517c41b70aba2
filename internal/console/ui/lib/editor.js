// @ts-check
// Changes to the draft of a template: words in each language, what is required,
// new questions. Everything else of it stays as it is.
import { html, useState } from "../vendor/preact.js";
import { t } from "./words.js";

const types = ["text", "integer", "number", "single_choice", "multiple_choice", "boolean", "date", "photo", "geo", "rating", "note"];

const wordsOf = (text, lang, first) => (typeof text === "string" ? (lang === first ? text : "") : text?.[lang] || "");

/** A text with other words in one language. */
function withWords(text, lang, first, words) {
  const next = typeof text === "string" ? { [first]: text } : { ...(text || {}) };
  if (words) next[lang] = words;
  else delete next[lang];
  return next;
}

/** An id of what somebody calls a question: a letter, then letters, digits and underscores. */
const idOf = (label) => label.toLowerCase().replace(/[^a-z0-9]+/g, "_").replace(/^[^a-z]+|_+$/g, "").slice(0, 40);

const optionsOf = (text) => text.split("\n").map((x) => x.trim()).filter(Boolean).map((x) => ({ value: idOf(x) || x, label: { en: x } }));

function Question({ q, lang, first, change, remove }) {
  return html`<li class="edit-question"><div class="edit-row"><label class="grow"><span class="sr">${t("template.label")} ${q.id}</span><input value=${wordsOf(q.label, lang, first)} placeholder=${q.id} onInput=${(e) => change({ ...q, label: withWords(q.label, lang, first, e.target.value) })} /></label>
    <span class="badge mute">${q.type}</span><code>${q.id}</code>
    <label class="choice-line"><input type="checkbox" disabled=${typeof q.required === "string"} checked=${q.required === true} onChange=${(e) => { const { required: _, ...rest } = q; change(e.target.checked ? { ...rest, required: true } : rest); }} /> ${t("template.required")}</label>
    <button type="button" class="small" onClick=${remove} aria-label=${t("fill.remove") + " " + q.id}>${t("fill.remove")}</button></div>
    ${q.relevant ? html`<p class="hint">${t("template.when")} <code>${q.relevant}</code></p>` : null}
    ${q.questions?.length ? html`<p class="hint">${t("template.nested", { n: q.questions.length })}</p>` : null}</li>`;
}

function Add({ lang, add, taken }) {
  const [label, say] = useState(""), [type, choose] = useState("text"), [options, list] = useState(""), id = idOf(label), choice = type.endsWith("_choice");
  const go = (e) => {
    e.preventDefault();
    add({ id, type, label: { [lang]: label.trim() }, ...(choice ? { options: optionsOf(options).map((o) => ({ ...o, label: { [lang]: o.label.en } })) } : {}) });
    say("");
    list("");
  };
  return html`<form class="edit-add" onSubmit=${go}><label class="field grow"><span>${t("template.new")}</span><input required value=${label} onInput=${(e) => say(e.target.value)} /></label>
    <label class="field"><span>${t("template.type")}</span><select value=${type} onChange=${(e) => choose(e.target.value)}>${types.map((x) => html`<option key=${x} value=${x}>${x.replaceAll("_", " ")}</option>`)}</select></label>
    ${choice ? html`<label class="field grow"><span>${t("template.options")}</span><textarea required rows="3" value=${options} onInput=${(e) => list(e.target.value)}></textarea></label>` : null}
    <button type="submit" disabled=${!id || taken.includes(id)}>${t("template.add")}</button>${taken.includes(id) ? html`<p class="wrong-text">${t("template.taken", { id })}</p>` : null}</form>`;
}

/** The sections of a draft; change gets the template as it is to be. */
export function Editor({ template, change }) {
  const first = template.defaultLanguage || "en", all = template.languages?.length ? template.languages : [first], [lang, choose] = useState(first);
  const put = (i, questions) => change({ ...template, sections: template.sections.map((s, j) => (j === i ? { ...s, questions } : s)) });
  return html`<div class="seg" role="group" aria-label=${t("fill.language")}>${all.map((l) => html`<button key=${l} type="button" aria-pressed=${l === lang} onClick=${() => choose(l)}>${l}</button>`)}</div>
    ${template.sections.map((s, i) => html`<section key=${s.id} class="edit-section" data-section=${s.id}><label class="field"><span>${t("template.section")} <code>${s.id}</code></span><input value=${wordsOf(s.title, lang, first)} onInput=${(e) => change({ ...template, sections: template.sections.map((x, j) => (j === i ? { ...x, title: withWords(x.title, lang, first, e.target.value) } : x)) })} /></label>
      <ul class="plain">${s.questions.map((q, n) => html`<${Question} key=${q.id} q=${q} lang=${lang} first=${first} change=${(next) => put(i, s.questions.map((x, m) => (m === n ? next : x)))} remove=${() => put(i, s.questions.filter((_, m) => m !== n))} />`)}</ul>
      <${Add} lang=${lang} taken=${s.questions.map((q) => q.id)} add=${(q) => put(i, [...s.questions, q])} /></section>`)}`;
}
