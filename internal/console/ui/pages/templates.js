// @ts-check
import { html, useState } from "../vendor/preact.js";
import { Dialog, useAct } from "../lib/act.js";
import { call, may, query } from "../lib/api.js";
import { say } from "../lib/labels.js";
import { List } from "../lib/list.js";
import { base, go } from "../lib/router.js";
import { Badge, Failure, Page, Time } from "../lib/ui.js";
import { t } from "../lib/words.js";

export const templateHref = (id) => base + "/templates/" + encodeURIComponent(id);

/** What of a workbook could not be carried over, one line each. */
const Report = ({ report }) => (report?.length ? html`<ul class="report">${report.slice(0, 50).map((n, i) => html`<li key=${i}>${[n.sheet, n.row && t("templates.row", { n: n.row }), n.column].filter(Boolean).join(" · ")} ${n.detail || n.message || n.code}</li>`)}</ul>` : html`<p>${t("templates.noReport")}</p>`);

function Upload() {
  const act = useAct(), [file, choose] = useState(/** @type {any} */ (null)), [id, name] = useState(""), [seen, see] = useState(/** @type {any} */ (null));
  const send = (mode) => act.run(() => call(query("/v1/templates:import", { mode, templateId: id.trim() }), { method: "POST", raw: file, headers: { "Content-Type": file.name.endsWith(".json") ? "application/json" : "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet" } }));
  return html`<${Dialog} label=${t("templates.import")} primary=${true} closed=${() => { see(null); act.clear(); }}>${(close) => html`<form class="form" onSubmit=${async (e) => {
      e.preventDefault();
      if (!seen) { const r = await send("check"); if (r) { see(r); name(id || r.template?.templateId || ""); } return; }
      const r = await send("create");
      if (r) { close(); go("/templates/" + encodeURIComponent(r.template?.templateId || id)); }
    }}><p class="mute">${t("templates.importText")}</p>
    <label class="field"><span>${t("templates.file")}</span><input type="file" required accept=".xlsx,.json" onChange=${(e) => { choose(e.target.files[0]); see(null); }} /></label>
    <label class="field"><span>${t("templates.id")}</span><input value=${id} maxlength="64" onInput=${(e) => { name(e.target.value); }} /></label>
    ${seen ? html`<h3>${t("templates.report")}</h3><${Report} report=${seen.report} />` : null}<${Failure} error=${act.error} />
    <div class="row-end"><button type="button" onClick=${close}>${t("ui.cancel")}</button><button type="submit" class="primary" disabled=${act.busy || !file}>${t(seen ? "templates.store" : "templates.check")}</button></div></form>`}</${Dialog}>`;
}

export default function Templates() {
  return html`<${Page} title=${t("page.templates")} about=${t("templates.about")} actions=${may("templates:write") ? html`<${Upload} />` : null}>
    <${List} path="/v1/templates" id=${(x) => x.templateId} href=${(x) => templateHref(x.templateId)}
      filters=${[{ key: "q", label: t("templates.find") }, { key: "stage", label: t("templates.stage"), options: ["baseline", "follow-up", "monitoring"] }, { key: "status", label: t("twins.status"), options: ["draft", "published", "deprecated", "retired"].map((s) => ({ value: s, label: t("state." + s) })) }]}
      columns=${[
        { label: t("templates.title"), cell: (x) => say(x.title) || x.templateId }, { label: t("templates.stage"), cell: (x) => x.stage || "–" }, { label: t("twins.status"), cell: (x) => html`<${Badge} value=${x.status} />` },
        { label: t("templates.version"), cell: (x) => x.version, num: true }, { label: t("templates.questions"), cell: (x) => x.questions, num: true }, { label: t("templates.languages"), cell: (x) => (x.languages || []).join(", ") },
        { label: t("templates.origin"), cell: (x) => (x.shipped ? t("templates.shipped") : html`<${Time} at=${x.updated} />`) },
      ]} empty=${{ icon: "file", title: t("templates.empty"), text: t("templates.emptyText") }} /></${Page}>`;
}
