// @ts-check
import { html, useEffect, useState } from "../vendor/preact.js";
import { call, may } from "../lib/api.js";
import { List, Rows } from "../lib/list.js";
import { base, route } from "../lib/router.js";
import { Ending } from "../lib/call.js";
import { Page, Time, useLoad } from "../lib/ui.js";
import { t } from "../lib/words.js";

/** Calls that are alive, for those who may look. */
function Live() {
  const [turn, again] = useState(0), now = useLoad(() => call("/api/ussd/sessions"), [turn]);
  useEffect(() => {
    const tick = setInterval(() => { if (!document.hidden) again((n) => n + 1); }, 10000);
    return () => clearInterval(tick);
  }, []);
  const list = now.data?.sessions || [];
  if (!now.data) return null;
  return html`<section class="card"><div class="card-head"><h2>${t("calls.live", { n: now.data.count })}</h2></div>${list.length ? html`<${Rows} items=${list} id=${(s) => s.sessionId + s.phoneNumber} columns=${[
    { label: t("calls.number"), cell: (s) => s.phoneNumber }, { label: t("calls.node"), cell: (s) => html`<code>${s.path}</code>` }, { label: t("handset.state"), cell: (s) => s.state },
    { label: t("calls.age"), num: true, cell: (s) => t("calls.seconds", { n: Math.round(s.ageSeconds) }) },
  ]} />` : html`<p class="mute">${t("calls.nobody")}</p>`}</section>`;
}

const seconds = (c) => Math.round((new Date(c.endedAt).getTime() - new Date(c.startedAt).getTime()) / 1000);

export default function Calls() {
  const simulated = route.value.query.simulated === "true";
  return html`<${Page} title=${t("page.calls")} about=${t("calls.about")}>
    ${may("operations:read") && html`<${Live} />`}
    <${List} path="/v1/ussd/calls" id=${(c) => c.id} href=${(c) => base + "/calls/" + c.id}
      filters=${[...(may("entities:pii") || simulated ? [{ key: "phone", label: t("calls.number"), placeholder: "+254700000001" }] : []), { key: "since", label: t("calls.since"), date: true },
        { key: "simulated", label: t("calls.which"), options: [{ value: "true", label: t("calls.simulated") }] }]}
      columns=${[
        { label: t("calls.number"), cell: (c) => c.phoneNumber },
        { label: t("calls.ending"), cell: (c) => html`<${Ending} value=${c.ending} />${c.simulated ? html` <span class="badge mute">${t("calls.sim")}</span>` : null}` },
        { label: t("calls.node"), cell: (c) => html`<code>${c.node}</code>` },
        { label: t("calls.inputs"), num: true, cell: (c) => c.inputs },
        { label: t("calls.length"), num: true, cell: (c) => t("calls.seconds", { n: seconds(c) }) },
        { label: t("calls.gateway"), cell: (c) => c.gateway || "–" },
        { label: t("calls.when"), cell: (c) => html`<${Time} at=${c.endedAt} />` },
      ]}
      empty=${{ icon: "phone", title: t("calls.empty"), text: t("calls.emptyText") }} /></${Page}>`;
}
