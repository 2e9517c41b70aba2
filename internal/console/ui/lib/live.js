// @ts-check
// Events as they happen. A page has a stream only while it is looked at: over
// HTTP/1.1 a browser has six connections to a server, and the streams of hidden
// tabs would use them up. Nothing is missed: the next stream begins after the
// last event that was seen.
import { signal } from "../vendor/preact.js";
import { call, may } from "./api.js";

export const state = signal("off");

/** What each kind of event means, in the words of the server. */
export const kinds = signal(/** @type {Record<string, string>} */ ({}));

const listeners = new Set();
let source, last = 0, started = false;

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
  source = new EventSource("/v1/events?after=" + last);
  source.onopen = () => { state.value = "live"; };
  source.onerror = () => { state.value = "reconnecting"; };
  source.onmessage = take;
  Object.keys(kinds.value).forEach((type) => source.addEventListener(type, take));
}

function close() {
  source?.close();
  source = undefined;
  if (started) state.value = "paused";
}

/** Begins behind the newest event there is. */
export async function start(after) {
  if (started || !may("events:read")) return;
  if (!Object.keys(kinds.value).length) {
    const types = await call("/v1/events/types");
    kinds.value = Object.fromEntries(types.items.map((t) => [t.type, t.description]));
  }
  last = after;
  started = true;
  open();
}

export function stop() {
  started = false;
  close();
  state.value = "off";
}

document.addEventListener("visibilitychange", () => (document.visibilityState === "visible" ? open() : close()));
addEventListener("pagehide", close);
addEventListener("pageshow", open);
