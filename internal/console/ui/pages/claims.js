// @ts-check
import { html, useState } from "../vendor/preact.js";
import { may } from "../lib/api.js";
import { NewCollection, Steps } from "../lib/collecting.js";
import { Credentials } from "../lib/credentials.js";
import { base, route } from "../lib/router.js";
import { List } from "../lib/list.js";
import { Name } from "../lib/names.js";
import { TryRules } from "../lib/tryrules.js";
import { Badge, Page, Time } from "../lib/ui.js";
import { number, t } from "../lib/words.js";

export const statuses = ["pending", "flagged", "disputed", "approved", "rejected", "invalidated", "withdrawn"];

/** An amount with its unit. */
export const amount = (a) => (a ? `${number(a.value)} ${a.unit || ""}` : "–");

/** The collections claims are submitted to. */
function Collections({ turn, done }) {
  return html`<${List} path="/v1/collections" turn=${turn} id=${(c) => c.id} columns=${[
    { label: t("claims.name"), cell: (c) => c.name }, { label: t("survey.state"), cell: (c) => html`<${Badge} value=${c.state} />` },
    { label: t("claims.places"), num: true, cell: (c) => `${number(c.counts.taken)}${c.quota ? " / " + number(c.quota) : ""}` },
    { label: t("claims.approved"), num: true, cell: (c) => number(c.counts.approved) }, { label: t("claims.rejected"), num: true, cell: (c) => number(c.counts.rejected) },
    { label: t("claims.rules"), cell: (c) => html`<span class="nowrap">${c.version}</span>` }, { label: t("claims.window"), cell: (c) => html`<span class="nowrap">${(c.startsAt || "…").slice(0, 10)} – ${(c.endsAt || "…").slice(0, 10)}</span>` }, { label: "", cell: (c) => html`<${Steps} key=${c.state} of=${c} done=${done} />` }]}
    empty=${{ icon: "seal", title: t("claims.noCollection"), text: t("claims.noCollectionText") }} />`;
}

const scopes = { "": "claims:read", queue: "claims:evaluate", credentials: "credentials:read", collections: "collections:read", rules: "claims:evaluate" };

/** What stoves and households are said to have done, and what was decided. */
export default function Claims() {
  const tab = route.value.query.tab || "", [turn, again] = useState(0), changed = () => again((n) => n + 1);
  const makes = tab === "collections" && may("collections:write") && may("protocols:read");
  return html`<${Page} title=${t("page.claims")} about=${t(tab === "queue" ? "claims.queueAbout" : "claims.about")} actions=${makes ? html`<${NewCollection} done=${changed} />` : tab === "" && may("claims:write") ? html`<a class="button primary" href=${base + "/claims/new"}>${t("claimnew.title")}</a>` : null}>
    <nav class="tabs" aria-label=${t("page.claims")}>${Object.keys(scopes).filter((k) => may(scopes[k])).map((k) => html`<a key=${k} href=${base + "/claims" + (k && "?tab=" + k)} aria-current=${k === tab ? "page" : undefined}>${t("claims.tab." + (k || "all"))}</a>`)}</nav>
    ${tab === "collections" ? html`<${Collections} turn=${turn} done=${changed} />` : tab === "credentials" ? html`<${Credentials} />` : tab === "rules" ? html`<${TryRules} />` : html`<${Claimed} key=${tab} queue=${tab === "queue"} />`}</${Page}>`;
}

/** Claims, all of them or those that wait for whoever is signed in. */
function Claimed({ queue }) {
  const offered = queue ? ["pending", "flagged"] : statuses;
  return html`<${List} path=${queue ? "/v1/claim-queue" : "/v1/claims"} id=${(c) => c.id} href=${(c) => base + "/claims/" + encodeURIComponent(c.id)}
      filters=${[{ key: "status", label: t("survey.state"), options: offered.map((s) => ({ value: s, label: t("state." + s) })) }, { key: "kind", label: t("claims.kind"), placeholder: "fuel-saved" }]}
      columns=${[
        { label: t("claims.kind"), cell: (c) => c.kind },
        { label: t("claims.subject"), cell: (c) => html`<${Name} did=${c.subject} link=${false} />` },
        { label: t("claims.period"), cell: (c) => html`<span class="nowrap">${c.periodStart || "…"} – ${c.periodEnd || "…"}</span>` },
        { label: t("claims.amount"), num: true, cell: (c) => amount(c.amount) },
        { label: t("claims.approved"), num: true, cell: (c) => amount(c.approvedAmount) },
        { label: t("survey.state"), cell: (c) => html`<${Badge} value=${c.status} />` },
        { label: t("claims.submitted"), cell: (c) => html`<${Time} at=${c.submittedAt} />` },
      ]}
      empty=${{ icon: "seal", title: t(queue ? "claims.queueEmpty" : "claims.empty"), text: t(queue ? "claims.queueEmptyText" : "claims.emptyText") }} />`;
}
