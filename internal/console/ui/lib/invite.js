// @ts-check
// Inviting a person: what she may do, and then the link and its QR code, once.
import { html, useState } from "../vendor/preact.js";
import { call } from "./api.js";
import { Dialog, useAct, useOnce } from "./act.js";
import { Copy, Failure, Time } from "./ui.js";
import { t } from "./words.js";

export const roles = ["manager", "supervisor", "collector", "verifier", "evaluator", "auditor", "device", "owner", "member"];

/** A QR code as the server drew it: black on white whatever the page's colours. */
export const Code = ({ qr, label }) => html`<svg class="qr" viewBox=${`0 0 ${qr.size} ${qr.size}`} role="img" aria-label=${label}><rect width=${qr.size} height=${qr.size} /><path d=${qr.path} /></svg>`;

export function NewInvite({ done }) {
  const [name, setName] = useState(""), [role, setRole] = useState("collector"), [ends, setEnds] = useState("");
  const [made, show] = useState(/** @type {any} */ (null)), act = useAct(), once = useOnce();
  const make = async (e) => {
    e.preventDefault();
    const body = { name: name.trim(), role, origin: location.origin, ...(ends ? { expiresAt: ends + "T23:59:59Z" } : {}) };
    const v = await act.run(() => call("/v1/invites", { method: "POST", body, headers: once.headers() }));
    if (v) { show(v); done(); } else once.renew();
  };
  const reset = () => { show(null); setName(""); setEnds(""); act.clear(); once.renew(); };
  return html`<${Dialog} label=${t("people.invite")} primary closed=${reset}>${(close) => (made
    ? html`<div class="form copyable invitation"><h2>${t("people.forName", { name: made.name })}</h2><p>${t("people.shown")}</p>
        <${Code} qr=${made.qr} label=${t("people.qr", { name: made.name })} /><code class="secret">${made.link}</code>${/^(localhost|127\.|\[::1\])/.test(new URL(made.link).hostname) ? html`<p class="note">${t("people.local")}</p>` : null}<p class="mute small">${t("people.until")} <${Time} at=${made.endsAt} /></p>
        <div class="row-end"><${Copy} text=${made.link} /><button type="button" onClick=${close}>${t("ui.close")}</button></div></div>`
    : html`<form class="form" onSubmit=${make}><h2>${t("people.invite")}</h2><p class="mute small">${t("people.inviteText")}</p>
        <label class="field"><span>${t("people.who")}</span><input required maxlength="200" value=${name} onInput=${(e) => setName(e.target.value)} /></label>
        <label class="field"><span>${t("keys.role")}</span><select value=${role} onChange=${(e) => setRole(e.target.value)}>${roles.map((r) => html`<option value=${r}>${t("role." + r)}</option>`)}</select></label>
        <label class="field"><span>${t("people.ends")}</span><input type="date" value=${ends} onInput=${(e) => setEnds(e.target.value)} /></label>
        <${Failure} error=${act.error} /><div class="row-end"><button type="button" onClick=${close}>${t("ui.cancel")}</button><button class="primary" disabled=${act.busy}>${t("people.make")}</button></div></form>`)}</${Dialog}>`;
}
