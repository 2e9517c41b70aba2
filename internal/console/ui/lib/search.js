// @ts-check
// The search of everything: / anywhere, arrows to choose, Enter to open.
import { html, useEffect, useRef, useState } from "../vendor/preact.js";
import { call, isStale, query } from "./api.js";
import { base, go, surveyHref, twinHref } from "./router.js";
import { Icon, useKeys } from "./ui.js";
import { t, has } from "./words.js";

const where = (hit) => {
  switch (hit.kind) {
    case "twin": return twinHref(hit.id);
    case "survey": return surveyHref(hit.id);
    case "response": return base + "/responses/" + encodeURIComponent(hit.id);
  }
  return hit.did ? twinHref(hit.did) : null;
};

/** What tells a hit from others of the same name: what it is, where, and its number elsewhere. */
const told = (h) => [h.type || (has("kind." + h.kind) ? t("kind." + h.kind) : h.kind), h.place, h.name && (h.found || h.externalId), h.match === "phone" && t("search.byPhone")].filter(Boolean);

export function Search() {
  const [text, set] = useState(""), [hits, show] = useState(/** @type {any[] | null} */ (null)), [at, setAt] = useState(0), [failed, fail] = useState(""), [more, setMore] = useState(false);
  const box = useRef(/** @type {any} */ (null));
  const close = () => { show(null); fail(""); };
  useKeys({ "/": (e) => { e.preventDefault(); box.current.focus(); }, Escape: () => { close(); box.current.blur(); } });
  useEffect(() => {
    const q = text.trim();
    if (!q) { close(); return; }
    const wait = setTimeout(async () => {
      try {
        const found = await call(query("/v1/search", { q }), { name: "search" });
        fail(""); setAt(0); setMore(!!found.more?.length); show(found.items.filter(where));
      } catch (e) {
        if (!isStale(e)) { show([]); fail(e.message); }
      }
    }, 150);
    return () => clearTimeout(wait);
  }, [text]);
  const open = (hit) => { set(""); close(); go(where(hit).slice(base.length)); };
  const keys = (e) => {
    if (!hits) return;
    if (e.key === "ArrowDown") { e.preventDefault(); setAt(Math.min(at + 1, hits.length - 1)); }
    if (e.key === "ArrowUp") { e.preventDefault(); setAt(Math.max(at - 1, 0)); }
    if (e.key === "Enter" && hits[at]) open(hits[at]);
  };
  const list = hits && html`<ul id="hits" role="listbox" aria-label=${t("search.hits")}>${hits.length
    ? hits.map((h, i) => html`<li id=${"hit" + i} key=${h.kind + h.id} role="option" aria-selected=${i === at} onMouseDown=${() => open(h)}><strong>${h.name || h.externalId || h.id}</strong><span class="mute">${told(h).join(" · ")}</span></li>`)
    : html`<li role="option" aria-selected="false" aria-disabled="true" class="mute">${failed || t("search.nothing")}</li>`}
    ${hits.length > 0 && more && html`<li role="option" aria-selected="false" aria-disabled="true" class="mute">${t("search.more")}</li>`}</ul>`;
  return html`<div class="search" role="search"><${Icon} name="search" />
    <input ref=${box} type="search" role="combobox" aria-expanded=${!!hits} aria-controls="hits" aria-activedescendant=${hits?.length ? "hit" + at : undefined} aria-autocomplete="list" aria-label=${t("search.label")} placeholder=${t("search.label")} value=${text} onInput=${(e) => set(e.target.value)} onKeyDown=${keys} onBlur=${() => setTimeout(close, 150)} /><kbd>/</kbd>${list}</div>`;
}
