// @ts-check
// The address is the state: page, filters and place in a list stand in it, so
// that back, reload and sending a link work.
import { signal } from "../vendor/preact.js";

export const base = "/console";

const read = () => ({
  path: location.pathname.slice(base.length) || "/",
  query: Object.fromEntries(new URLSearchParams(location.search)),
  state: history.state || {},
});

export const route = signal(read());

/** Goes to a page of the console. */
export function go(to, { replace = false, state = {}, quiet = false } = {}) {
  history[replace ? "replaceState" : "pushState"](state, "", base + to);
  route.value = read();
  if (replace || quiet) return;
  document.getElementById("main")?.focus({ preventScroll: true });
  scrollTo(0, 0);
}

/** Changes some of the query of this page. */
export function setQuery(changes, { replace = false, state = {} } = {}) {
  const u = new URLSearchParams(location.search);
  for (const [k, v] of Object.entries(changes)) {
    if (v === undefined || v === null || v === "") u.delete(k);
    else u.set(k, v);
  }
  const s = u.toString();
  go(route.value.path + (s ? "?" + s : ""), { replace, state, quiet: true });
}

addEventListener("popstate", () => { route.value = read(); });

// Links to pages of the console do not load it anew.
addEventListener("click", (e) => {
  if (e.defaultPrevented || e.button || e.metaKey || e.ctrlKey || e.shiftKey || e.altKey) return;
  const a = e.target instanceof Element ? e.target.closest("a[href]") : null;
  if (!(a instanceof HTMLAnchorElement) || a.target || a.hasAttribute("download")) return;
  if (a.origin !== location.origin || !a.pathname.startsWith(base + "/") || a.hash) return;
  e.preventDefault();
  go(a.pathname.slice(base.length) + a.search);
});

/** Matches a pattern such as /twins/:did; what it names, or null. */
export function match(pattern, path) {
  const parts = (p) => p.replace(/\/+$/, "").split("/");
  const want = parts(pattern), have = parts(path), out = {};
  if (want.length !== have.length) return null;
  for (let i = 0; i < have.length; i++) {
    if (!want[i].startsWith(":")) {
      if (want[i] !== have[i]) return null;
      continue;
    }
    try {
      out[want[i].slice(1)] = decodeURIComponent(have[i]);
    } catch {
      return null;
    }
  }
  return out;
}

export const twinHref = (did) => base + "/twins/" + encodeURIComponent(did);
export const surveyHref = (id) => base + "/surveys/" + encodeURIComponent(id);
