// @ts-check
// What happened to a twin across the areas, newest first.
import { html } from "../vendor/preact.js";
import { call, didPath, query } from "./api.js";
import { Ending } from "./call.js";
import { base, route, twinHref } from "./router.js";
import { Name } from "./names.js";
import { Badge, Curl, Empty, Loaded, Time, useLoad } from "./ui.js";
import { SurveyName } from "../pages/surveys.js";
import { has, number, t } from "./words.js";

const word = (item) => (has("timeline.kind." + item.kind) ? t("timeline.kind." + item.kind) : item.kind);

/** What an item says, by its source; did is that of the twin. */
const sentences = {
  revisions: (i, did) => html`<a href=${twinHref(did) + "?tab=history&revision=" + i.id}>${t("timeline.revision", { n: i.id })}</a>: ${word(i)}${i.reason && html` (${i.reason})`}`,
  relationships: (i) => html`${word(i)}: ${i.direction === "in" ? "← " : "→ "}${i.role} <${Name} did=${i.other} />${i.reason && html` (${i.reason})`}`,
  interviews: (i) => html`<a href=${base + "/responses/" + encodeURIComponent(i.id)}>${t("timeline.interview")}</a>: <${SurveyName} id=${i.survey} /> <${Badge} value=${i.status} /> <${Badge} value=${i.verdict} />`,
  readings: (i) => html`<${Name} did=${i.other} />: ${t("timeline.day", { n: number(i.readings || 0), events: number(i.events || 0), minutes: number(i.cookingMinutes || 0) })}`,
  line: (i) => (i.kind === "call" ? html`<a href=${base + "/calls/" + encodeURIComponent(i.id)}>${word(i)}</a>: <${Name} did=${i.other} /> <${Ending} value=${i.status} />` : html`${word(i)}: <${Name} did=${i.other} />`),
};

function Item({ item, did }) {
  const say = sentences[item.source];
  return html`<li class=${"from-" + item.source}><span class="dot" aria-hidden="true"></span><div class="grow">${say ? say(item, did) : word(item)}
    <div class="mute"><${Time} at=${item.at} />${item.actor && html` · <${Name} did=${item.actor} />`}</div></div></li>`;
}

export function Timeline({ did }) {
  const { cursor, before } = route.value.query;
  const path = query(`/v1/entities/${didPath(did)}/timeline`, { before, cursor });
  const page = useLoad(() => call(path), [path]);
  const here = twinHref(did) + "?tab=timeline";
  return html`<section class="card timeline"><h2>${t("twin.tab.timeline")}</h2><${Loaded} of=${page}>${(d) => html`
    ${d.withheld?.length ? html`<p class="note">${t("timeline.withheld", { list: d.withheld.map((s) => t("timeline.source." + s)).join(", ") })}</p>` : null}
    ${d.items.length ? html`<ol class="feed">${d.items.map((i) => html`<${Item} key=${i.source + i.kind + i.id + (i.other || "") + i.at} item=${i} did=${did} />`)}</ol>` : html`<${Empty} icon="activity" title=${t("timeline.empty")} />`}
    <p class="pager">${cursor && html`<a class="button small" href=${here}>${t("timeline.newest")}</a>`} ${d.page.hasMore && html`<a class="button small" rel="next" href=${here + "&" + new URLSearchParams({ ...(before ? { before } : {}), cursor: d.page.nextCursor })}>${t("timeline.older")}</a>`}</p>`}</${Loaded}>
    <${Curl} path=${path} /></section>`;
}
