// @ts-check
// Names for DIDs: people read names, and a DID is one click deeper. What a page
// shows is asked for together, once.
import { html, signal, useEffect } from "../vendor/preact.js";
import { call, query } from "./api.js";
import { twinHref } from "./router.js";
import { short } from "./ui.js";
import { t } from "./words.js";

const known = signal(/** @type {Record<string, any>} */ ({}));
const wanted = new Set();
let waiting = false;

async function ask() {
  waiting = false;
  const list = [...wanted].slice(0, 100);
  list.forEach((d) => wanted.delete(d));
  if (!list.length) return;
  try {
    const answer = await call(query("/v1/names", { did: list.join(",") }));
    const found = Object.fromEntries(list.map((d) => [d, null]));
    for (const n of answer.items) found[n.did] = n;
    known.value = { ...known.value, ...found };
  } catch {
    known.value = { ...known.value, ...Object.fromEntries(list.map((d) => [d, null])) }; // the DID itself is shown
  }
  if (wanted.size) ask();
}

/** The name of a DID, with a link when it is a twin. */
export function Name({ did, link = true }) {
  const n = known.value[did];
  useEffect(() => {
    if (!did?.startsWith("did:") || did in known.value || wanted.has(did)) return;
    wanted.add(did);
    if (!waiting) { waiting = true; setTimeout(ask, 20); }
  }, [did]);
  if (!did) return "–";
  if (did === "withheld") return html`<span class="mute">${t("ui.withheld")}</span>`;
  const text = n?.name ? html`<span title=${did}>${n.name}</span>` : html`<code title=${did}>${short(did)}</code>`;
  return link && n?.kind === "twin" ? html`<a href=${twinHref(did)}>${text}</a>` : text;
}
