// @ts-check
// Figures as the server computed them, drawn: nothing is counted here.
import { html, useRef } from "../vendor/preact.js";
import { Bar, useWidth } from "./ui.js";
import { t } from "./words.js";

/** What a stratum has against what is wanted of it, in parts. */
export function Quotas({ rows }) {
  return html`<div class="quotas" role="list">${rows.map((r) => {
    const waiting = Math.max(0, r.completed + r.partial - r.verified - r.rejected);
    const rest = Math.max(0, r.target - r.completed - r.partial - r.refused);
    const label = t("survey.quota", { name: r.name, verified: r.verified, waiting, rejected: r.rejected, refused: r.refused, rest });
    return html`<div role="listitem" key=${r.name}><div class="q-head"><strong>${r.name}</strong><span>${r.completed + r.partial} <span class="mute">${t(r.listed ? "survey.ofListed" : "survey.wanted", { n: r.target })}</span></span></div>
      <${Bar} of=${r.target} label=${label} parts=${[["good", r.verified], ["wait", waiting], ["bad", r.rejected], ["ref", r.refused]]} /></div>`;
  })}</div>
  <div class="legend"><span><i class="good"></i>${t("survey.legend.verified")}</span><span><i class="wait"></i>${t("survey.legend.waiting")}</span><span><i class="bad"></i>${t("survey.legend.rejected")}</span><span><i class="ref"></i>${t("survey.legend.refused")}</span><span><i></i>${t("survey.legend.rest")}</span></div>`;
}

/** A number a day, as bars; days without one are gaps. days are {day, n}, the oldest first. */
export function Days({ days, label, width = 640 }) {
  const svg = useRef(/** @type {any} */ (null)), W = useWidth(svg, width); // letters keep their size
  const at = (d) => Math.round((Date.parse(d.day) - Date.parse(days[0].day)) / 86400000), span = days.length ? at(days[days.length - 1]) + 1 : 1;
  const H = 140, most = Math.max(1, ...days.map((d) => d.n)), w = Math.min(48, (W - 30) / span);
  return html`<figure class="chart curve"><svg ref=${svg} viewBox=${`0 0 ${W} ${H}`} role="img" aria-label=${label + ": " + days.map((d) => `${d.day} ${d.n}`).join(", ")}>
    <text x="0" y="12">${most}</text>
    ${days.map((d) => html`<rect key=${d.day} x=${30 + at(d) * w} y=${H - 22 - ((H - 36) * d.n) / most} width=${Math.max(1, w - 2)} height=${((H - 36) * d.n) / most}><title>${d.day}: ${d.n}</title></rect>`)}
    ${days.length ? html`<text x="30" y=${H - 6}>${days[0].day}</text><text x=${Math.min(W, 30 + span * w)} y=${H - 6} text-anchor="end">${days.length > 3 ? days[days.length - 1].day : ""}</text>` : null}</svg></figure>`;
}
