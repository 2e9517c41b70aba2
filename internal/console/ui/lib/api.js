// @ts-check
// One way to call the server. An error keeps the problem document; a newer call
// of the same name aborts an older one, whose answer would be stale.
import { signal } from "../vendor/preact.js";

/** Whether the last request reached the server. */
export const online = signal(true);

/** Who is signed in: undefined before it is known, null for nobody. */
export const me = signal(/** @type {any} */ (undefined));

export class Problem extends Error {
  constructor(status, body) {
    const text = Array.isArray(body.message) ? body.message.join(" ") : body.message;
    super(body.detail || text || body.title || "The server answered " + status + ".");
    this.status = status;
    this.code = body.code || "";
    this.fields = body.errors || [];
    this.requestId = body.requestId || "";
    this.body = body;
  }
}

/** What is stale is no failure: nobody waits for it any more. */
export const isStale = (error) => error?.name === "AbortError";

const running = new Map();

// While the server cannot be reached it is asked every few seconds whether it is
// back, so that pages go on without a click.
let looking = 0;
function lookForServer() {
  clearTimeout(looking);
  looking = setTimeout(() => send("/console/session").catch(() => {}), 3000);
}

// How far this page has written: what it reads shows that, also from a replica.
let position = "";

/** A position as a number: 3/1F is 0x3_0000001F. */
const place = (at) => at.split("/").reduce((sum, part) => sum * 2 ** 32 + (parseInt(part, 16) || 0), 0);

/**
 * Sends a request and reads the JSON it is answered with.
 * @param {string} path
 * @param {{method?: string, body?: any, raw?: BodyInit, headers?: Record<string, string>, name?: string}} [how]
 */
export async function call(path, how = {}) {
  const answer = await send(path, how);
  const text = await answer.text();
  let data = {};
  try {
    data = text ? JSON.parse(text) : {};
  } catch {
    data = { detail: text };
  }
  if (!answer.ok) throw new Problem(answer.status, data);
  return data;
}

/** Sends a request and gives its answer, whatever it is. */
export async function send(path, { method = "GET", body, raw, headers = {}, name = "" } = {}) {
  const stop = new AbortController();
  if (name) {
    running.get(name)?.abort();
    running.set(name, stop);
  }
  const own = { ...headers };
  if (body !== undefined) own["Content-Type"] ??= "application/json";
  if (method !== "GET") own["X-Hearth-Console"] = "1";
  else if (position) own["Hearth-Position"] ??= position;
  let answer;
  try {
    answer = await fetch(path, {
      method, headers: own, signal: stop.signal, credentials: "same-origin",
      body: raw ?? (body === undefined ? undefined : JSON.stringify(body)),
    });
  } catch (e) {
    if (isStale(e)) throw e;
    online.value = false;
    lookForServer();
    throw new Problem(0, { title: "The server cannot be reached. What you see may be old.", code: "OFFLINE" });
  }
  online.value = true;
  const at = answer.headers.get("Hearth-Position");
  if (at && method !== "GET" && place(at) > place(position)) position = at;
  if (answer.status === 401 && me.value) me.value = null;
  return answer;
}

/** Ends the newest call of a name, if it is still under way. */
export const drop = (name) => running.get(name)?.abort();

/** A path with a query; what is empty is left out. */
export function query(path, params) {
  const u = new URLSearchParams();
  for (const [k, v] of Object.entries(params)) if (v !== undefined && v !== null && v !== "") u.set(k, String(v));
  const s = u.toString();
  return s ? path + "?" + s : path;
}

/** A DID as a part of a path. */
export const didPath = (did) => encodeURIComponent(did).replaceAll("%3A", ":");

/** A new id. Browsers have randomUUID over TLS and on this machine only. */
export const newId = () => [...crypto.getRandomValues(new Uint8Array(16))].map((b) => b.toString(16).padStart(2, "0")).join("");

/** Whether whoever is signed in may do something. */
export function may(scope) {
  const [resource] = scope.split(":");
  return !!me.value?.scopes?.some((s) => s === "*" || s === scope || s === resource + ":*");
}

/** Whether this server has an area. */
export const hasArea = (area) => !area || !!me.value?.areas?.includes(area);
