// @ts-check
import { html, useEffect, useState } from "../vendor/preact.js";
import { call, me } from "../lib/api.js";
import { useAct } from "../lib/act.js";
import { sentences } from "../lib/scopes.js";
import { Copy, Failure } from "../lib/ui.js";
import { t } from "../lib/words.js";

/**
 * What somebody sees who opens an invitation. It is used when she says so, not
 * when the link is opened: programs look at links too. Her key is shown once.
 */
export function Invited({ code, leave }) {
  const [seen, show] = useState(/** @type {any} */ (null)), [stay, keep] = useState(/** @type {any} */ (null)), act = useAct();
  useEffect(() => { act.run(() => call("/console/invite", { method: "POST", body: { invite: code } })).then(show); }, []);
  const join = async () => {
    const s = await act.run(() => call("/console/session", { method: "POST", body: { invite: code } }));
    if (s) keep(s);
  };
  const go = () => { const { newKey, ...rest } = stay; leave(); me.value = rest; };
  return html`<main class="login"><form onSubmit=${(e) => e.preventDefault()}>
    <div class="brand big"><svg viewBox="0 0 24 24" aria-hidden="true"><path d="M12 2c1 4 6 6 6 12a6 6 0 0 1-12 0c0-3 2-4 2-7 2 1 3 2 3 4 1-2 2-5 1-9z" /></svg><h1>Hearth</h1></div>
    ${stay ? html`<h2>${t("invited.welcome", { name: stay.name })}</h2><p>${t("invited.keep")}</p><div class="copyable"><code class="secret">${stay.newKey}</code><${Copy} text=${stay.newKey} /></div><button type="button" class="primary" onClick=${go}>${t("invited.go")}</button>`
    : seen ? html`<h2>${t("invited.title", { name: seen.name })}</h2><p>${t("invited.may")}</p><ul>${sentences(seen.scopes).map((s) => html`<li>${s}</li>`)}</ul>
        ${me.value && html`<p class="note">${t("invited.already", { name: me.value.name })}</p>`}<button type="button" class="primary" disabled=${act.busy} onClick=${join}>${t("invited.join")}</button>`
    : act.error ? null : html`<p class="mute">${t("ui.loading")}…</p>`}
    <${Failure} error=${act.error} />
    ${stay ? null : html`<button type="button" class="link" onClick=${leave}>${t(me.value ? "ui.toToday" : "invited.other")}</button>`}</form></main>`;
}
