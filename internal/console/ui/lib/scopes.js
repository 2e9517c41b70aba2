// @ts-check
// What a key may do, in words: scopes of one thing stand together.
import { html } from "../vendor/preact.js";
import { has, t } from "./words.js";

const word = (kind, name) => (has(kind + "." + name) ? t(kind + "." + name) : name);

/** Scopes as sentences such as "twins: see, change". */
export function sentences(scopes) {
  if (scopes.includes("*")) return [t("scope.all")];
  if (scopes.includes("member")) return [t("scope.member")];
  const by = new Map();
  for (const s of scopes) {
    const [what, verb] = s.split(":");
    by.set(what, [...(by.get(what) || []), word("verb", verb === "*" ? "all" : verb)]);
  }
  return [...by].map(([what, verbs]) => word("scope", what) + ": " + verbs.join(", "));
}

/** The first of them, and the rest behind a click. */
export function Rights({ scopes, first = 2 }) {
  const all = sentences(scopes || []);
  if (!all.length) return html`<span class="mute">–</span>`;
  if (all.length <= first + 1) return html`<span title=${scopes.join(" ")}>${all.join("; ")}</span>`;
  return html`<details class="rights" title=${scopes.join(" ")}><summary>${all.slice(0, first).join("; ")} ${t("scope.more", { n: all.length - first })}</summary><ul>${all.slice(first).map((s) => html`<li>${s}</li>`)}</ul></details>`;
}
