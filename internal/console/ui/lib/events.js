// @ts-check
// Events as sentences: somebody did something to something.
import { html } from "../vendor/preact.js";
import { kinds } from "./live.js";
import { Name } from "./names.js";
import { base, surveyHref } from "./router.js";
import { Id } from "./ui.js";
import { eventWords } from "./words.js";

const places = {
  response: (id) => base + "/responses/" + encodeURIComponent(id),
  survey: surveyHref, job: () => base + "/jobs", key: () => base + "/keys",
};

/** What an event is about, with a link to where it is shown. */
export function Subject({ type, value }) {
  if (value?.startsWith("did:")) return html`<${Name} did=${value} />`;
  const to = value && places[type.split(".")[0]]?.(value);
  return to ? html`<a href=${to}><${Id} value=${value} /></a>` : html`<${Id} value=${value} />`;
}

/** What a kind of event means: in the language of the page, else as the server words it,
 * else its own name. */
export const meaning = (type) => eventWords(type) || (kinds.value[type] || type.replace(".", " ").replaceAll("_", " ")).replace(/\.$/, "");

export const Sentence = ({ event }) => html`<span>${meaning(event.type)}</span>${" "}<${Subject} type=${event.type} value=${event.subject} />${event.actor ? html` <span class="mute">· <${Name} did=${event.actor} link=${false} /></span>` : null}`;
