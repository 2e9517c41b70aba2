// @ts-check
// Who belongs to a group: seen, added by name, and removed again.
import { html, useEffect, useState } from "../vendor/preact.js";
import { useAct } from "./act.js";
import { call, didPath, isStale, may, query } from "./api.js";
import { Rows } from "./list.js";
import { Name } from "./names.js";
import { setQuery } from "./router.js";
import { sentences } from "./scopes.js";
import { Failure, Loaded, Time, useLoad } from "./ui.js";
import { t } from "./words.js";

/** Those who can be members among what a search finds: whoever a key speaks for, and people. */
const fits = (h) => h.kind === "key" || h.kind === "member" || (h.kind === "twin" && h.type === "Person");

/** A box to find somebody by name or DID, and the button that adds them. */
function Add({ group, members, done }) {
  const [text, set] = useState(""), [hits, show] = useState(/** @type {any[]} */ ([])), [looked, look] = useState(""), act = useAct();
  const q = text.trim();
  useEffect(() => {
    if (q.length < 2) { show([]); look(""); return; }
    const wait = setTimeout(async () => {
      try {
        show((await call(query("/v1/search", { q }), { name: "members" })).items.filter(fits));
        look(q);
      } catch (e) {
        if (!isStale(e)) { show([]); look(q); }
      }
    }, 200);
    return () => clearTimeout(wait);
  }, [q]);
  const add = async (did) => {
    const path = `/v1/entities/${didPath(group)}/members/${didPath(did)}`;
    if (await act.run(() => call(path, { method: "PUT" }))) { set(""); done(); }
  };
  const found = q.startsWith("did:") && !hits.some((h) => h.id === q) ? [{ id: q, kind: "did" }, ...hits] : hits;
  return html`<div class="form add-member"><label class="field"><span>${t("people.find")}</span><input type="search" autocomplete="off" maxlength="200" value=${text} onInput=${(e) => { set(e.target.value); act.clear(); }} /></label>
    <${Failure} error=${act.error} />
    ${found.length ? html`<ul class="people-found">${found.map((h) => { const in_ = members.includes(h.id); return html`<li key=${h.id}><span><strong>${h.name || h.id}</strong> <span class="mute">${[h.type, h.place, h.externalId].filter(Boolean).join(" · ")}</span></span>
      <button type="button" class="small" disabled=${in_ || act.busy} onClick=${() => add(h.id)}>${t(in_ ? "people.isMember" : "people.add")}</button></li>`; })}</ul>`
      : looked && looked === q ? html`<p class="mute" role="status">${t("people.nobody")}</p>` : null}</div>`;
}

export function Members({ group }) {
  const [turn, set] = useState(0), again = () => set((n) => n + 1), act = useAct();
  const list = useLoad(() => call(`/v1/entities/${didPath(group)}/members?limit=100`), [group, turn]), twin = useLoad(() => call(`/v1/entities/${didPath(group)}`), [group]);
  const scopes = twin.data?.properties?.scopes || [], closed = twin.data && twin.data.status !== "active";
  const drop = async (m) => {
    if (!confirm(t("people.sureRemove"))) return;
    if (await act.run(async () => { await call(`/v1/entities/${didPath(group)}/members/${didPath(m.member)}`, { method: "DELETE" }); return true; })) again();
  };
  return html`<section class="card members"><div class="card-head"><h2>${t("people.membersOf")} <${Name} did=${group} /></h2><button type="button" class="small" onClick=${() => setQuery({ group: "" })}>${t("ui.close")}</button></div>
    ${scopes.length ? html`<p class="mute">${t("people.gives")} ${sentences(scopes).join("; ")}.</p>` : null}
    <${Failure} error=${act.error} />
    <${Loaded} of=${list} rows=${3}>${(d) => html`${may("groups:write") && !closed ? html`<${Add} group=${group} members=${d.items.map((m) => m.member)} done=${again} />` : null}
      ${d.items.length ? html`<${Rows} items=${d.items} id=${(m) => m.member} columns=${[
        { label: t("people.who"), cell: (m) => html`<${Name} did=${m.member} />` },
        { label: t("people.since"), cell: (m) => html`<${Time} at=${m.addedAt} />` },
        { label: t("people.by"), cell: (m) => html`<${Name} did=${m.addedBy} />` },
        ...(may("groups:write") ? [{ label: "", cell: (m) => html`<button type="button" class="small" disabled=${act.busy} onClick=${() => drop(m)}>${t("people.remove")}</button>` }] : []),
      ]} />` : html`<p class="mute">${t("people.noMembers")}</p>`}`}</${Loaded}></section>`;
}
