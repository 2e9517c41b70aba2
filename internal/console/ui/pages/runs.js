// @ts-check
import { html } from "../vendor/preact.js";
import { may } from "../lib/api.js";
import { base, route } from "../lib/router.js";
import { List } from "../lib/list.js";
import { Name } from "../lib/names.js";
import { Badge, Page, Time } from "../lib/ui.js";
import { number, t } from "../lib/words.js";

export const runHref = (id) => base + "/runs/" + encodeURIComponent(id);

/** How long a run took, as the server measured it. */
export const took = (r) => (r.durationMs ? lasted(r.durationMs) : r.endedAt ? "–" : t("runs.live"));

/** A time in milliseconds as people read it. */
export const lasted = (ms) => (ms < 1000 ? t("chat.ms", { ms }) : t("chat.seconds", { s: (ms / 1000).toFixed(1) }));

export const tokens = (r) => (r.tokens ? `${number(r.tokens.input)} / ${number(r.tokens.output)}` : "–");

function Steps({ run }) {
  const failed = run.steps.filter((s) => s.failed).length;
  return run.steps.length ? html`${number(run.steps.length)}${failed ? html` <${Badge} value="failed" />` : null}` : "–";
}

export default function Runs() {
  const others = may("oracle:read"), all = others && route.value.query.all === "true";
  return html`<${Page} title=${t("page.runs")} about=${t("runs.about")}>
    <${List} path="/v1/oracle/runs" id=${(r) => r.runId} href=${(r) => runHref(r.runId)}
      filters=${others ? [{ key: "all", label: t("runs.whose"), options: [{ value: "true", label: t("runs.all") }], any: t("runs.mine") }] : []}
      columns=${[
        { label: t("runs.begun"), cell: (r) => html`<${Time} at=${r.startedAt} />` },
        { label: t("runs.state"), cell: (r) => html`<${Badge} value=${r.status} />` },
        ...(all ? [{ label: t("runs.by"), cell: (r) => html`<${Name} did=${r.by} />` }] : []),
        { label: t("runs.took"), cell: took, num: true },
        { label: t("runs.tokens"), cell: tokens, num: true },
        { label: t("runs.steps"), cell: (r) => html`<${Steps} run=${r} />`, num: true },
        { label: t("runs.model"), cell: (r) => r.model || "–" },
        { label: "", cell: (r) => (r.join ? html`<a href=${`${base}/chat?session=${encodeURIComponent(r.sessionId)}`}>${t("runs.join")}</a>` : null) },
      ]}
      empty=${{ icon: "activity", title: t("runs.empty"), text: t("runs.emptyText") }} /></${Page}>`;
}
