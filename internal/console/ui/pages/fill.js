// @ts-check
import { html, useEffect, useState } from "../vendor/preact.js";
import { call, didPath } from "../lib/api.js";
import { useAct } from "../lib/act.js";
import { Geo } from "../lib/capture.js";
import { begin, useInterview } from "../lib/filling.js";
import { Households } from "../lib/households.js";
import { Name } from "../lib/names.js";
import { Questions, withMember } from "../lib/question.js";
import { base, go, route, setQuery, surveyHref } from "../lib/router.js";
import { Bar, Empty, Failure, Loaded, Loading, Page, useLoad } from "../lib/ui.js";
import { language as words, t } from "../lib/words.js";
import { surveyName } from "./surveys.js";

const clock = (at) => { const d = new Date(at); return String(d.getHours()).padStart(2, "0") + ":" + String(d.getMinutes()).padStart(2, "0"); };

function Saved({ state }) {
  const text = state.failed ? t("fill.notSaved") : state.busy ? t("fill.saving") : state.saved && !state.waits ? t("fill.saved", { time: clock(state.saved) }) : t("fill.unsaved");
  return html`<span class=${"saved" + (state.failed ? " bad" : "")} role="status">${text}</span>`;
}

/** What is wrong below a pointer: all of it once somebody wants to go on. */
const under = (list, at) => (list || []).filter((p) => p.pointer === at || p.pointer.startsWith(at + "/"));

function Language({ one, of, change }) {
  return of.length < 2 ? null : html`<label class="language-of"><span class="sr">${t("fill.language")}</span><select value=${one} onChange=${(e) => change({ language: e.target.value })}>${of.map((l) => html`<option key=${l} value=${l}>${l}</option>`)}</select></label>`;
}

function Review({ view, sections, content, change, send, busy, jump, around, earlier }) {
  const [partial, allow] = useState(false), problems = [...view.errors, ...view.missing];
  const shown = problems.slice(0, 12), of = (s) => shown.filter((p) => p.pointer.split("/")[2] === s), rest = shown.filter((p) => !sections.some((s) => of(s.id).includes(p)));
  const question = (s, pointer) => s?.questions?.find((q) => q.id === pointer.split("/")[3])?.label;
  const List = ({ s, list }) => html`<ul class="problems">${list.map((p) => html`<li key=${p.pointer + p.code}><button type="button" class="link" onClick=${() => jump(p.pointer)}>${[question(s, p.pointer), p.detail].filter(Boolean).join(" – ")}</button></li>`)}</ul>`;
  return html`<section class="card form"><h2>${t("fill.review")}</h2>
    <p>${t("fill.answered", { n: view.answered, of: view.relevant })}</p>
    ${problems.length ? html`${sections.filter((s) => of(s.id).length).map((s) => html`<h3 key=${s.id}>${s.title || s.id}</h3>${List({ s, list: of(s.id) })}`)}${rest.length ? List({ s: null, list: rest }) : null}${problems.length > shown.length ? html`<p class="mute">${t("fill.moreOpen", { n: problems.length - shown.length })}</p>` : null}` : html`<p class="note good">${t("fill.complete")}</p>`}
    <h3>${t("fill.where")}</h3><${Geo} id="where" value=${content.location} set=${(v) => change({ location: v })} around=${around} />
    ${view.missing.length && !view.errors.length ? html`<label class="choice"><input type="checkbox" checked=${partial} onChange=${(e) => allow(e.target.checked)} /><span>${t("fill.partial")}</span></label>` : null}
    <button type="button" class="primary" disabled=${busy || view.errors.length || (view.missing.length && !partial)} onClick=${() => send(partial)}>${busy ? t("fill.sending") : t("fill.send")}</button>
    ${earlier ? html`<p class="note">${t("fill.earlier")} <button type="button" disabled=${busy} onClick=${() => send(partial, earlier)}>${t("fill.replace")}</button></p>` : null}</section>`;
}

/** That nobody could be interviewed: the visit counts, and the household is off the list or to be visited again. */
function NoInterview({ id, home, leave }) {
  const [outcome, choose] = useState("unreachable"), act = useAct();
  const note = async () => {
    if (await act.run(() => call(`/v1/surveys/${encodeURIComponent(id)}/households/${didPath(home)}/outcome`, { method: "POST", body: { outcome } }))) leave();
  };
  return html`<div class="no-interview"><label><span>${t("fill.noInterview")}</span><select value=${outcome} onChange=${(e) => choose(e.target.value)}>${["unreachable", "refused", "ineligible"].map((o) => html`<option key=${o} value=${o}>${t("fill.was." + o)}</option>`)}</select></label>
    <button type="button" class="small" disabled=${act.busy} onClick=${note}>${t("fill.note")}</button><${Failure} error=${act.error} /></div>`;
}

const Sent = ({ record, survey }) => html`<div class="empty sent"><h2>${t("fill.sent")}</h2><p>${t("fill.sentText")}</p>
  <p><a class="button primary" href=${base + "/interviews"}>${t("fill.next")}</a> <a class="button" href=${base + "/responses/" + encodeURIComponent(record.responseId)}>${t("fill.see")}</a></p><p class="mute">${surveyName(survey)} · <code>${record.responseId}</code></p></div>`;

