// @ts-check
// Pieces every page is made of.
import { html, useEffect, useRef, useState } from "../vendor/preact.js";
import { isStale, me, online } from "./api.js";
import { t, has, number } from "./words.js";

const paths = {
  home: "M4 11 12 4l8 7v9h-5v-6H9v6H4z",
  twins: "M12 3 3 8v8l9 5 9-5V8zM3 8l9 5 9-5M12 13v8",
  survey: "M6 3h12v18H6zM9 8h6M9 12h6M9 16h3",
  desk: "M4 12l5 6L20 6",
  phone: "M7 2h10v20H7zM11 18.5h2",
  chat: "M4 5h16v11H9l-5 4z",
  activity: "M3 12h4l3-8 4 16 3-8h4",
  key: "M14 10a4 4 0 1 0-4 4l1-1 2 2 2-2 2 2 3-3-4-4",
  search: "M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14zM16 16l5 5",
  alert: "M12 3 2 21h20zM12 10v5M12 18v.5",
  lock: "M6 11h12v9H6zM8 11V8a4 4 0 0 1 8 0v3",
  sun: "M12 7a5 5 0 1 0 0 10 5 5 0 0 0 0-10zM12 1v3M12 20v3M1 12h3M20 12h3",
  send: "M3 12 21 4l-6 16-3-7z",
  pin: "M12 21s-6-6-6-11a6 6 0 0 1 12 0c0 5-6 11-6 11zM12 8a2 2 0 1 0 .1 0",
  graph: "M6 6a2 2 0 1 0 .1 0M18 6a2 2 0 1 0 .1 0M12 18a2 2 0 1 0 .1 0M8 8h8M8 9l3 7M16 9l-3 7",
  dice: "M5 5h14v14H5zM9 9h.1M15 9h.1M12 12h.1M9 15h.1M15 15h.1",
  flame: "M12 3c1 4 5 6 5 11a5 5 0 0 1-10 0c0-2 1-3 2-4 0 2 1 3 2 3 1-3-1-6 1-10z",
  jobs: "M4 6h16M4 12h10M4 18h13",
  upload: "M12 16V4M7 9l5-5 5 5M4 20h16",
  hook: "M12 3v10a4 4 0 1 1-4-4",
  plug: "M9 3v5M15 3v5M6 8h12v4a6 6 0 0 1-12 0zM12 18v4",
  seal: "M12 3a6 6 0 1 0 0 12 6 6 0 0 0 0-12zM8 14l-2 7 6-3 6 3-2-7M9.5 9l2 2 3-4",
  more: "M5 12h.1M12 12h.1M19 12h.1",
  file: "M6 3h8l4 4v14H6zM14 3v4h4",
  people: "M9 11a3.5 3.5 0 1 0-.1 0M3 20c0-4 3-6 6-6s6 2 6 6M16 11a3 3 0 1 0 0-6M17 14c3 0 4 2 4 5",
};

export const Icon = ({ name }) => html`<svg class="icon" viewBox="0 0 24 24" aria-hidden="true"><path d=${paths[name] || ""} /></svg>`;

const tones = {
  active: "good", verified: "good", succeeded: "good", done: "good", ready: "good", ok: "good", published: "good", completed: "good", delivered: "good", finished: "good", approved: "good", recorded: "good", drawn: "good", frozen: "good",
  pending: "warn", flagged: "warn", disputed: "warn", partial: "warn", paused: "warn", suspended: "warn", running: "warn", queued: "warn", waiting: "warn", completedWithErrors: "warn", rotated: "warn", degraded: "warn", committed: "warn", contributed: "warn", drawing: "warn", building: "warn",
  rejected: "bad", failed: "bad", refused: "bad", deactivated: "bad", revoked: "bad", expired: "bad", dead: "bad", invalidated: "bad", interrupted: "bad",
};

/** A word of state, in colour and in the language of the page. */
export const Badge = ({ value }) => html`<span class=${"badge " + (tones[value] || "mute")}>${has("state." + value) ? t("state." + value) : String(value ?? "–")}</span>`;

