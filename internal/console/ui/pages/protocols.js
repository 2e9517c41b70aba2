// @ts-check
import { html } from "../vendor/preact.js";
import { List } from "../lib/list.js";
import { base } from "../lib/router.js";
import { Badge, Page } from "../lib/ui.js";
import { t } from "../lib/words.js";

export const protocolHref = (did) => base + "/protocols/" + encodeURIComponent(did);

export default function Protocols() {
  return html`<${Page} title=${t("page.protocols")} about=${t("protocols.about")}><${List} path="/v1/protocols" id=${(p) => p.did + p.version} href=${(p) => protocolHref(p.did)}
    columns=${[
      { label: t("twins.name"), cell: (p) => p.name }, { label: t("protocols.kind"), cell: (p) => p.domainType || "–" }, { label: t("templates.version"), cell: (p) => p.version }, { label: t("twins.status"), cell: (p) => html`<${Badge} value=${p.status} />` },
      { label: t("protocols.properties"), cell: (p) => Object.keys(p.properties || {}).length, num: true }, { label: t("protocols.what"), cell: (p) => p.description || "–" },
    ]} empty=${{ icon: "file", title: t("protocols.empty") }} /></${Page}>`;
}
