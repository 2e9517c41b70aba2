// @ts-check
import { html, useState } from "../vendor/preact.js";
import { call, me } from "../lib/api.js";
import { Failure } from "../lib/ui.js";
import { t } from "../lib/words.js";

/** Asks for a key. The key leaves this page once, and is kept nowhere in it. */
export function Login({ error: first }) {
  const [key, set] = useState(""), [error, fail] = useState(first), [busy, wait] = useState(false);
  const submit = async (e) => {
    e.preventDefault();
    wait(true);
    fail(null);
    try {
      const stay = await call("/console/session", { method: "POST", body: { key: key.trim() } });
      set("");
      me.value = stay;
    } catch (x) {
      fail(x);
      wait(false);
    }
  };
  return html`<main class="login"><form onSubmit=${submit}>
    <div class="brand big"><svg viewBox="0 0 24 24" aria-hidden="true"><path d="M12 2c1 4 6 6 6 12a6 6 0 0 1-12 0c0-3 2-4 2-7 2 1 3 2 3 4 1-2 2-5 1-9z" /></svg><h1>Hearth</h1></div>
    <p class="mute">${t("login.about")}</p>
    <label for="key">${t("login.key")}</label>
    <input id="key" type="password" autocomplete="off" value=${key} onInput=${(e) => set(e.target.value)} placeholder="hearth_…" required />
    <button class="primary" disabled=${busy}>${busy ? t("login.busy") : t("login.go")}</button>
    <${Failure} error=${error} />
    ${isSecureContext ? null : html`<p class="note">${t("login.clear")}</p>`}
    <details><summary>${t("login.none")}</summary><p>${t("login.first")} <code>hearth console link</code></p><p>${t("login.other")}</p></details>
  </form></main>`;
}
