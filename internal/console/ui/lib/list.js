// @ts-check
// A list of the server: filters and place in the address, pages by cursor, keys
// to move. Every list of the console is one of these.
import { html, useEffect, useState } from "../vendor/preact.js";
import { call, query } from "./api.js";
import { route, setQuery, go, base } from "./router.js";
import { Curl, Empty, Failure, Loading, useKeys, useLoad } from "./ui.js";
import { t } from "./words.js";

/**
 * @param {{
 *   path: string, params?: Record<string, any>, limit?: number,
 *   filters?: {key: string, label: string, options?: any[], date?: boolean, placeholder?: string, any?: string, local?: boolean}[],
 *   columns: {label: string, cell: (item: any) => any, num?: boolean}[],
 *   id: (item: any) => string, href?: (item: any) => string | null,
 *   empty: {icon?: string, title: string, text?: any}, tools?: any, over?: any, turn?: number, onPage?: (page: any) => void,
 * }} props
 */
export function List({ path, params = {}, limit = 25, filters = [], columns, id, href, empty, over, onPage, tools, turn = 0 }) {
  const asked = route.value.query, stack = route.value.state.stack || [];
  const own = Object.fromEntries(filters.filter((f) => !f.local).map((f) => [f.key, asked[f.key]]));
  const url = query(path, { ...params, ...own, limit, cursor: asked.cursor });
  const page = useLoad(() => call(url, { name: "list " + path }).then((d) => ({ ...d, url })), [url, turn]);
  // Until the page of this address is there, the old one shows, and leads nowhere.
  const items = page.data?.items || [], more = page.data?.page?.hasMore, here = page.data?.url === url;
  const [at, setAt] = useState(0);
  useEffect(() => { setAt(0); onPage?.(page.data); }, [page.data]);

  const next = () => here && more && setQuery({ cursor: page.data.page.nextCursor }, { state: { stack: [...stack, asked.cursor || ""] } });
  const back = () => here && stack.length && setQuery({ cursor: stack[stack.length - 1] }, { state: { stack: stack.slice(0, -1) } });
  const open = () => { const to = items[at] && href?.(items[at]); if (to) go(to.slice(base.length)); };
  useKeys({
    j: () => setAt((n) => Math.min(n + 1, items.length - 1)),
    k: () => setAt((n) => Math.max(n - 1, 0)),
    n: next, p: back,
    Enter: (e) => { if (e.target === document.body || e.target.id === "main") open(); },
  });
  const narrowed = filters.some((f) => asked[f.key]);
  return html`
    <${Filters} filters=${filters} asked=${asked} narrowed=${narrowed} tools=${tools} />
    ${over && page.data && over(page.data)}
    <${Failure} error=${page.error} again=${page.reload} />
    ${!page.data ? (page.error?.status ? null : html`<${Loading} rows=${8} />`)
      : items.length ? html`<${Rows} columns=${columns} items=${items} id=${id} href=${href} at=${at} stale=${page.loading || !here} />`
      : html`<${Empty} icon=${empty.icon} title=${narrowed ? t("list.nothing") : empty.title}><p>${narrowed ? page.data.hint || t("list.widen") : empty.text}</p></${Empty}>`}
    ${page.data && (more || stack.length > 0) && html`<nav class="pager" aria-label=${t("list.pages")}>
      <button type="button" onClick=${back} disabled=${!stack.length}>‹ ${t("list.back")}</button>
      <span class="mute">${t(more ? "list.page" : "list.last", { n: stack.length + 1 })}</span>
      <button type="button" onClick=${next} disabled=${!more}>${t("list.next")} ›</button>
      <span class="keys mute"><kbd>j</kbd><kbd>k</kbd> ${t("keys.move")} <kbd>↵</kbd> ${t("keys.open")} <kbd>n</kbd><kbd>p</kbd> ${t("keys.page")}</span></nav>`}
    <${Curl} path=${url} />`;
}

/** The filters of a page, in its address. Those that are local stand in params in another form. */
export function Filters({ filters, asked, narrowed, tools }) {
  const set = (key, value) => setQuery({ [key]: value.trim(), cursor: "" });
  if (!filters.length && !tools) return null;
  return html`<div class="filters">
    ${filters.map((f) => html`<label key=${f.key}><span>${f.label}</span>${f.options
      ? html`<select value=${asked[f.key] || ""} onChange=${(e) => set(f.key, e.target.value)}>
          <option value="">${f.any || t("list.any")}</option>
          ${f.options.map((o) => (typeof o === "string" ? html`<option value=${o}>${o}</option>` : html`<option value=${o.value}>${o.label}</option>`))}</select>`
      : f.date ? html`<input type="date" value=${(asked[f.key] || "").slice(0, 10)} onChange=${(e) => set(f.key, e.target.value && e.target.value + "T00:00:00Z")} />`
      : html`<input type="search" key=${asked[f.key]} defaultValue=${asked[f.key] || ""} placeholder=${f.placeholder || ""} onChange=${(e) => set(f.key, e.target.value)} />`}</label>`)}
    ${narrowed && html`<button type="button" class="link" onClick=${() => setQuery({ ...Object.fromEntries(filters.map((f) => [f.key, ""])), cursor: "" })}>${t("list.clear")}</button>`}
    ${tools}</div>`;
}

/** A table of rows. On a phone each row is a card with its first cell on top. */
export function Rows({ columns, items, id, href, at = -1, stale = false }) {
  return html`<div class=${"table-wrap" + (stale ? " stale" : "")}><table>
    <thead><tr>${columns.map((c) => (c.label ? html`<th scope="col" class=${c.num ? "num" : ""}>${c.label}</th>` : html`<td></td>`))}</tr></thead>
    <tbody>${items.map((item, i) => {
      const to = href?.(item);
      return html`<tr key=${id(item)} class=${i === at ? "at" : ""}>${columns.map((c, n) => html`<td data-label=${c.label} class=${c.num ? "num" : ""}>${n === 0 && to ? html`<a href=${to}>${c.cell(item)}</a>` : c.cell(item)}</td>`)}</tr>`;
    })}</tbody></table></div>`;
}
