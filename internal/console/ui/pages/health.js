// @ts-check
import { html, useEffect, useState } from "../vendor/preact.js";
import { call } from "../lib/api.js";
import { List } from "../lib/list.js";
import { base } from "../lib/router.js";
import { Badge, Bar, Curl, Loaded, Page, Tile, Time, useLoad } from "../lib/ui.js";
import { number, t } from "../lib/words.js";
import { bytes, span } from "../lib/units.js";

export default function Health() {
  const [turn, again] = useState(0), health = useLoad(() => call("/v1/health/summary"), [turn]);
  useEffect(() => {
    const tick = setInterval(() => again((n) => n + 1), 15000);
    return () => clearInterval(tick);
  }, []);
  return html`<${Page} title=${t("page.health")} about=${t("health.about")}>
    <${Loaded} of=${health} rows=${5}>${(h) => html`
      <div class="tiles">
        <${Tile} label=${t("health.state")} value=${t(h.status === "ready" ? "state.ready" : "health.notReady")} small=${t("health.up", { time: span(h.uptime) })} tone=${h.status === "ready" ? "" : "warn"} />
        <${Tile} label=${t("health.failed")} value=${h.lastHour.failed} small=${t("health.ofRequests", { n: number(h.lastHour.requests) })} tone=${h.lastHour.failed ? "warn" : ""} />
        <${Tile} label=${t("health.queue")} value=${h.store.queued} small=${t("health.queueSmall")} />
        <${Tile} label=${t("health.backup")} value=${h.lastBackup ? bytes(h.lastBackup.bytes) : "–"} small=${h.lastBackup ? html`<${Time} at=${h.lastBackup.at} />` : t("health.noBackup")} href=${base + "/backups"} tone=${h.lastBackup ? "" : "warn"} /></div>
      <div class="two uneven"><section class="card"><h2>${t("health.checks")}</h2><ul class="plain">${Object.entries(h.checks).map(([name, value]) => html`<li key=${name}><span>${name}</span>${value === "ok" ? html`<${Badge} value="ok" />` : html`<span class="badge bad">${value}</span>`}</li>`)}</ul></section>
        <section class="card"><h2>${t("health.server")}</h2><dl><dt>${t("help.version")}</dt><dd>${h.version}</dd><dt>${t("health.environment")}</dt><dd>${h.environment}</dd><dt>${t("health.durability")}</dt><dd>${h.durability}</dd>
          ${h.store.bytes ? html`<dt>${t("health.store")}</dt><dd>${bytes(h.store.bytes)}</dd>` : null}
          ${h.disk ? html`<dt>${t("health.disk")}</dt><dd>${t("health.free", { free: bytes(h.disk.freeBytes), total: bytes(h.disk.totalBytes) })}<${Bar} of=${h.disk.totalBytes} parts=${[["ref", h.disk.totalBytes - h.disk.freeBytes]]} label=${t("health.free", { free: bytes(h.disk.freeBytes), total: bytes(h.disk.totalBytes) })} /></dd>` : null}
          <dt>${t("health.refused")}</dt><dd>${number(h.lastHour.refused)}</dd></dl></section></div>`}</${Loaded}>
    <${Curl} path="/v1/health/summary" /><h2 class="next">${t("health.errors")}</h2>
    <${List} path="/v1/health/errors" turn=${turn} id=${(e) => e.requestId}
      columns=${[
        { label: t("audit.request"), cell: (e) => html`<code>${e.requestId}</code>` },
        { label: t("health.route"), cell: (e) => html`<code>${e.method} ${e.route}</code>` },
        { label: t("health.status"), num: true, cell: (e) => String(e.status) },
        { label: t("health.took"), num: true, cell: (e) => number(e.durationMs) + " ms" },
        { label: t("audit.when"), cell: (e) => html`<${Time} at=${e.at} />` },
      ]}
      empty=${{ icon: "activity", title: t("health.noErrors"), text: t("health.noErrorsText") }} /></${Page}>`;
}
