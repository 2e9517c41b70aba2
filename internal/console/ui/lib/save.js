// @ts-check
// A text as a file to keep.
import { html, useEffect, useState } from "../vendor/preact.js";
import { t } from "./words.js";

/** A link that saves a call as a dialog file. */
export function Save({ name, text }) {
  const [href, set] = useState("");
  useEffect(() => {
    const made = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
    set(made);
    return () => URL.revokeObjectURL(made);
  }, [text]);
  return html`<a class="button small" download=${name + ".dialog"} href=${href}>${t("handset.save")}</a>`;
}
