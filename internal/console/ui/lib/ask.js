// @ts-check
// A button that asks whether, and perhaps why, before it does something.
import { html, useState } from "../vendor/preact.js";
import { Dialog, useAct, useOnce } from "./act.js";
import { Failure } from "./ui.js";
import { t } from "./words.js";

function Asked({ label, about, field, required, send, done, close }) {
  const [words, say] = useState(""), act = useAct(), once = useOnce();
  const go = async (e) => {
    e.preventDefault();
    const answer = await act.run(() => send(words.trim(), once.headers()));
    if (!answer) { once.renew(); return; }
    close();
    done(answer);
  };
  return html`<form class="form" onSubmit=${go}><h2>${label}</h2><p class="mute">${about}</p>
    ${field && html`<label class="field"><span>${field}</span><input id="words" maxlength="200" required=${required} value=${words} onInput=${(e) => say(e.target.value)} /></label>`}
    <${Failure} error=${act.error} /><div class="row-end"><button type="button" onClick=${close}>${t("ui.cancel")}</button><button type="submit" class="primary" disabled=${act.busy}>${label}</button></div></form>`;
}

/**
 * send(words, headers) is the call, with the headers that make it one; done gets its
 * answer. Without a field nothing is asked but whether.
 * @param {{label: string, about: string, field?: string, required?: boolean, primary?: boolean, small?: boolean, send: (words: string, headers: Record<string, string>) => Promise<any>, done: (answer: any) => void}} props
 */
export const Ask = ({ label, primary = false, small = false, ...rest }) => html`<${Dialog} label=${label} primary=${primary} small=${small}>${(close) => html`<${Asked} label=${label} close=${close} ...${rest} />`}</${Dialog}>`;
