// @ts-check
// The words of the pages, one table a language. English is always there; another
// language is loaded when it is chosen.
import { signal } from "../vendor/preact.js";
import en from "../words/en.js";

export const languages = { en: "English", sw: "Kiswahili" };
const tables = { en };

/** What kinds of events mean, and what the server says in sentences, where it is not its own English. */
const happened = {}, sentences = {};

export const language = signal("en");

/** What a kind of event means in the language of the page, if that is known here. */
export const eventWords = (type) => happened[language.value]?.[type];

const filled = (text, fill) => text.replace(/\{(\w+)\}/g, (_, k) => (fill[k] ?? "").toString());

/** The words under a name, with {members} filled in. */
export function t(name, fill = {}) {
  const words = tables[language.value] || en, one = String(fill.n) === "1" ? name + ".one" : name;
  const text = words[one] ?? words[name] ?? en[name] ?? name;
  return filled(text, fill);
}

/** A sentence of the server in the language of the page, if that is known here. */
export function said(name, fill = {}) {
  const text = sentences[language.value]?.[name];
  return text && filled(text, fill);
}

/** Whether there are words under a name. */
export const has = (name) => name in en;

export async function choose(code) {
  if (!(code in languages)) return;
  if (code === "sw" && !tables.sw) [tables.sw, happened.sw, sentences.sw] = (await Promise.all([import("../words/sw.js"), import("../words/events_sw.js"), import("../words/server_sw.js")])).map((m) => m.default);
  language.value = code;
  document.documentElement.lang = code;
  keep("language", code);
}

/** Settings of this browser. It may refuse to keep them, which is no harm. */
export function keep(name, value) {
  try {
    localStorage.setItem("hearth." + name, value);
  } catch { /* private window */ }
}

export function kept(name) {
  try {
    return localStorage.getItem("hearth." + name);
  } catch {
    return null;
  }
}

/** The language chosen before, else the browser's. */
export const begin = () => choose(kept("language") || navigator.language.slice(0, 2));

const counts = new Intl.NumberFormat("en", { maximumFractionDigits: 20 });
/** A number as people read it, with every digit that the server gave. */
export const number = (n) => (typeof n === "number" ? counts.format(n) : "–");