/** A page: its title, a sentence under it, what can be done, and the call behind it. */
export function Page({ title, about, actions, crumb, curl, children }) {
  document.title = (typeof title === "string" ? title + " · " : "") + "Hearth";
  return html`<header class="page">
      ${crumb && html`<p class="crumb">${crumb}</p>`}
      <div class="page-head"><h1>${title}</h1>${actions && html`<div class="actions">${actions}</div>`}</div>
      ${about && html`<p class="mute">${about}</p>`}
    </header>
    ${children}
    ${curl && html`<${Curl} path=${curl} />`}`;
}

/** The call behind a page, to paste into a terminal. The key is never in it. */
export function Curl({ path, body = /** @type {any} */ (undefined) }) {
  const header = /^\/(sessions|messages|runs)\b/.test(path) ? "X-API-Key: $KEY" : "Authorization: Bearer $KEY"; // the oracle gives a bearer another meaning
  const sent = body ? ` -H "Content-Type: application/json" -d '${JSON.stringify(body).replaceAll("'", "'\\''")}'` : "";
  const line = `curl -H "${header}"${sent} "${location.origin}${path}"`;
  return html`<details class="curl"><summary>${t("ui.curl")}</summary><pre tabindex="0"><code>${line}</code></pre><${Copy} text=${line} /></details>`;
}

/** Copies a text; selects it where the browser has no clipboard. */
export function Copy({ text, label = t("ui.copy") }) {
  const [done, set] = useState(false), box = useRef(/** @type {any} */ (null));
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      set(true);
      setTimeout(() => set(false), 1500);
    } catch {
      const range = document.createRange();
      const from = box.current.closest("details, .copyable")?.querySelector("code") || box.current;
      range.selectNodeContents(from);
      getSelection()?.removeAllRanges();
      getSelection()?.addRange(range);
    }
  };
  return html`<button ref=${box} type="button" class="small" onClick=${copy}>${done ? t("ui.copied") : label}</button>`;
}

export const Empty = ({ icon, title, children }) => html`<div class="empty">${icon && html`<${Icon} name=${icon} />`}<h2>${title}</h2><div>${children}</div></div>`;

export const Loading = ({ rows = 6 }) => html`<div class="skeleton" role="status" aria-label=${t("ui.loading")}>${Array.from({ length: rows }, (_, i) => html`<div key=${i}></div>`)}</div>`;

/** Whether something failed because the server could not be reached, and the server is back. */
export const isBack = (error) => error?.status === 0 && online.value;

/**
 * What went wrong, with the fields, the code and the request to ask about. That the
 * server cannot be reached stands once on top of the page; what was to be read is
 * asked for again by itself.
 */
export function Failure({ error, again }) {
  if (!error || isStale(error) || (error.status === 0 && again && me.value)) return null;
  const forbidden = error.status === 403;
  return html`<div class=${"failure" + (forbidden ? " forbidden" : "")} role="alert"><${Icon} name=${forbidden ? "lock" : "alert"} /><div>
    <strong>${error.status === 0 ? t("ui.unsent") : error.message}</strong>
    ${error.fields?.length ? html`<ul>${error.fields.map((f) => html`<li><code>${f.pointer}</code> ${f.detail}</li>`)}</ul>` : null}
    ${forbidden && html`<p>${t("ui.forbidden")}</p>`}
    <p class="small">${[error.code, error.requestId && t("ui.request", { id: error.requestId })].filter(Boolean).join(" · ")}</p>
    ${again && !forbidden && html`<button type="button" class="small" onClick=${again}>${t("ui.again")}</button>`}</div></div>`;
}

/** Loads something when deps change. Old data stay while new ones come. */
export function useLoad(f, deps) {
  const [s, set] = useState(/** @type {any} */ ({ loading: true }));
  const turn = useRef(0);
  const load = () => {
    const mine = ++turn.current;
    const newest = (next) => { if (mine === turn.current) set(next); };
    set((o) => ({ ...o, loading: true, error: undefined }));
    return Promise.resolve().then(f).then(
      (data) => newest({ data, loading: false }),
      (error) => isStale(error) || newest((o) => ({ data: o.data, error, loading: false })),
    );
  };
  const back = isBack(s.error);
  useEffect(() => { load(); return () => { turn.current++; }; }, deps);
  useEffect(() => { if (back) load(); }, [back]);
  return { ...s, reload: load };
}

