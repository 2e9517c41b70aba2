// @ts-check
import { html } from "../vendor/preact.js";
import { List } from "../lib/list.js";
import { Subject, meaning } from "../lib/events.js";
import { kinds } from "../lib/live.js";
import { Name } from "../lib/names.js";
import { Id, Page, Time } from "../lib/ui.js";
import { t } from "../lib/words.js";

export default function Audit() {
  const types = Object.keys(kinds.value).map((k) => ({ value: k, label: meaning(k) }));
  return html`<${Page} title=${t("page.audit")} about=${t("audit.about")}>
    <${List} path="/v1/audit" id=${(e) => e.seq} limit=${50}
      filters=${[
        { key: "type", label: t("audit.type"), ...(types.length ? { options: types } : {}) },
        { key: "subject", label: t("audit.subject"), placeholder: "did:ixo:entity:…" },
        { key: "actor", label: t("audit.actor"), placeholder: "did:ixo:entity:…" },
        { key: "since", label: t("audit.since"), date: true },
      ]}
      columns=${[
        { label: t("audit.what"), cell: (e) => html`<span title=${e.type}>${meaning(e.type)}</span>` },
        { label: t("audit.subject"), cell: (e) => html`<${Subject} type=${e.type} value=${e.subject} />` },
        { label: t("audit.actor"), cell: (e) => html`<${Name} did=${e.actor} />` },
        { label: t("audit.when"), cell: (e) => html`<${Time} at=${e.time} />` },
        { label: t("audit.request"), cell: (e) => (e.requestId ? html`<${Id} value=${e.requestId} />` : "–") },
      ]}
      empty=${{ icon: "activity", title: t("audit.empty") }} /></${Page}>`;
}
