// @ts-check
// A template as a phone shows it: language, skip logic and what is wrong, as the
// server says. Nothing is stored.
import { html, useEffect, useState } from "../vendor/preact.js";
import { call, isStale } from "./api.js";
import { Questions, withMember } from "./question.js";
import { Failure, Loading } from "./ui.js";
import { language, t } from "./words.js";

export function Preview({ template, turn = 0 }) {
  const all = template.languages?.length ? template.languages : [template.defaultLanguage || "en"];
  const [lang, choose] = useState(all.includes(language.value) ? language.value : all[0]), [answers, set] = useState(/** @type {any} */ ({})), [view, see] = useState(/** @type {any} */ (null)), [error, fail] = useState(/** @type {any} */ (null));
  useEffect(() => {
    const wait = setTimeout(() => call(`/v1/templates/${encodeURIComponent(template.templateId)}/preview`, { method: "POST", name: "preview", body: { version: template.version, language: lang, answers } })
      .then((v) => { see(v); fail(null); }, (e) => isStale(e) || fail(e)), view ? 150 : 0);
    return () => clearTimeout(wait);
  }, [answers, lang, template.version, turn]);
  const env = { look: true, wrong: (at) => view.errors.filter((p) => p.pointer === at) };
  return html`<div class="handy"><div class="handy-top"><div class="seg" role="group" aria-label=${t("fill.language")}>${all.map((l) => html`<button key=${l} type="button" aria-pressed=${l === lang} onClick=${() => choose(l)}>${l}</button>`)}</div>
      ${view ? html`<span class="mute" role="status">${t("fill.answered", { n: view.answered, of: view.relevant })}</span>` : null}</div><${Failure} error=${error} />
    ${view ? view.sections.filter((s) => s.relevant).map((s) => html`<section key=${s.id} class="fill" data-section=${s.id}><h3>${s.title || s.id}</h3>${s.hint ? html`<p class="mute">${s.hint}</p>` : null}
      <${Questions} list=${s.questions} defs=${template.sections.find((x) => x.id === s.id)?.questions} values=${answers[s.id]} at=${"/responses/" + s.id} put=${(q, v) => set({ ...answers, [s.id]: withMember(answers[s.id], q, v) })} env=${env} /></section>`) : error ? null : html`<${Loading} rows=${6} />`}</div>`;
}
