// @ts-check
// The households of a survey: who is to visit which. Those on the page are
// chosen one by one or all at once.
import { html, useState } from "../vendor/preact.js";
import { useAct } from "./act.js";
import { call, didPath, may } from "./api.js";
import { List } from "./list.js";
import { Listing } from "./listing.js";
import { Name } from "./names.js";
import { twinHref } from "./router.js";
import { Badge, Failure, Time } from "./ui.js";
import { t } from "./words.js";

/** Gives households to a collector: in one call, or one by one for whoever may only assign. */
async function give(id, list, collector) {
  if (may("surveys:write")) return call(`/v1/surveys/${id}/households`, { method: "POST", body: { items: list.map((h) => ({ householdId: h.householdId, collector })) } });
  for (const h of list) await call(`/v1/surveys/${id}/households/${didPath(h.householdId)}`, { method: "PATCH", headers: { "If-Match": `"${h.revision}"`, "Content-Type": "application/merge-patch+json" }, body: { collector } });
  return null;
}

export function Assignments({ id, survey }) {
  const [chosen, choose] = useState(/** @type {Record<string, any>} */ ({})), [to, name] = useState(""), [turn, again] = useState(0), [said, say] = useState(""), [items, see] = useState(/** @type {any[]} */ ([]));
  const act = useAct(), list = Object.values(chosen), may1 = may("surveys:assign") || may("surveys:write"), people = survey.collectors || [];
  const one = (h) => (e) => choose((c) => { const next = { ...c }; if (e.target.checked) next[h.householdId] = h; else delete next[h.householdId]; return next; });
  const all = items.length > 0 && items.every((h) => chosen[h.householdId]);
  const go = () => act.run(async () => {
    await give(id, list, to);
    say(t("assign.done", { n: list.length }));
    choose({});
    again(turn + 1);
  });
  const bar = may1 ? html`<form class="assign" onSubmit=${(e) => { e.preventDefault(); go(); }}><label class="choice-line"><input type="checkbox" checked=${all} onChange=${() => choose(all ? {} : Object.fromEntries(items.map((h) => [h.householdId, h])))} /> ${t("assign.page", { n: items.length })}</label>
    <label><span class="sr">${t("assign.to")}</span><select required value=${to} onChange=${(e) => name(e.target.value)}><option value="">${t("assign.to")}…</option>${people.map((c) => html`<option key=${c.did || c} value=${c.did || c}>${c.name || c.did || c}</option>`)}</select></label>
    <button type="submit" class="primary" disabled=${act.busy || !list.length || !to}>${t("assign.go", { n: list.length })}</button><span role="status" class="mute">${said}</span></form>` : null;
  return html`<${Listing} id=${id} survey=${survey} done=${() => again(turn + 1)} /><${Failure} error=${act.error} /><${List} path=${`/v1/surveys/${id}/households`} limit=${50} turn=${turn} id=${(h) => h.householdId} href=${(h) => twinHref(h.householdId)} onPage=${(p) => see(p?.items || [])} over=${() => bar}
    filters=${[{ key: "outcome", label: t("survey.outcome"), options: ["listed", "contacted", "completed", "partial", "refused", "unreachable", "ineligible"].map((s) => ({ value: s, label: t("state." + s) })) }, { key: "stratum", label: t("survey.stratum") }, { key: "area", label: t("assign.area") },
      ...(people.length ? [{ key: "collector", label: t("survey.collector"), options: people.map((c) => ({ value: c.did || c, label: c.name || c.did || c })) }] : [])]}
    columns=${[
      { label: t("survey.household"), cell: (h) => html`<${Name} did=${h.householdId} link=${false} />` }, { label: t("survey.outcome"), cell: (h) => html`<${Badge} value=${h.outcome} />` },
      { label: t("survey.stratum"), cell: (h) => [h.stratum, h.area !== h.stratum && h.area].filter(Boolean).join(" · ") || "–" }, { label: t("survey.assigned"), cell: (h) => html`<${Name} did=${h.assignedTo || h.collector} />` },
      { label: t("twins.changed"), cell: (h) => html`<${Time} at=${h.outcomeAt || h.updated} />` },
      ...(may1 ? [{ label: t("assign.choose"), cell: (h) => html`<input type="checkbox" aria-label=${t("assign.choose") + " " + h.householdId} checked=${!!chosen[h.householdId]} onChange=${one(h)} />` }] : []),
    ]} empty=${{ icon: "twins", title: t("survey.noHouseholds") }} />`;
}
