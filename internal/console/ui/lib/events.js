// @ts-check
// Events as sentences: somebody did something to something.
import { html } from "../vendor/preact.js";
import { kinds } from "./live.js";
import { Name } from "./names.js";
import { base, surveyHref, twinHref } from "./router.js";
import { Id } from "./ui.js";

/** Where a subject of an event is shown; null when nowhere. */
export function subjectHref(subject) {
  if (!subject) return null;
  if (subject.startsWith("did:ixo:protocol")) return null;
  if (subject.startsWith("did:")) return twinHref(subject);
  if (subject.startsWith("srv_")) return surveyHref(subject);
  if (subject.startsWith("key_")) return base + "/keys";
  return null;
}

export function Subject({ value }) {
  if (value?.startsWith("did:")) return html`<${Name} did=${value} />`;
  const to = subjectHref(value);
  return to ? html`<a href=${to}><${Id} value=${value} /></a>` : html`<${Id} value=${value} />`;
}

/** What a kind of event means, as the server words it, else its own name. */
export const meaning = (type) => (kinds.value[type] || type.replace(".", " ").replaceAll("_", " ")).replace(/\.$/, "");

export const Sentence = ({ event }) => html`<span>${meaning(event.type)}</span>${" "}<${Subject} value=${event.subject} />${event.actor ? html` <span class="mute">· <${Name} did=${event.actor} link=${false} /></span>` : null}`;
