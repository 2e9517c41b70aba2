// @ts-check
// A phone on the page. It speaks to a line of its own, so nothing it does reaches
// a customer.
import { html, useEffect, useRef, useState } from "../vendor/preact.js";
import { call, may } from "../lib/api.js";
import { route, setQuery } from "../lib/router.js";
import { Save } from "../lib/call.js";
import { Failure, Icon, Loaded, Page, Time, useKeys, useLoad } from "../lib/ui.js";
import { t } from "../lib/words.js";

const path = "/v1/ussd/simulations";

function Screen({ last, code, busy }) {
  return html`<div class="screen" aria-live="polite" aria-busy=${busy}>${last
    ? html`<pre>${last.screen}</pre>${last.end && html`<p class="ended">${t("handset.over")}</p>`}`
    : html`<p class="dial">${code}</p>`}</div>`;
}

/** How full a screen is, in the units of networks. */
const Meter = ({ step }) => html`<span class="meter"><span class=${step.gsm7 ? "mute" : "bad"}>${t("handset.units", { n: step.units, of: step.limit })} · ${step.gsm7 ? "GSM-7" : t("handset.wide")}</span><span class="mute">${step.ms} ms</span></span>`;

function Step({ step }) {
  return html`<li><p class="typed">${step.turn ? html`${t("handset.typed")} <kbd>${step.input || " "}</kbd>` : html`${t("handset.dialled")} <kbd>${step.serviceCode}</kbd>`} <span class="mute"><code>${step.node}</code></span></p>
    <pre>${step.screen}</pre><${Meter} step=${step} />
    ${step.messages.map((m) => html`<div class="sms"><p><strong>SMS</strong> <span class="mute">${t("handset.notSent")} · <${Time} at=${m.at} /></span></p><pre>${m.text}</pre></div>`)}</li>`;
}

function Where({ last }) {
  if (!last) return html`<p class="where mute">${t("handset.begin")}</p>`;
  return html`<dl class="where" data-session=${last.sessionId}><dt>${t("handset.state")}</dt><dd data-state>${last.state} <code>${last.node}</code></dd>
    <dt>${t("handset.language")}</dt><dd>${last.language}</dd><dt>${t("handset.login")}</dt><dd>${t(last.authenticated ? "ui.yes" : "ui.no")}</dd>
    <dt>${t("handset.menu")}</dt><dd><code>${last.menu}</code></dd></dl>`;
}

function Phone({ about, reset }) {
  const asked = route.value.query, phone = asked.phone || about.firstNumber, code = asked.code || about.serviceCodes[0];
  const [steps, setSteps] = useState(/** @type {any[]} */ ([])), [input, type] = useState(""), [busy, wait] = useState(false), [error, fail] = useState(/** @type {any} */ (null));
  const field = useRef(/** @type {any} */ (null)), last = steps[steps.length - 1], open = last && !last.end;
  useEffect(() => { if (open) field.current?.focus({ preventScroll: true }); }, [steps.length]);
  const press = async (body) => {
    if (busy) return;
    wait(true);
    fail(null);
    try {
      const step = await call(path, { method: "POST", body });
      setSteps((s) => (body.sessionId ? [...s, step] : [step]));
      type("");
    } catch (e) {
      fail(e);
    }
    wait(false);
  };
  const dial = () => press({ phoneNumber: phone, serviceCode: code });
  const answer = (e) => { e?.preventDefault(); press({ sessionId: last.sessionId, turn: last.turn + 1, input }); };
  const hang = () => { setSteps([]); type(""); fail(null); };
  const key = (k) => { type((s) => s + k); field.current?.focus({ preventScroll: true }); };
  const typed = (k) => (e) => { if (open) { e.preventDefault(); key(k); } };
  useKeys({ ...Object.fromEntries([..."0123456789*#"].map((k) => [k, typed(k)])), Enter: (e) => { if (!open && e.target === document.body) dial(); } });
  return html`<${Failure} error=${error} /><div class="handset">
    <section class="phone" aria-label=${t("handset.phone")}><${Screen} last=${last} code=${code} busy=${busy} />
      ${open ? html`<form class="reply" onSubmit=${answer}><label class="sr" for="reply">${t("handset.reply")}</label>
          <input id="reply" ref=${field} type=${last.secret ? "password" : "text"} value=${input} maxlength="182" autocomplete="off" onInput=${(e) => type(e.target.value)} /><button class="primary" disabled=${busy}>${t("handset.send")}</button></form>`
        : html`<button type="button" class="primary dial-button" disabled=${busy} onClick=${dial}>${t(last ? "handset.again" : "handset.dial")}</button>`}
      <div class="keypad">${[..."123456789*0#"].map((k) => html`<button type="button" key=${k} disabled=${!open} onClick=${() => key(k)}>${k}</button>`)}</div>
      ${open && html`<button type="button" class="link hang" onClick=${hang}>${t("handset.hang")}</button>`}</section>
    <div><section class="card"><div class="row">
        <label class="field"><span>${t("handset.number")}</span><input id="number" inputmode="tel" value=${phone} disabled=${open} onChange=${(e) => setQuery({ phone: e.target.value.trim() }, { replace: true })} /><span class="hint">${t("handset.range", { from: about.firstNumber, to: about.lastNumber })}</span></label>
        <label class="field"><span>${t("handset.code")}</span><input id="code" value=${code} disabled=${open} list="codes" onChange=${(e) => setQuery({ code: e.target.value.trim() }, { replace: true })} /><datalist id="codes">${about.serviceCodes.map((c) => html`<option value=${c} />`)}</datalist></label></div>
      <${Where} last=${last} /></section>
    <section class="card"><div class="card-head"><h2>${t("handset.said")}</h2><div class="actions">${last && html`<${Save} name=${"call-" + last.sessionId.slice(-6)} text=${last.dialog} />`}</div></div>
      ${steps.length ? html`<ol class="script">${steps.map((s) => html`<${Step} key=${s.turn} step=${s} />`)}</ol>` : html`<p class="mute">${t("handset.quiet")}</p>`}</section>
    <button type="button" class="small" onClick=${() => { hang(); reset(); }}><${Icon} name="phone" /> ${t("handset.forget")}</button></div></div>`;
}

export default function Handset() {
  const about = useLoad(() => call(path), []), [error, fail] = useState(/** @type {any} */ (null));
  const reset = () => { fail(null); call(path, { method: "DELETE" }).catch(fail); };
  return html`<${Page} title=${t("page.handset")} about=${t("handset.about")} curl=${path}><${Failure} error=${error} />
    <${Loaded} of=${about}>${(a) => (may("ussd:simulate") ? html`<${Phone} about=${a} reset=${reset} />` : html`<${Failure} error=${{ status: 403, message: t("ui.needs", { scope: "ussd:simulate" }), code: "SCOPE_MISSING" }} />`)}</${Loaded}></${Page}>`;
}
