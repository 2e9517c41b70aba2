// @ts-check
import { html } from "../vendor/preact.js";
import { call, may } from "../lib/api.js";
import { base, route, surveyHref } from "../lib/router.js";
import { Days, Quotas } from "../lib/charts.js";
import { Assignments } from "../lib/assign.js";
import { BackChecks, FlagList } from "../lib/checks.js";
import { Collectors } from "../lib/collectors.js";
import { Conflicts } from "../lib/conflicts.js";
import { Figures } from "../lib/figures.js";
import { Modes } from "../lib/modes.js";
import { Proposals } from "../lib/proposals.js";
import { Rows } from "../lib/list.js";
import { Sensors } from "../lib/sensors.js";
import { Steps } from "../lib/steps.js";
import { Submissions } from "../lib/submissions.js";
import { Name } from "../lib/names.js";
import { Badge, Id, Loaded, Page, Tile, Time, useLoad } from "../lib/ui.js";
import { has, t } from "../lib/words.js";
import { surveyName } from "./surveys.js";

function Overview({ id }) {
  const progress = useLoad(() => call(`/v1/surveys/${id}/progress`), [id]), quality = useLoad(() => call(`/v1/surveys/${id}/quality`), [id]);
  const p = progress.data;
  return html`
    <div class="tiles">
      <${Tile} label=${t("survey.interviews")} value=${p && p.completed + p.partial} small=${p && !p.target ? t("survey.everybody") : t("survey.wanted", { n: p?.target ?? "…" })} />
      <${Tile} label=${t("surveys.verified")} value=${p?.verified} small=${t("survey.decide", { n: p ? Math.max(0, p.completed + p.partial - p.verified - p.rejected) : "…" })} />
      <${Tile} label=${t("survey.refused")} value=${p && p.refused + p.unreachable} small=${t("survey.refusedSmall", { n: p?.contacted ?? "…" })} />
      <${Tile} label=${t("survey.flags")} value=${p?.flagged} small=${t("survey.flagsSmall")} tone=${p?.flagged ? "warn" : ""} />
    </div>
    <div class="two">
      <section class="card"><h2>${t("survey.quotas")}</h2><${Loaded} of=${progress} rows=${4}>${(d) => {
        const rows = Object.entries(d.byStratum || {}).sort().map(([name, c]) => ({ name, ...c, target: c.target || c.drawn, listed: !c.target }));
        return rows.length ? html`<${Quotas} rows=${rows} />` : html`<p class="mute">${t("survey.noStrata")}</p>`;
      }}</${Loaded}></section>
      <section class="card"><h2>${t("survey.days")}</h2><${Loaded} of=${progress} rows=${4}>${(d) => html`<${Days} label=${t("survey.days")} days=${(d.days || []).map((x) => ({ day: x.day, n: x.completed + x.partial }))} />`}</${Loaded}></section>
    </div>
    <section class="card"><h2>${t("survey.collectors")}</h2><${Loaded} of=${quality} rows=${3}>${(q) => (q.collectors?.length ? html`<${Rows} items=${q.collectors} id=${(c) => c.collector} columns=${[
      { label: t("survey.collector"), cell: (c) => (c.collector.startsWith("did:") ? html`<${Name} did=${c.collector} />` : html`<${Id} value=${c.collector} />`) },
      { label: t("survey.interviews"), cell: (c) => c.interviews, num: true }, { label: t("surveys.verified"), cell: (c) => c.verified, num: true },
      { label: t("survey.rejected"), cell: (c) => c.rejected, num: true }, { label: t("surveys.flagged"), cell: (c) => c.flagged, num: true },
      { label: t("survey.minutes"), cell: (c) => (c.duration?.medianSeconds ? (c.duration.medianSeconds / 60).toFixed(0) : "–"), num: true },
    ]} />` : html`<p class="mute">${t("survey.noCollectors")}</p>`)}</${Loaded}></section>`;
}

const tabs = { overview: Overview, figures: Figures, sensors: Sensors, interviews: Submissions, households: Assignments, backchecks: BackChecks, flags: FlagList, conflicts: Conflicts, twins: Proposals };

export default function Survey({ id }) {
  const one = useLoad(() => call("/v1/surveys/" + encodeURIComponent(id)), [id]);
  const tab = route.value.query.tab in tabs ? route.value.query.tab : "overview", Tab = tabs[tab];
  return html`<${Loaded} of=${one} rows=${8}>${(s) => html`<${Page} title=${surveyName(s)} actions=${html`<${Modes} s=${s} done=${one.reload} /><${Collectors} s=${s} done=${one.reload} /><${Steps} s=${s} done=${one.reload} />`} crumb=${html`<a href=${base + "/surveys"}>${t("page.surveys")}</a> / ${s.templateId}`} curl=${tab === "overview" ? `/v1/surveys/${id}/progress` : null}
      about=${html`<${Badge} value=${s.status} /> ${t("survey.round", { n: s.round })}${s.modes?.length ? " · " + t("mode.asked", { how: s.modes.map((m) => t("mode." + m)).join(", ") }) : ""}${s.sampling?.size ? " · " + t(s.sampling.confidence ? "survey.sample" : "survey.plainSample", { n: s.sampling.size, method: has("samples.method." + s.sampling.method) ? t("samples.method." + s.sampling.method) : s.sampling.method || "", confidence: +(100 * (s.sampling.confidence || 0)).toFixed(4) }) : ""}${s.sampling?.draw && may("sampling:read") ? html` · <a href=${base + "/sampling/" + encodeURIComponent(s.sampling.designId)}>${t("survey.drawn")}</a>` : null}`}>
    <nav class="tabs" aria-label=${surveyName(s)}>${Object.keys(tabs).filter((x) => x !== "conflicts" || may("responses:read")).filter((x) => x !== "twins" || s.entityLists?.length && may("entities:read") && may("responses:pii")).map((x) => html`<a key=${x} href=${surveyHref(id) + (x === "overview" ? "" : "?tab=" + x)} aria-current=${x === tab ? "page" : undefined}>${t("survey.tab." + x)}</a>`)}</nav>
    <${Tab} id=${encodeURIComponent(id)} survey=${s} /></${Page}>`}</${Loaded}>`;
}
