// A browser for the SDK: jsdom for its globals, React to run its hooks, and a
// fetch that keeps to CORS as browsers do and Node does not.
import { inspect } from "node:util";
import { JSDOM } from "jsdom";
import { cleanup, within } from "./run.mjs";

// origin is the page all users look at. CORS_ORIGIN of the server names it.
export const origin = process.env.ORIGIN;

const dom = new JSDOM("<!doctype html><body></body>", { url: origin });
for (const name of ["window", "document", "navigator", "localStorage"]) {
  // Newer Nodes have some of them already, as getters.
  Object.defineProperty(globalThis, name, { value: dom.window[name], configurable: true, writable: true });
}

const plainFetch = globalThis.fetch;
const safeHeaders = new Set(["accept", "accept-language", "content-language"]);
const readableHeaders = ["cache-control", "content-language", "content-length", "content-type", "expires", "last-modified", "pragma"];
const allowed = new Map(); // preflights that went well

// requests is what the SDK has sent, newest last.
export const requests = [];

const listOf = (headers, name) => (headers.get(name) ?? "").split(",").map((s) => s.trim().toLowerCase()).filter(Boolean);

function checkOrigin(answer, what) {
  const got = answer.headers.get("access-control-allow-origin");
  if (got !== origin && got !== "*") throw new TypeError(`CORS: ${what} allows origin ${got}, not ${origin}`);
}

async function preflight(url, method, names) {
  const key = `${method} ${url} ${names}`;
  if (allowed.has(key)) return;
  const headers = { origin, "access-control-request-method": method };
  if (names.length > 0) headers["access-control-request-headers"] = names.join(",");
  const answer = await plainFetch(url, { method: "OPTIONS", headers });
  await answer.arrayBuffer();
  if (!answer.ok) throw new TypeError(`CORS: preflight of ${method} ${url} got ${answer.status}`);
  checkOrigin(answer, `preflight of ${url}`);
  const methods = listOf(answer.headers, "access-control-allow-methods");
  if (!["GET", "HEAD", "POST"].includes(method) && !methods.includes(method.toLowerCase())) {
    throw new TypeError(`CORS: ${method} is not among ${methods}`);
  }
  const may = listOf(answer.headers, "access-control-allow-headers");
  const bad = names.filter((name) => !may.includes(name));
  if (bad.length > 0) throw new TypeError(`CORS: ${bad} not among the allowed headers ${may}`);
  allowed.set(key, true);
}

globalThis.fetch = async (url, options = {}) => {
  const method = (options.method ?? "GET").toUpperCase();
  const headers = new Headers(options.headers);
  requests.push({ method, url: String(url), headers });
  // A JSON content type and every header of ours needs a preflight.
  const names = [...headers.keys()].filter((name) => !safeHeaders.has(name)).sort();
  if (names.length > 0 || !["GET", "HEAD", "POST"].includes(method)) await preflight(String(url), method, names);
  headers.set("origin", origin);
  const answer = await plainFetch(url, { ...options, headers });
  checkOrigin(answer, `${method} ${url}`);
  const readable = new Set([...readableHeaders, ...listOf(answer.headers, "access-control-expose-headers")]);
  const shown = new Headers([...answer.headers].filter(([name]) => readable.has(name)));
  Object.defineProperty(answer, "headers", { value: shown });
  return answer;
};

// React and the SDK look for the globals above when they are loaded.
const { createElement } = await import("react");
const { createRoot } = await import("react-dom/client");
export const sdk = await import("@ixo/oracles-client-sdk");

// open shows a page to a user: the provider with hooks() inside. It returns
// what the hooks gave at the last render, and until, which waits for a render
// that a condition likes.
export async function open(user, hooks, { invocations = true } = {}) {
  const page = { user, now: undefined, renders: 0 };
  const waiting = new Set();
  function Probe() {
    page.now = hooks();
    page.renders++;
    queueMicrotask(() => waiting.forEach((look) => look()));
    return page.now?.shown ?? null;
  }
  const place = document.createElement("div");
  document.body.append(place);
  page.place = place;
  const root = createRoot(place);
  const token = (make, ttl) => async () => ({ serialized: await make({ ttl }), expiresAt: Date.now() + ttl * 1000 });
  const props = {
    initialWallet: { address: "ixo1user", did: user.did, matrix: { accessToken: "syt_secret", homeServer: "matrix.example" } },
    transactSignX: async () => undefined,
    createDelegation: token(user.delegation, 3600),
    ...(invocations && { createInvocation: token(user.invocation, 600) }),
  };
  root.render(createElement(sdk.OraclesProvider, props, createElement(Probe)));
  page.close = () => {
    root.unmount();
    place.remove();
  };
  cleanup(page.close);
  page.until = (holds, what) => {
    let look;
    const held = new Promise((resolve, reject) => {
      look = () => {
        try {
          const value = page.now !== undefined && holds(page.now);
          if (value) resolve(value);
        } catch (error) {
          reject(error);
        }
      };
      waiting.add(look);
      look();
    });
    return within(held, () => `${what}; the page shows ${inspect(page.now?.chat ?? page.now, { depth: 4, maxStringLength: 300 })}`).finally(() => waiting.delete(look));
  };
  await page.until(() => true, "first render");
  return page;
}
