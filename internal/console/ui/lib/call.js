// @ts-check
// What pages about calls share: how a call ended, and saving one.
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

const tones = { ended: "good", hung_up: "mute", expired: "warn" };

/** How a call ended. */
export const Ending = ({ value }) => html`<span class=${"badge " + (tones[value] || "mute")}>${t("ending." + value)}</span>`;
