// @ts-check
// A survey in the making: what is asked, of whom, by whom and until when. It stays a
// draft until somebody starts it on its page.
import { html, useState } from "../vendor/preact.js";
import { call, may, query } from "../lib/api.js";
import { useAct, useOnce } from "../lib/act.js";
import { PickCollectors, sent } from "../lib/collectors.js";
import { modes as ways } from "../lib/modes.js";
import { base, go, route } from "../lib/router.js";
import { Curl, Failure, Page, nameOf, useLoad } from "../lib/ui.js";
import { language, t } from "../lib/words.js";

const types = { baseline: "BaselineSurvey", "follow-up": "FollowUpSurvey", monitoring: "MonitoringSurvey" };
const methods = ["simple_random", "systematic", "stratified", "quota", "convenience"];
const usual = { name: "", projectId: "", stage: "baseline", templateId: "", whom: "sample", method: "simple_random", size: "", confidence: "90", strata: "", from: "", until: "" };

const words = (text) => (typeof text === "string" ? text : text?.[language.value] || text?.en || Object.values(text || {})[0] || "");
/** A day of the calendar as a moment; the last day of a window is part of it. */
const moment = (day, time) => (day ? new Date(day + time).toISOString() : undefined);

/** Strata as people type them: a name on each line, and its households if they are known. */
const strataOf = (text) => text.split("\n").map((l) => l.trim()).filter(Boolean).map((l) => {
  const m = /^(.*?)[\s,;:]+([\d ]+)$/.exec(l);
  return m ? { name: m[1].trim(), population: Number(m[2].replaceAll(" ", "")) } : { name: l };
});

/** The sampling that a form means. */
function samplingOf(d) {
  if (d.whom === "census") return { method: "census" };
  const out = { method: d.whom === "open" ? "convenience" : d.method, size: d.size ? Number(d.size) : undefined, confidence: d.confidence ? +(Number(d.confidence) / 100).toFixed(6) : undefined };
  if (d.whom === "open") return { ...out, enrolment: "open" };
  return d.method === "stratified" || d.method === "quota" ? { ...out, strata: strataOf(d.strata) } : out;
}

/** The draft that a form means. */
function draftOf(d, sections, modes, collectors) {
  const window = d.from || d.until ? { start: moment(d.from, "T00:00:00"), end: moment(d.until, "T23:59:59") } : undefined;
  return {
    name: d.name.trim() || undefined, type: types[d.stage], projectId: d.projectId, templateId: d.templateId || undefined, sections, sampling: samplingOf(d), modes,
    collectors: collectors.length ? sent(collectors) : undefined, window,
  };
}

const Field = ({ label, hint = "", children }) => html`<label class="field"><span>${label}</span>${children}${hint && html`<span class="hint">${hint}</span>`}</label>`;

/** The parts of a template that can be left out; those without a flag are always asked. */
function Sections({ template, left, leave }) {
  return html`<fieldset class="element"><legend>${t("surveynew.sections")}</legend>
    ${template.sections.map((s) => html`<label key=${s.id} class="choice-line"><input type="checkbox" name="section" value=${s.id} disabled=${!s.flag} checked=${!left.includes(s.id)} onChange=${(e) => leave(e.target.checked ? left.filter((x) => x !== s.id) : [...left, s.id])} /> ${words(s.title) || s.id}</label>`)}</fieldset>`;
}

function Whom({ d, put }) {
  const strata = d.method === "stratified" || d.method === "quota";
  return html`<fieldset class="element"><legend>${t("surveynew.whom")}</legend>
    ${["sample", "census", "open"].map((w) => html`<label key=${w} class="choice-line"><input type="radio" name="whom" value=${w} checked=${d.whom === w} onChange=${put("whom")} /> ${t("surveynew.whom." + w)}</label>`)}
    ${d.whom === "census" ? null : html`<div class="row">${d.whom === "sample" && html`<${Field} label=${t("samples.method")}><select id="method" value=${d.method} onChange=${put("method")}>${methods.map((m) => html`<option key=${m} value=${m}>${t("samples.method." + m)}</option>`)}</select></${Field}>`}
      <${Field} label=${t("surveynew.size")}><input id="size" type="number" min="1" required value=${d.size} onInput=${put("size")} /></${Field}>
      <${Field} label=${t("samplenew.confidence")}><input id="confidence" type="number" step="any" min="50.01" max="99.99" value=${d.confidence} onInput=${put("confidence")} /></${Field}></div>`}
    ${d.whom === "sample" && strata ? html`<${Field} label=${t("samplenew.strata")}><textarea id="strata" rows="3" required placeholder=${t("samplenew.strataHint")} value=${d.strata} onInput=${put("strata")}></textarea></${Field}>` : null}
    ${d.whom === "sample" ? html`<p class="mute">${t("surveynew.draw")}</p>` : null}</fieldset>`;
}

