// @ts-check
import { html, useEffect } from "../vendor/preact.js";
import { call } from "../lib/api.js";
import { base } from "../lib/router.js";
import { Rows } from "../lib/list.js";
import { Name } from "../lib/names.js";
import { Badge, Failure, Id, Loaded, Page, Tile, Time, useLoad } from "../lib/ui.js";
import { t } from "../lib/words.js";
import { lasted, tokens, took } from "./runs.js";

export default function Run({ id }) {
  const path = "/v1/oracle/runs/" + encodeURIComponent(id), one = useLoad(() => call(path), [id]), live = !!one.data && !one.data.endedAt;
  useEffect(() => {
    if (!live) return undefined;
    const tick = setInterval(one.reload, 2000); // a run tells no event
    return () => clearInterval(tick);
  }, [live]);
  return html`<${Loaded} of=${one} rows=${6}>${(r) => html`<${Page} title=${t("page.run")} crumb=${html`<a href=${base + "/runs"}>${t("page.runs")}</a> / <${Id} value=${r.runId} />`} curl=${path}
      about=${html`<${Badge} value=${r.status} /> <${Time} at=${r.startedAt} /> · ${t("runs.by")} <${Name} did=${r.by} />`}
      actions=${r.mine && html`<a class="button" href=${`${base}/chat?session=${encodeURIComponent(r.sessionId)}`}>${t(r.join ? "runs.join" : "runs.open")}</a>`}>
    <div class="tiles">
      <${Tile} label=${t("runs.took")} value=${took(r)} />
      <${Tile} label=${t("runs.tokens")} value=${tokens(r)} small=${r.model} />
      <${Tile} label=${t("runs.steps")} value=${r.steps.length} tone=${r.steps.some((s) => s.failed) ? "warn" : ""} />
      <${Tile} label=${t("runs.cost")} value=${r.cost ? String(r.cost) : "–"} />
    </div>
    ${r.error && html`<${Failure} error=${{ message: r.error, status: 500, requestId: r.requestId }} />`}
    <section class="card"><h2>${t("runs.steps")}</h2>${r.steps.length ? html`<${Rows} items=${r.steps.map((s, n) => ({ ...s, n }))} id=${(s) => s.n} columns=${[
      { label: t("runs.tool"), cell: (s) => html`<code>${s.tool}</code>` },
      { label: t("runs.state"), cell: (s) => html`<${Badge} value=${s.failed ? "failed" : "done"} />` },
      { label: t("runs.took"), cell: (s) => lasted(s.durationMs), num: true },
    ]} />` : html`<p class="mute">${t("runs.noSteps")}</p>`}</section></${Page}>`}</${Loaded}>`;
}
