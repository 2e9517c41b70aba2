// @ts-check
import { html, useEffect, useState } from "../vendor/preact.js";
import { call, hasArea, may } from "../lib/api.js";
import { base, surveyHref, twinHref } from "../lib/router.js";
import * as live from "../lib/live.js";
import { Bar, Loaded, Page, Tile, Time, nameOf, useLoad } from "../lib/ui.js";
import { Sentence } from "../lib/events.js";
import { DemoNote, Start } from "../lib/start.js";
import { t } from "../lib/words.js";

/** What happened, the newest first; the same by the same person is one line. */
export function fold(events) {
  const seen = new Set(), out = [];
  for (const e of events) {
    if (seen.has(e.seq)) continue;
    seen.add(e.seq);
    const last = out[out.length - 1];
    const near = last && Math.abs(new Date(last.time).getTime() - new Date(e.time).getTime()) < 600000;
    if (near && last.type === e.type && last.actor === e.actor) last.more++;
    else out.push({ ...e, more: 0 });
  }
  return out;
}

function Feed() {
  const first = useLoad(() => live.begun.then(() => call("/v1/audit?limit=50")), []), [fresh, add] = useState(/** @type {any[]} */ ([]));
  useEffect(() => live.onEvent((e) => add((l) => [e, ...l].slice(0, 100))), []);
  return html`<${Loaded} of=${first}>${(data) => {
    const lines = fold([...fresh, ...data.items].sort((a, b) => b.seq - a.seq)).slice(0, 12);
    return lines.length ? html`<ol class="feed" aria-live="polite">${lines.map((e) => html`<li key=${e.seq}><span class=${"dot d-" + e.type.split(".")[0]}></span><div class="grow">
      <${Sentence} event=${e} />${e.more ? html` <span class="mute">${t("today.more", { n: e.more })}</span>` : null}</div>
      <span class="mute when"><${Time} at=${e.time} /></span></li>`)}</ol>` : html`<p class="mute">${t("today.quiet")}</p>`;
  }}</${Loaded}>`;
}

/** Adds up rows of counters: those with a key, or all. */
const total = (rows, key = "") => Object.values(rows || {}).reduce((n, by) => n + Object.entries(by).reduce((m, [k, v]) => m + (!key || k === key ? v : 0), 0), 0);

/** Whether there is nothing yet but the server's own twin. */
const isEmpty = (c) => c.twins && total(c.twins) <= (c.twins.oracle ? 1 : 0) && !total(c.responses);

const sum = (list, f) => (list || []).reduce((n, s) => n + (f(s) || 0), 0);

const asked = (s) => (s.progress?.completed || 0) + (s.progress?.partial || 0);

/** How many of the wanted interviews there are. A survey that wants no number has no part in it. */
function wanted(active) {
  const aimed = active.filter((s) => s.progress?.target), n = sum(aimed, (s) => s.progress.target);
  if (!n) return t("today.inActive");
  return aimed.length === active.length ? t("today.ofTarget", { n }) : t("today.someTarget", { done: sum(aimed, asked), n });
}

export default function Today() {
  const counts = useLoad(() => call("/v1/counts"), []);
  const surveys = useLoad(() => (hasArea("b") && may("surveys:read") ? call("/v1/surveys?status=active&limit=10") : { items: [] }), []);
  const projects = useLoad(() => (may("entities:read") ? call("/v1/entities?type=Project&limit=10&fields=did,type,status,properties,externalIds") : { items: [] }), []);
  const c = counts.data, again = () => [counts, surveys, projects].forEach((x) => x.reload());
  if (c && isEmpty(c)) return html`<${Start} done=${again} />`;
  const active = surveys.data?.items;
  return html`<${Page} title=${t("page.today")} about=${t("today.about")} curl="/v1/counts"><${DemoNote} done=${again} />
    <div class="tiles">
      <${Tile} label=${t("today.interviews")} value=${active && sum(active, asked)} small=${active ? wanted(active) : ""} href=${base + "/surveys"} />
      <${Tile} label=${t("today.waiting")} value=${c && total(c.responses, "pending")} small=${t("today.waitingSmall")} tone=${c && total(c.responses, "pending") ? "warn" : ""} href=${base + (may("responses:verify") ? "/desk" : "/surveys")} />
      <${Tile} label=${t("today.twins")} value=${c && total(c.twins)} small=${t("today.twinsSmall", { n: total(c?.twins, "active") })} href=${base + "/twins"} />
      <${Tile} label=${t("today.jobs")} value=${c && total(c.jobs, "running")} small=${t("today.jobsSmall", { n: total(c?.jobs, "failed") })} href=${base + "/jobs"} />
    </div>
    <div class="two uneven">
      <section class="card">
        <h2>${t("today.surveys")}</h2>
        <${Loaded} of=${surveys} rows=${3}>${(d) => (d.items.length ? d.items.map((s) => {
          const p = s.progress || {}, done = (p.completed || 0) + (p.partial || 0);
          return html`<a key=${s.surveyId} class="survey-line" href=${surveyHref(s.surveyId)}><span>${s.name || s.templateId}</span><${Bar} of=${p.target} label=${`${done} / ${p.target}`} parts=${[["good", p.verified], ["wait", Math.max(0, done - (p.verified || 0))]]} /><span class="num">${done}/${p.target ?? "–"}</span></a>`;
        }) : html`<p class="mute">${t("today.noSurveys")}</p>`)}</${Loaded}>
        <h2>${t("today.projects")}</h2>
        <${Loaded} of=${projects} rows=${3}>${(d) => (d.items.length ? html`<ul class="plain">${d.items.map((e) => html`<li key=${e.did}><a href=${twinHref(e.did)}>${nameOf(e)}</a></li>`)}</ul>` : html`<p class="mute">${t("today.noProjects")}</p>`)}</${Loaded}>
      </section>
      ${may("audit:read") && html`<section class="card"><div class="card-head"><h2>${t("today.activity")}</h2><span class=${"live " + live.state.value}>${t("live." + live.state.value)}</span></div><${Feed} /></section>`}
    </div>
  </${Page}>`;
}
