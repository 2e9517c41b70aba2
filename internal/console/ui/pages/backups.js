// @ts-check
import { html, useEffect, useState } from "../vendor/preact.js";
import { call, may } from "../lib/api.js";
import { useAct } from "../lib/act.js";
import { List } from "../lib/list.js";
import { onEvent } from "../lib/live.js";
import { base } from "../lib/router.js";
import { Badge, Failure, Page, Time } from "../lib/ui.js";
import { t } from "../lib/words.js";
import { bytes } from "../lib/units.js";

export default function Backups() {
  const [turn, again] = useState(0), [said, say] = useState(/** @type {any} */ (null)), act = useAct(), write = may("operations:write");
  useEffect(() => onEvent((e) => { if (e.type.startsWith("job.")) again((n) => n + 1); }), []);
  const ask = async (path, text) => {
    const j = await act.run(() => call(path, { method: "POST" }));
    if (j) say(html`${text} <a class="in-text" href=${base + "/jobs"}>${t("backups.follow")}</a>`);
  };
  return html`<${Page} title=${t("page.backups")} about=${t("backups.about")} actions=${write && html`<button type="button" class="primary" disabled=${act.busy} onClick=${() => ask("/v1/backups", t("backups.making"))}>${t("backups.make")}</button>`}>
    <${Failure} error=${act.error} /><p class="done" role="status">${said}</p>
    <${List} path="/v1/backups" turn=${turn} id=${(b) => b.id}
      columns=${[
        { label: t("backups.file"), cell: (b) => html`<code>${b.id}</code>` },
        { label: t("backups.age"), cell: (b) => html`<${Time} at=${b.at} />` },
        { label: t("backups.size"), num: true, cell: (b) => bytes(b.bytes) },
        { label: t("backups.verified"), cell: (b) => (b.verifiedAt ? html`<${Badge} value="verified" /> <${Time} at=${b.verifiedAt} />` : html`<span class="mute">${t("backups.never")}</span>`) },
        { label: "", cell: (b) => (write ? html`<button type="button" class="small" disabled=${act.busy} onClick=${() => ask(`/v1/backups/${encodeURIComponent(b.id)}/verify`, t("backups.verifying", { id: b.id }))}>${t("backups.verify")}</button>` : null) },
      ]}
      empty=${{ icon: "file", title: t("backups.empty"), text: t("backups.emptyText") }} />
    <p class="mute small">${t("backups.restore")} <code>hearth backup restore</code></p></${Page}>`;
}
