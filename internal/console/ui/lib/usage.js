// @ts-check
// What the devices of a twin saw day by day, as the server sums it up: cooking
// events and how long they took.
import { html } from "../vendor/preact.js";
import { call, didPath } from "./api.js";
import { Days } from "./charts.js";
import { Name } from "./names.js";
import { twinHref } from "./router.js";
import { useLoad } from "./ui.js";
import { number, t } from "./words.js";

const most = 3; // devices that are drawn

/** Nothing where there are no readings: most twins have none. */
export function Usage({ did }) {
  const line = useLoad(() => call(`/v1/entities/${didPath(did)}/timeline?limit=200`), [did]), by = new Map();
  for (const i of line.data?.items || []) {
    if (i.source === "readings") by.set(i.other, [i, ...(by.get(i.other) || [])]); // the oldest first
  }
  if (!by.size) return null;
  const series = (days, of) => days.map((d) => ({ day: d.id, n: d[of] || 0 }));
  return html`<section class="card usage"><div class="card-head"><h2>${t("usage.title")}</h2><a href=${twinHref(did) + "?tab=timeline"}>${t("twin.tab.timeline")}</a></div>
    ${[...by].slice(0, most).map(([device, days]) => html`<div key=${device}>${device === did ? null : html`<h3><${Name} did=${device} /></h3>`}
      <div class="usage-pair"><div><p class="mute">${t("usage.events")}</p><${Days} days=${series(days, "events")} label=${t("usage.events")} width=${330} /></div>
        <div><p class="mute">${t("usage.minutes")}</p><${Days} days=${series(days, "cookingMinutes")} label=${t("usage.minutes")} width=${330} /></div></div></div>`)}
    ${by.size > most ? html`<p class="mute">${t("usage.more", { n: number(by.size - most) })}</p>` : null}</section>`;
}