export default function NewSurvey() {
  const asked = route.value.query;
  const [d, set] = useState({ ...usual, ...(types[asked.stage] ? { stage: asked.stage } : {}), projectId: asked.projectId || "" });
  const [left, leave] = useState(/** @type {string[]} */ ([])), [modes, ask] = useState(["visit"]), [collectors, choose] = useState(/** @type {any[]} */ ([]));
  const projects = useLoad(() => (may("entities:read") ? call("/v1/entities?type=Project&limit=100&fields=did,type,properties,metadata,externalIds") : { items: [] }), []);
  const templates = useLoad(() => (may("templates:read") ? call(query("/v1/templates", { stage: d.stage, status: "published", limit: 100 })) : { items: [] }), [d.stage]);
  const list = projects.data?.items || [], forms = templates.data?.items || [];
  const full = { ...d, projectId: d.projectId || list[0]?.did || "", templateId: d.templateId || forms[0]?.templateId || "" };
  const template = useLoad(() => (full.templateId && may("templates:read") ? call("/v1/templates/" + encodeURIComponent(full.templateId)) : null), [full.templateId]);
  const put = (key) => (e) => set((old) => ({ ...old, [key]: e.target.value, ...(key === "stage" ? { templateId: "" } : {}) }));
  const whole = !template.data || !left.length, sections = whole ? undefined : template.data.sections.map((s) => s.id).filter((s) => !left.includes(s));
  const draft = draftOf(full, sections, ways.filter((m) => modes.includes(m)), collectors), act = useAct(), once = useOnce();
  const keep = async (e) => {
    e.preventDefault();
    const made = await act.run(() => call("/v1/surveys", { method: "POST", body: draft, headers: once.headers() }));
    if (made) go("/surveys/" + encodeURIComponent(made.surveyId)); else once.renew();
  };
  return html`<${Page} title=${t("surveynew.title")} about=${t("surveynew.about")} crumb=${html`<a href=${base + "/surveys"}>${t("page.surveys")}</a>`}>
    <form class="card form" onSubmit=${keep}>
      <${Field} label=${t("samplenew.name")}><input id="name" maxlength="200" required value=${d.name} onInput=${put("name")} /></${Field}>
      <div class="row"><${Field} label=${t("samples.project")}>${list.length ? html`<select id="projectId" value=${full.projectId} onChange=${put("projectId")}>${list.map((p) => html`<option key=${p.did} value=${p.did}>${nameOf(p)}</option>`)}</select>`
        : html`<input id="projectId" required placeholder="did:…" value=${d.projectId} onInput=${put("projectId")} />`}</${Field}>
        <${Field} label=${t("surveynew.stage")}><select id="stage" value=${d.stage} onChange=${put("stage")}>${Object.keys(types).map((s) => html`<option key=${s} value=${s}>${t("stage." + s)}</option>`)}</select></${Field}>
        <${Field} label=${t("surveynew.template")}>${forms.length ? html`<select id="templateId" value=${full.templateId} onChange=${(e) => { leave([]); put("templateId")(e); }}>${forms.map((f) => html`<option key=${f.templateId} value=${f.templateId}>${words(f.title) || f.templateId}</option>`)}</select>`
          : html`<input id="templateId" required value=${d.templateId} onInput=${put("templateId")} />`}</${Field}></div>
      ${template.data?.sections ? html`<${Sections} template=${template.data} left=${left} leave=${leave} />` : null}
      <${Whom} d=${d} put=${put} />
      <fieldset class="element"><legend>${t("modes.title")}</legend>${ways.map((m) => html`<label key=${m} class="choice-line"><input type="checkbox" name="mode" value=${m} checked=${modes.includes(m)} onChange=${(e) => ask(e.target.checked ? [...modes, m] : modes.filter((x) => x !== m))} /> ${t("mode." + m)}</label>`)}</fieldset>
      <${PickCollectors} chosen=${collectors} set=${choose} />
      <div class="row"><${Field} label=${t("surveynew.from")}><input id="from" type="date" value=${d.from} onInput=${put("from")} /></${Field}><${Field} label=${t("surveynew.until")}><input id="until" type="date" min=${d.from} value=${d.until} onInput=${put("until")} /></${Field}></div>
      <${Failure} error=${act.error} /><div class="row-end"><button type="submit" class="primary" disabled=${act.busy || !modes.length}>${t("surveynew.keep")}</button></div></form>
    <${Curl} path="/v1/surveys" body=${draft} /></${Page}>`;
}
