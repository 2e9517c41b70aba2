// @ts-check
// An address for a phone with ODK Collect: its name, and then the QR code, once.
import { html, useState } from "../vendor/preact.js";
import { call } from "./api.js";
import { Dialog, useAct } from "./act.js";
import { Code } from "./invite.js";
import { Copy, Failure } from "./ui.js";
import { t } from "./words.js";

export function NewPhone({ done }) {
  const [name, setName] = useState(""), [collector, setCollector] = useState(""), [ends, setEnds] = useState("");
  const [made, show] = useState(/** @type {any} */ (null)), act = useAct();
  const make = async (e) => {
    e.preventDefault();
    const body = { name: name.trim(), origin: location.origin, ...(collector.trim() ? { collector: collector.trim() } : {}), ...(ends ? { expiresAt: ends + "T23:59:59Z" } : {}) };
    const v = await act.run(() => call("/v1/collect/addresses", { method: "POST", body }));
    if (v) { show(v); done(); }
  };
  const reset = () => { show(null); setName(""); setCollector(""); setEnds(""); act.clear(); };
  return html`<${Dialog} label=${t("phone.new")} closed=${reset}>${(close) => (made
    ? html`<div class="form copyable invitation"><h2>${name}</h2><p>${t("phone.shown")}</p>
        <${Code} qr=${made.qr} label=${t("phone.qr", { name })} />${/^(localhost|127\.|\[::1\])/.test(location.hostname) ? html`<p class="note">${t("phone.local")}</p>` : null}
        <p>${t("phone.name")}</p><code class="did">${made.collector}</code>
        <p class="mute small">${t("phone.end")}</p>
        <div class="row-end"><${Copy} text=${made.collector} /><button type="button" onClick=${close}>${t("ui.close")}</button></div></div>`
    : html`<form class="form" onSubmit=${make}><h2>${t("phone.new")}</h2><p class="mute small">${t("phone.text")}</p>
        <label class="field"><span>${t("phone.who")}</span><input required maxlength="200" value=${name} onInput=${(e) => setName(e.target.value)} /></label>
        <label class="field"><span>${t("phone.collector")}</span><input maxlength="200" placeholder="did:" value=${collector} onInput=${(e) => setCollector(e.target.value)} /></label>
        <label class="field"><span>${t("people.ends")}</span><input type="date" value=${ends} onInput=${(e) => setEnds(e.target.value)} /></label>
        <${Failure} error=${act.error} /><div class="row-end"><button type="button" onClick=${close}>${t("ui.cancel")}</button><button class="primary" disabled=${act.busy}>${t("phone.make")}</button></div></form>`)}</${Dialog}>`;
}
