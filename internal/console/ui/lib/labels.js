// @ts-check
// The words of a template for ids of questions and values of options, in the
// language of the page.
import { signal, useEffect } from "../vendor/preact.js";
import { call, may } from "./api.js";
import { has, language, t as word } from "./words.js";

const known = signal(/** @type {Record<string, any>} */ ({})), asked = new Set();

/** A text of a template, which is a string or has one for each language. */
export const say = (text) => (typeof text === "string" ? text : text?.[language.value] || text?.en || Object.values(text || {})[0] || "");

const plain = (id) => String(id).replaceAll("_", " ");

const find = (list, path) => {
  const q = list?.find((x) => x.id === path[0]);
  return !q || path.length === 1 ? q : find(q.questions, path.slice(1));
};

/** A choice without a label, such as a fuel that every template knows by its code. */
const choice = (v) => (has("choice." + v) ? word("choice." + v) : plain(v));

const named = (list, v) => say(list?.find((o) => (typeof o === "string" ? o : o.value) === v)?.label);

/**
 * How a template calls things: section(id), question(path), option(path, value);
 * of(path), the question itself, and sorted(answers, path), their order. Before it is read, and for whoever may not,
 * ids are shown.
 */
export function useLabels(templateId, version) {
  const key = templateId + "/" + version, t = known.value[key];
  useEffect(() => {
    if (!templateId || !version || asked.has(key) || !may("templates:read")) return;
    asked.add(key);
    call(`/v1/templates/${encodeURIComponent(templateId)}/versions/${version}`).then((v) => { known.value = { ...known.value, [key]: v }; }, () => asked.delete(key));
  }, [key]);
  const at = ([section, ...path]) => find(t?.sections.find((s) => s.id === section)?.questions, path.filter((p) => !/^\d+$/.test(p)));
  return {
    title: say(t?.title),
    section: (id) => say(t?.sections.find((s) => s.id === id)?.title) || plain(id),
    question: (path) => say(at(path)?.label) || plain(path[path.length - 1]),
    of: (path) => at(path),
    // The members of answers in the order in which they were asked for.
    sorted: (answers, path) => {
      const list = (path.length > 1 ? at(path)?.questions : path.length ? t?.sections.find((s) => s.id === path[0])?.questions : t?.sections) || [];
      const place = (id) => { const i = list.findIndex((q) => q.id === id); return i < 0 ? list.length : i; };
      return Object.entries(answers).sort(([a], [b]) => place(a) - place(b));
    },
    option: (path, v) => named(at(path)?.options, v) || choice(v),
    row: (path, v) => named(at(path)?.rows, v) || plain(v),
  };
}