function Interview({ id, first, asked }) {
  const it = useInterview(id, first, asked.response), { content, view, change } = it;
  const [tried, note] = useState({}), [found, tell] = useState(false), [home, know] = useState(/** @type {any} */ (null));
  useEffect(() => { call(`/v1/surveys/${encodeURIComponent(id)}/households/${didPath(content.householdId)}`).then(know, () => {}); }, []);
  if (it.sent) return html`<${Sent} record=${it.sent} survey=${first.survey} />`;
  if (!view) return html`<${Failure} error=${it.error} />${it.error ? null : html`<${Loading} rows=${8} />`}`;
  const sections = view.sections.filter((s) => s.relevant), steps = [...sections.map((s) => s.id), ":review"];
  const at = Math.max(0, steps.indexOf(content.section || steps[0])), section = sections[at], place = home?.location || content.location;
  const step = (to) => { change({ section: steps[to] }); scrollTo(0, 0); document.getElementById("main")?.focus({ preventScroll: true }); };
  const jump = (pointer) => { note({ ...tried, [pointer.split("/")[2]]: true }); step(Math.max(0, steps.indexOf(pointer.split("/")[2]))); };
  const open = section ? [...under(view.errors, "/responses/" + section.id), ...under(view.missing, "/responses/" + section.id)] : [];
  const env = {
    around: place, found: (p) => { if (!content.location) { change({ location: p }); tell(true); } },
    wrong: (pointer) => { const own = (list) => list.filter((p) => p.pointer === pointer || (p.pointer.startsWith(pointer + "/") && !/^\d/.test(p.pointer.slice(pointer.length + 1)) && p.code !== "required")); return [...own(view.errors), ...(tried[section?.id] ? view.missing.filter((p) => p.pointer === pointer) : [])]; },
  };
  const next = () => {
    if (!open.length || tried[section.id]) { step(at + 1); return; }
    note({ ...tried, [section.id]: true });
    document.querySelector(`[data-at="${CSS.escape(open[0].pointer)}"]`)?.scrollIntoView({ block: "center" });
  };
  const put = (q, v) => change({ responses: { ...content.responses, [section.id]: withMember(content.responses[section.id], q, v) } });
  const leave = async () => { await it.discard(); go("/interviews"); };
  return html`<div class="fill-top"><${Bar} of=${steps.length} parts=${[["good", at + 1]]} label=${t("fill.step", { n: at + 1, of: steps.length })} /><span class="mute">${t("fill.step", { n: at + 1, of: steps.length })}</span><${Saved} state=${it.state} /></div>
    <${Failure} error=${it.error} />${found ? html`<p class="note" role="status">${t("fill.placeFound")}</p>` : null}
    ${section ? html`<section class="card fill" data-section=${section.id}><h2>${section.title || section.id}</h2>${section.hint ? html`<p class="mute">${section.hint}</p>` : null}
      <${Questions} list=${section.questions} defs=${first.template.sections.find((s) => s.id === section.id)?.questions} values=${content.responses[section.id]} at=${"/responses/" + section.id} put=${put} env=${env} />
      ${open.length && tried[section.id] ? html`<p class="note">${t("fill.open", { n: open.length })}</p>` : null}</section>`
      : html`<${Review} view=${view} sections=${sections} content=${content} change=${change} send=${it.send} busy=${it.busy} jump=${jump} around=${place} earlier=${it.error?.code === "DUPLICATE_HOUSEHOLD_RESPONSE" ? it.error.body?.existing?.responseId : ""} />`}
    <div class="fill-nav"><button type="button" disabled=${!at} onClick=${() => step(at - 1)}>${t("fill.back")}</button>${section ? html`<button type="button" class="primary" onClick=${next}>${open.length && tried[section.id] ? t("fill.anyway") : t("fill.on")}</button>` : null}</div>
    <details class="more"><summary>${t("fill.about")}</summary><p>${t("fill.online")}</p><${NoInterview} id=${id} home=${content.householdId} leave=${leave} />
      <${Language} one=${view.language} of=${first.template.languages || []} change=${change} /> <button type="button" class="small" onClick=${leave}>${t("fill.discard")}</button></details>`;
}

export default function Fill({ id }) {
  const asked = route.value.query, [key] = useState(asked.response);
  const start = useLoad(async () => {
    const one = await begin(id, asked), known = one.template.languages || [];
    if (!one.content.language && known.includes(words.value)) one.content.language = words.value;
    return one;
  }, [id, key, asked.household || ""]);
  return html`<${Loaded} of=${start} rows=${8}>${(one) => html`<div class="phone-page"><${Page} title=${surveyName(one.survey)} crumb=${html`<a href=${base + "/interviews"}>${t("page.interviews")}</a> / <a href=${surveyHref(id)}>${surveyName(one.survey)}</a>`}
      about=${one.content.householdId ? html`${t("survey.household")}: <${Name} did=${one.content.householdId} link=${false} />` : t("fill.whom")} curl=${`/v1/templates/${encodeURIComponent(one.survey.templateId)}/versions/${one.survey.templateVersion}`}>
    ${one.survey.status !== "active" && !one.sent ? html`<${Empty} icon="alert" title=${t("fill.closed")}><p>${t("fill.closedText")}</p></${Empty}>`
      : one.content.householdId || one.sent ? html`<${Interview} id=${id} first=${one} asked=${asked} />` : html`<${Households} id=${id} pick=${(did) => setQuery({ household: did })} />`}</${Page}></div>`}</${Loaded}>`;
}
