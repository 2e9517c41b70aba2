// @ts-check
// What speaks against interviews: flags of checks, and households that were asked
// again.
import { html, useState } from "../vendor/preact.js";
import { Dialog, useAct } from "./act.js";
import { call, may } from "./api.js";
import { List, Rows } from "./list.js";
import { useLabels } from "./labels.js";
import { Name } from "./names.js";
import { base, setQuery } from "./router.js";
import { flagText, ruleName } from "./said.js";
import { Settle, Settled } from "./settle.js";
import { Badge, Failure, Loaded, Time, useLoad } from "./ui.js";
import { t } from "./words.js";

const response = (r) => base + "/responses/" + encodeURIComponent(r.responseId);
const Percent = ({ of }) => (of?.compared ? html`${(100 * of.rate).toFixed(0)} % <span class="mute">(${of.errors}/${of.compared})</span>` : "–");

export function FlagList({ id, survey }) {
  const [turn, again] = useState(0), act = useAct(), [job, begun] = useState(/** @type {any} */ (null)), report = useLoad(() => call(`/v1/surveys/${id}/quality`), [id]), counts = Object.entries(report.data?.flags || {}).sort((a, b) => b[1] - a[1]);
  const run = () => act.run(async () => begun(await call(`/v1/surveys/${id}/quality/runs`, { method: "POST", body: {} })));
  const ran = report.data?.run;
  return html`<section class="card"><div class="card-head"><h2>${t("checks.flags")}</h2>${may("surveys:write") ? html`<button type="button" disabled=${act.busy} onClick=${run}>${t("checks.run")}</button>` : null}</div>
      <p class="mute">${ran ? html`${t("checks.ran", { n: ran.responses })} <${Time} at=${ran.finishedAt} />` : t("checks.neverRan")} ${job ? html`<a class="in-text" href=${base + "/jobs"} role="status">${t("checks.begun")}</a>` : null}</p><${Failure} error=${act.error} />
      <ul class="chips">${counts.map(([rule, n]) => html`<li key=${rule}><button type="button" class="small" onClick=${() => setQuery({ rule, cursor: "" })}>${ruleName(rule)} <strong>${n}</strong></button></li>`)}</ul></section>
    <${List} path=${`/v1/surveys/${id}/flags`} turn=${turn} id=${(f) => f.responseId + f.rule + (f.question || "")} href=${response}
      filters=${[{ key: "rule", label: t("checks.rule"), options: counts.map(([rule]) => ({ value: rule, label: ruleName(rule) })) }, { key: "collector", label: t("survey.collector"), options: (survey.collectors || []).map((c) => ({ value: c.did || c, label: c.name || c.did || c })) }]}
      columns=${[
        { label: t("checks.rule"), cell: (f) => ruleName(f.rule) }, { label: t("checks.detail"), cell: flagText }, { label: t("survey.collector"), cell: (f) => html`<${Name} did=${f.collector} />` },
        { label: t("survey.decision"), cell: (f) => html`<${Badge} value=${f.verification} />` }, { label: t("twin.when"), cell: (f) => html`<${Time} at=${f.at} />` },
        { label: t("settle.outcome"), cell: (f) => html`<div class="flag-end"><${Settled} of=${f.settled} /><${Settle} survey=${id} response=${f.responseId} flag=${f} done=${() => again((n) => n + 1)} /></div>` },
      ]} empty=${{ icon: "desk", title: t("checks.none"), text: t("checks.noneText") }} />`;
}

function Draw({ id, done }) {
  const act = useAct(), [seed, name] = useState(""), [share, part] = useState("10"), [least, few] = useState("1");
  return html`<${Dialog} label=${t("checks.draw")} primary=${true}>${(close) => html`<form class="form" onSubmit=${async (e) => {
      e.preventDefault();
      const r = await act.run(() => call(`/v1/surveys/${id}/back-checks:draw`, { method: "POST", body: { seed, share: Number(share) / 100, perCollector: Number(least) } }));
      if (r) { close(); done(r); }
    }}><p>${t("checks.drawText")}</p>
    <label class="field"><span>${t("checks.seed")}</span><input required maxlength="200" value=${seed} onInput=${(e) => name(e.target.value)} /></label>
    <label class="field"><span>${t("checks.share")}</span><input required type="number" min="1" max="100" value=${share} onInput=${(e) => part(e.target.value)} /></label>
    <label class="field"><span>${t("checks.least")}</span><input required type="number" min="0" max="100" value=${least} onInput=${(e) => few(e.target.value)} /></label>
    <${Failure} error=${act.error} /><div class="row-end"><button type="button" onClick=${close}>${t("ui.cancel")}</button><button type="submit" class="primary" disabled=${act.busy}>${t("checks.draw")}</button></div></form>`}</${Dialog}>`;
}

const classes = [1, 2, 3];

export function BackChecks({ id, survey }) {
  const [turn, again] = useState(0), say = useLabels(survey.templateId, survey.templateVersion), report = useLoad(() => call(`/v1/surveys/${id}/quality`), [id, turn]);
  const differ = (b) => (b.questions || []).filter((q) => q.match === false).map((q) => `${say.question(q.question.split("/").slice(2))} (${q.class})`).join(", ");
  return html`<section class="card"><div class="card-head"><h2>${t("checks.rates")}</h2>${may("responses:verify") || may("responses:check") ? html`<${Draw} id=${id} done=${() => again(turn + 1)} />` : null}</div>
      <p class="mute">${t("checks.classes")}</p><${Loaded} of=${report} rows=${3}>${(q) => html`<${Rows} items=${(q.collectors || []).filter((c) => c.backChecks)} id=${(c) => c.collector} columns=${[
        { label: t("survey.collector"), cell: (c) => html`<${Name} did=${c.collector} />` }, { label: t("checks.done"), cell: (c) => `${c.backChecks.done}/${c.backChecks.drawn}`, num: true },
        ...classes.map((n) => ({ label: t("checks.class", { n }), cell: (c) => html`<${Percent} of=${c.backChecks.classes?.find((x) => x.class === n)} />`, num: true })),
      ]} />`}</${Loaded}></section>
    <${List} path=${`/v1/surveys/${id}/back-checks`} turn=${turn} id=${(b) => b.backCheckId} href=${response} columns=${[
      { label: t("survey.id"), cell: (b) => html`<code>${b.responseId.slice(0, 8)}</code>` }, { label: t("survey.state"), cell: (b) => html`<${Badge} value=${b.state} />` }, { label: t("survey.collector"), cell: (b) => html`<${Name} did=${b.collector} />` },
      { label: t("checks.by"), cell: (b) => html`<${Name} did=${b.by} />` }, { label: t("checks.differ"), cell: (b) => (b.state === "done" ? differ(b) || t("checks.same") : "–") }, { label: t("checks.drawn"), cell: (b) => html`<${Time} at=${b.drawnAt} />` },
    ]} empty=${{ icon: "desk", title: t("checks.noDraw"), text: t("checks.noDrawText") }} />`;
}
