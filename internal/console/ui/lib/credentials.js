// @ts-check
// What claims become: the credentials of the workspace, and the steps of one.
import { html, useState } from "../vendor/preact.js";
import { call, may } from "./api.js";
import { Ask } from "./ask.js";
import { List } from "./list.js";
import { Name } from "./names.js";
import { base } from "./router.js";
import { Badge, Time } from "./ui.js";
import { number, t } from "./words.js";

const steps = { active: ["suspend", "retire", "revoke"], suspended: ["reinstate", "revoke"] };

/** Buttons for what can be done with a credential in its present state. */
function Steps({ of, done }) {
  if (!may("credentials:write")) return null;
  return html`<span class="actions">${(steps[of.status] || []).map((step) => html`<${Ask} key=${step} small label=${t("credential." + step)} about=${t("credential.about." + step)} field=${t("step.reason")} required=${step === "revoke"} done=${done}
    send=${(reason, headers) => call(`/v1/credentials/${encodeURIComponent(of.id)}/${step}`, { method: "POST", headers, body: reason ? { reason } : {} })} />`)}</span>`;
}

/** The credentials that were issued, with their public pages. */
export function Credentials() {
  const [turn, again] = useState(0);
  return html`<${List} path="/v1/credentials" turn=${turn} id=${(c) => c.id} href=${(c) => base + "/claims/" + encodeURIComponent(c.claim)}
    filters=${[{ key: "status", label: t("survey.state"), options: ["active", "suspended", "revoked", "retired"].map((s) => ({ value: s, label: t("state." + s) })) }, { key: "kind", label: t("claims.kind"), placeholder: "fuel-saved" }]}
    columns=${[
      { label: t("claims.kind"), cell: (c) => c.kind }, { label: t("claims.subject"), cell: (c) => html`<${Name} did=${c.subject} link=${false} />` },
      { label: t("claims.period"), cell: (c) => html`<span class="nowrap">${c.periodStart || "…"} – ${c.periodEnd || "…"}</span>` }, { label: t("claims.amount"), num: true, cell: (c) => (c.amount ? `${number(c.amount.value)} ${c.amount.unit || ""}` : "–") },
      { label: t("survey.state"), cell: (c) => html`<${Badge} value=${c.status} />` }, { label: t("credential.issued"), cell: (c) => html`<${Time} at=${c.issuedAt} />` },
      { label: t("credential.page"), cell: (c) => (c.page ? html`<a class="in-text" href=${c.page} target="_blank" rel="noopener">${t("ui.open")}</a>` : "–") }, { label: "", cell: (c) => html`<${Steps} key=${c.status} of=${c} done=${() => again((n) => n + 1)} />` },
    ]} empty=${{ icon: "seal", title: t("credential.empty"), text: t("credential.emptyText") }} />`;
}

/** Takes a claim back that nobody has decided about, and has an approved one issued. */
export const Next = ({ claim, issued, done }) => html`
  ${may("claims:write") && ["pending", "flagged"].includes(claim.status) ? html`<${Ask} label=${t("claim.withdraw")} about=${t("claim.withdrawText")} field=${t("step.reason")} done=${done}
    send=${(reason, headers) => call(`/v1/claims/${encodeURIComponent(claim.id)}/withdraw`, { method: "POST", headers, body: reason ? { reason } : {} })} />` : null}
  ${may("credentials:write") && claim.status === "approved" && !claim.summedBy && !issued ? html`<${Ask} primary label=${t("claim.issue")} about=${t("claim.issueText")} done=${done}
    send=${(_, headers) => call("/v1/credentials", { method: "POST", headers, body: { claim: claim.id } })} />` : null}`;

/** Whether a claim is a credential now. */
export async function isIssued(claim) {
  if (claim.status !== "approved" || !may("credentials:read") || !claim.subject) return false;
  const page = await call(`/v1/entities/${encodeURIComponent(claim.subject)}/credentials?limit=200`);
  return page.items.some((c) => c.claim === claim.id && c.status !== "revoked");
}
