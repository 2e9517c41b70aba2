// @ts-check
// Events as they happen. A page has a stream only while it is looked at: over
// HTTP/1.1 a browser has six connections to a server, and the streams of hidden
// tabs would use them up. Nothing is missed: the next stream begins after the
// last event that was seen.
import { signal } from "../vendor/preact.js";
import { call, may, me, query } from "./api.js";

export const state = signal("off");

/** What each kind of event means, in the words of the server. */
export const kinds = signal(/** @type {Record<string, string>} */ ({}));

const listeners = new Set();
let source, last = 0, started = false, again;

/** Calls f with each event from now on; the answer ends that. */
export function onEvent(f) {
  listeners.add(f);
  return () => listeners.delete(f);
}

function take(message) {
  let e;
  try {
    e = JSON.parse(message.data);
  } catch {
    return; // not an event
  }
  if (e.seq) last = Math.max(last, e.seq);
  listeners.forEach((f) => f(e));
}

function open() {
  if (source || !started || document.visibilityState !== "visible") return;
  source = new EventSource(query("/v1/events", { after: last || "" }));
  source.onopen = () => { state.value = "live"; };
  source.onerror = lost;
  source.onmessage = take;
  Object.keys(kinds.value).forEach((type) => source.addEventListener(type, take));
}

// A browser connects again by itself when the line breaks, and not after an answer
// that refuses: then the session may be over, or the server busy.
function lost() {
  state.value = "reconnecting";
  if (source?.readyState !== EventSource.CLOSED) {
    call("/console/session").catch(() => {}); // whether it is the server that is gone, the page says
    return;
  }
  source = undefined;
  clearTimeout(again);
  again = setTimeout(async () => {
    const now = await call("/console/session").catch(() => ({ signedIn: true })); // nobody answers: try once more
    if (!now.signedIn) me.value = null;
    else open();
  }, 1000);
}

function close() {
  source?.close();
  source = undefined;
  if (started) state.value = "paused";
}

/** When this is over, every event from then on will come. */
export let begun = Promise.resolve();

/** Begins behind the newest event there is. */
export function start() {
  if (!started && may("events:read")) begun = begin().catch(() => {}); // the pages work without
}

async function begin() {
  started = true;
  const [types, newest] = await Promise.all([call("/v1/events/types"), may("audit:read") ? call("/v1/audit?limit=1") : { items: [] }]);
  kinds.value = Object.fromEntries(types.items.map((t) => [t.type, t.description]));
  last = newest.items[0]?.seq || 0;
  open();
}

export function stop() {
  started = false;
  clearTimeout(again);
  close();
  state.value = "off";
}

document.addEventListener("visibilitychange", () => (document.visibilityState === "visible" ? open() : close()));
addEventListener("pagehide", close);
addEventListener("pageshow", open);
