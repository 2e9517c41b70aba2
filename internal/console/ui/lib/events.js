// @ts-check
// Events as sentences: somebody did something to something.
import { html } from "../vendor/preact.js";
import { kinds } from "./live.js";
import { Name } from "./names.js";
import { base, surveyHref } from "./router.js";
import { Id } from "./ui.js";
import { eventWords, t } from "./words.js";

const places = {
  response: (id) => base + "/responses/" + encodeURIComponent(id),
  survey: surveyHref, job: () => base + "/jobs", key: () => base + "/keys", invite: () => base + "/people",
  webhook: (id) => base + "/webhooks/" + encodeURIComponent(id),
};
// Their ids say nothing to anybody.
const opaque = ["job", "key", "invite", "webhook"];

/** What an event is about, with a link to where it is shown. */
export function Subject({ type, value }) {
  if (value?.startsWith("did:")) return html`<${Name} did=${value} />`;
  const kind = type.split(".")[0], to = value && places[kind]?.(value);
  if (to && opaque.includes(kind)) return html`<a href=${to} title=${value}>${t("ui.open")}</a>`;
  return to ? html`<a href=${to}><${Id} value=${value} /></a>` : html`<${Id} value=${value} />`;
}

/** What a kind of event means: in the language of the page, else as the server words it,
 * else its own name. */
export const meaning = (type) => eventWords(type) || (kinds.value[type] || type.replace(".", " ").replaceAll("_", " ")).replace(/\.$/, "");

export const Sentence = ({ event }) => html`<span>${meaning(event.type)}</span>${" "}<${Subject} type=${event.type} value=${event.subject} />${event.actor ? html` <span class="mute">· <${Name} did=${event.actor} link=${false} /></span>` : null}`;
