// @ts-check
import { html } from "../vendor/preact.js";
import { call } from "../lib/api.js";
import { base } from "../lib/router.js";
import { Ending, Save } from "../lib/call.js";
import { Loaded, Page, Time, useLoad } from "../lib/ui.js";
import { t } from "../lib/words.js";

/** When a step came: seconds since the call began. */
const after = (ms) => "+" + (ms / 1000).toFixed(ms < 10000 ? 1 : 0) + " s";

const Step = ({ step, first, code }) => html`<li><p class="typed">${first ? html`${t("handset.dialled")} <kbd>${code}</kbd>` : html`<kbd>${step.input || " "}</kbd>`}</p>
  <a href=${`${base}/menu?node=${encodeURIComponent(step.node)}`}><code>${step.node}</code></a><p class="mute small">${after(step.afterMs)} · ${step.ms} ms</p></li>`;

export default function Call({ id }) {
  const path = "/v1/ussd/calls/" + encodeURIComponent(id), one = useLoad(() => call(path), [id]);
  const c = one.data;
  return html`<${Page} title=${c ? c.phoneNumber : t("page.call")} crumb=${html`<a href=${base + "/calls"}>${t("page.calls")}</a>`} about=${t("call.about")} curl=${path}
    actions=${c && html`<${Save} name=${"call-" + c.id.slice(0, 6)} text=${c.dialog} />`}>
    <${Loaded} of=${one} rows=${6}>${(d) => html`<section class="card"><p><${Ending} value=${d.ending} />${d.simulated ? html` <span class="badge mute">${t("calls.sim")}</span>` : null} ${d.serviceCode} · <code>${d.menu}</code> · ${d.language}${d.gateway ? " · " + d.gateway : ""} · <${Time} at=${d.endedAt} /></p>
      ${d.withheld && html`<p class="mute">${t("call.withheld")}</p>`}
      <ol class="strip">${d.steps.map((s, i) => html`<${Step} key=${i} step=${s} first=${i === 0} code=${d.serviceCode} />`)}</ol></section>
      <section class="card"><h2>${t("call.dialog")}</h2><pre class="said" tabindex="0">${d.dialog}</pre></section>`}</${Loaded}></${Page}>`;
}
