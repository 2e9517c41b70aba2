// @ts-check
import { html } from "../vendor/preact.js";
import { call, may } from "../lib/api.js";
import { NewTwin } from "../lib/twinform.js";
import { base, route, twinHref } from "../lib/router.js";
import { List } from "../lib/list.js";
import { Badge, Page, Time, nameOf, useLoad } from "../lib/ui.js";
import { t } from "../lib/words.js";

const fields = "did,type,status,properties,externalIds,verification,updated,withheld";

export default function Twins() {
  const counts = useLoad(() => call("/v1/counts"), []);
  const types = Object.keys(counts.data?.twins || {}).sort();
  const actions = html`${may("entities:write") ? html`<${NewTwin} type=${route.value.query.type} />` : null}${may("imports:write") ? html`<a class="button" href=${base + "/import"}>${t("start.importGo")}</a>` : null}`;
  return html`<${Page} title=${t("page.twins")} about=${t("twins.about")} actions=${actions}>
    <${List} path="/v1/entities" params=${{ fields }} id=${(e) => e.did} href=${(e) => twinHref(e.did)}
      filters=${[
        { key: "type", label: t("twins.type"), options: types },
        { key: "status", label: t("twins.status"), options: ["draft", "active", "suspended", "deactivated"].map((s) => ({ value: s, label: t("state." + s) })) },
        { key: "externalId", label: t("twins.known"), placeholder: "H-7" },
      ]}
      columns=${[
        { label: t("twins.name"), cell: nameOf },
        { label: t("twins.type"), cell: (e) => e.type },
        { label: t("twins.status"), cell: (e) => html`<${Badge} value=${e.status} />` },
        { label: t("twins.ids"), cell: (e) => html`<code>${Object.values(e.externalIds || {}).join(", ") || "–"}</code>` },
        { label: t("twins.verified"), cell: (e) => html`<${Badge} value=${e.verification?.status} />` },
        { label: t("twins.changed"), cell: (e) => html`<${Time} at=${e.updated} />` },
      ]}
      empty=${{ icon: "twins", title: t("twins.empty"), text: may("imports:write") ? html`<a class="in-text" href=${base + "/import"}>${t("start.importGo")}</a>` : t("twins.emptyText") }} />
  </${Page}>`;
}
