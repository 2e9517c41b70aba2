// @ts-check
// The households somebody is to visit. Names and telephone numbers are shown when
// they are asked for: the server notes that they were.
import { html, useState } from "../vendor/preact.js";
import { call, query } from "./api.js";
import { Name } from "./names.js";
import { Badge, Empty, Loaded, useLoad } from "./ui.js";
import { t } from "./words.js";

const over = ["completed", "refused", "ineligible"];

/** A list to pick from; other takes a household that is not on it. */
export function Households({ id, pick, other = true }) {
  const [contact, show] = useState(false), [all, widen] = useState(false), [typed, type] = useState("");
  const path = query(`/v1/surveys/${encodeURIComponent(id)}/households`, { limit: 50, collector: contact ? "me" : "", contact: contact || "" });
  const list = useLoad(() => call(path, { name: "households " + id }), [path]);
  return html`<${Loaded} of=${list} rows=${5}>${(d) => {
    const open = d.items.filter((h) => all || !over.includes(h.outcome));
    return html`${open.length ? html`<ul class="visits">${open.map((h) => html`<li key=${h.householdId}><button type="button" class="visit" onClick=${() => pick(h.householdId)}>
        <span>${h.contact?.name || html`<${Name} did=${h.householdId} link=${false} />`}</span><${Badge} value=${h.outcome} /><small>${[h.contact?.phone, h.area, h.stratum !== h.area && h.stratum].filter(Boolean).join(" · ")}</small></button></li>`)}</ul>`
        : html`<${Empty} icon="people" title=${t("visits.none")}><p>${t("visits.noneText")}</p></${Empty}>`}
      <div class="actions">${contact ? null : html`<button type="button" class="small" onClick=${() => show(true)}>${t("visits.contact")}</button>`}
        <button type="button" class="small" aria-pressed=${all} onClick=${() => widen(!all)}>${t("visits.all")}</button></div>
      ${d.page?.hasMore ? html`<p class="mute">${t("visits.more")}</p>` : null}
      ${other ? html`<form class="form other" onSubmit=${(e) => { e.preventDefault(); if (typed.trim()) pick(typed.trim()); }}><label class="field"><span>${t("visits.other")}</span><input value=${typed} placeholder="did:…" onInput=${(e) => type(e.target.value)} /></label><button type="submit" class="small">${t("visits.begin")}</button></form>` : null}`;
  }}</${Loaded}>`;
}