/** Shows what useLoad has, in each of its states. */
export function Loaded({ of, rows = 6, children }) {
  return html`<${Failure} error=${of.error} again=${of.reload} />${of.data ? html`<div class=${of.loading ? "stale" : ""}>${children(of.data)}</div>` : of.error?.status ? null : html`<${Loading} rows=${rows} />`}`;
}

export const short = (text) => {
  const s = String(text || "");
  return s.length > 26 ? s.slice(0, 14) + "…" + s.slice(-6) : s;
};

/** An id that a person may need whole: short, with the whole in its title. */
export const Id = ({ value }) => html`<code title=${value}>${short(value)}</code>`;

function ago(at) {
  const d = new Date(at), s = (Date.now() - d.getTime()) / 1000;
  if (Number.isNaN(s)) return "–";
  if (s < -60 && s > -3600) return t("time.inMinutes", { n: Math.ceil(-s / 60) });
  if (s < -60 && s > -86400) return t("time.inHours", { n: Math.floor(-s / 3600) });
  if (s < -60 || s > 86400 * 6) return d.toISOString().slice(0, 10);
  if (s < 60) return t("time.now");
  if (s < 3600) return t("time.minutes", { n: Math.floor(s / 60) });
  if (s < 86400) return t("time.hours", { n: Math.floor(s / 3600) });
  return t("time.days", { n: Math.floor(s / 86400) });
}

export const Time = ({ at }) => (at ? html`<time dateTime=${at} title=${at}>${ago(at)}</time>` : "–");

/** What people call a twin. */
export const nameOf = (e) => e?.properties?.name || e?.metadata?.name || e?.name || e?.properties?.title || e?.properties?.serialNumber || Object.values(e?.externalIds || {})[0] || short(e?.did);

/** The name of a member as people write it: minimumDuration has two words. */
export const spaced = (key) => key.replace(/([a-z0-9])([A-Z])(?![A-Z])/g, (_, a, b) => a + " " + b.toLowerCase()).replaceAll("_", " ");

/** How wide an element is, in pixels, while it is there. */
export function useWidth(ref, first) {
  const [width, set] = useState(first);
  useEffect(() => {
    const o = new ResizeObserver(() => { if (ref.current?.clientWidth) set(ref.current.clientWidth); });
    o.observe(ref.current);
    return () => o.disconnect();
  }, []);
  return width;
}

/** A number the server computed, with what it counts. */
export const Tile = ({ label, value, small, href, tone = "" }) => {
  const body = html`<span>${label}</span><strong>${typeof value === "number" ? number(value) : value ?? "…"}</strong><small>${small}</small>`;
  return href ? html`<a class=${"tile " + tone} href=${href}>${body}</a>` : html`<div class=${"tile " + tone}>${body}</div>`;
};

/** Parts of a whole as one bar, in words for those who do not see it. */
export function Bar({ parts, of, label }) {
  const width = (n) => ({ width: Math.min(100, (100 * (n || 0)) / Math.max(of, 1)) + "%" });
  return html`<div class="bar" role="img" aria-label=${label}>${parts.map(([tone, n]) => html`<i class=${tone} style=${width(n)}></i>`)}</div>`;
}

/** When g was pressed: the next letter is a page, not what the page itself does with it. */
export const chord = { at: 0 };

/** Keys that do something on this page, but not while somebody types. */
export function useKeys(map) {
  const ref = useRef(map);
  ref.current = map;
  useEffect(() => {
    const on = (e) => {
      if (e.metaKey || e.ctrlKey || e.altKey || e.defaultPrevented) return;
      if (e.target?.matches?.("input,textarea,select") && e.key !== "Escape") return;
      if (document.querySelector("dialog[open]") && e.key !== "Escape") return;
      if (Date.now() - chord.at < 1000 && !ref.current.g) return;
      ref.current[e.key]?.(e);
    };
    addEventListener("keydown", on);
    return () => removeEventListener("keydown", on);
  }, []);
}
