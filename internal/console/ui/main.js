// @ts-check
// The shell: who is signed in, the menu, the search, and the page of the address.
import { html, render, useEffect, useRef, useState } from "./vendor/preact.js";
import { call, hasArea, may, me, online } from "./lib/api.js";
import { base, go, match, route } from "./lib/router.js";
import { Empty, Failure, Icon, Loading, chord, isBack, useKeys } from "./lib/ui.js";
import { begin, choose, has, keep, kept, language, languages, t } from "./lib/words.js";
import { groups, pages } from "./lib/pages.js";
import * as live from "./lib/live.js";
import { Login } from "./pages/login.js";
import { Invited } from "./pages/invited.js";
import { Search } from "./lib/search.js";

const shown = (p) => (!p.scope || may(p.scope)) && hasArea(p.area);

function find(path) {
  for (const p of pages) {
    const params = match(p.path, path);
    if (params) return { page: p, params };
  }
  return null;
}

// A file of another version is gone after an update: then everything is loaded
// anew, once. Without a server there would be nothing to load.
async function load(page) {
  try {
    return (await page.load()).default;
  } catch (e) {
    await call("/console/session");
    if (sessionStorage.getItem("reloaded") === page.name) throw e;
    sessionStorage.setItem("reloaded", page.name);
    location.reload();
    return new Promise(() => {});
  }
}

function Content() {
  const at = find(route.value.path), page = at?.page, name = page ? page.name + JSON.stringify(at.params) : "";
  const titled = useRef(/** @type {string | null} */ (null));
  if (titled.current !== name) { // until the page has one, or fails
    titled.current = name;
    document.title = (has("page." + page?.name) ? t("page." + page?.name) + " · " : "") + "Hearth";
  }
  const [view, set] = useState(/** @type {any} */ ({}));
  useEffect(() => {
    if (!page) return;
    let wanted = true;
    load(page).then((View) => wanted && set({ name: page.name, View }), (error) => wanted && set({ name: page.name, error }));
    return () => { wanted = false; };
  }, [page?.name, isBack(view.error)]);
  if (!page) return html`<${Empty} icon="alert" title=${t("ui.noPage")}><a class="in-text" href="/console/">${t("ui.toToday")}</a></${Empty}>`;
  if (!shown(page)) return html`<${Failure} error=${{ status: 403, message: t("ui.needs", { scope: page.scope || "" }), code: "SCOPE_MISSING" }} />`;
  if (view.name !== page.name || view.error?.status === 0) return html`<${Loading} rows=${8} />`;
  if (view.error) return html`<${Failure} error=${view.error} />`;
  return html`<${view.View} key=${name} ...${at.params} />`;
}

// On a phone the menu is a bar of the first five pages; the rest is a tap away.
function Menu() {
  const [open, unfold] = useState(false), path = route.value.path;
  useEffect(() => unfold(false), [path]);
  const here = (p) => (p.path === "/" ? path === "/" : path === p.path || path.startsWith(p.path + "/"));
  const link = (p) => html`<a key=${p.name} href=${base + p.path} aria-current=${here(p) ? "page" : undefined}><${Icon} name=${p.icon} /><span>${t("page." + p.name)}</span></a>`;
  const all = pages.filter((p) => p.menu && shown(p)), first = all.filter((p) => p.menu === groups[0]).slice(0, 4);
  return html`<nav class=${"side" + (open ? " open" : "")} aria-label=${t("ui.menu")}>
    <div class="thumb">${first.map(link)}<button type="button" aria-expanded=${open} onClick=${() => unfold(!open)}><${Icon} name="more" /><span>${t("ui.more")}</span></button></div>
    <div class="whole"><a class="brand" href="/console/"><svg viewBox="0 0 24 24" aria-hidden="true"><path d="M12 2c1 4 6 6 6 12a6 6 0 0 1-12 0c0-3 2-4 2-7 2 1 3 2 3 4 1-2 2-5 1-9z" /></svg><span>Hearth</span></a>
    ${groups.map((g) => {
      const list = all.filter((p) => p.menu === g);
      return list.length ? html`<div class="group" key=${g}><p class="group-name">${t("menu." + g)}</p>${list.map(link)}</div>` : null;
    })}<${Language} /></div></nav>`;
}

function dark() {
  const root = document.documentElement;
  const now = root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  root.dataset.theme = now === "dark" ? "light" : "dark";
  keep("theme", root.dataset.theme);
}

async function leave() {
  live.stop();
  try {
    await call("/console/session", { method: "DELETE" });
  } finally {
    me.value = null;
  }
}

const Language = () => html`<label class="language"><span class="sr">${t("ui.language")}</span><select value=${language.value} onChange=${(e) => choose(e.target.value)}>${Object.entries(languages).map(([code, name]) => html`<option value=${code}>${name}</option>`)}</select></label>`;

function Top() {
  return html`<header class="top"><${Search} /><div class="who">
    <${Language} />
    <button type="button" class="round" aria-label=${t("ui.dark")} onClick=${dark}><${Icon} name="sun" /></button>
    <a class="chip" href="/console/help" title=${me.value.principal}>${me.value.name}</a>
    <button type="button" class="link" onClick=${leave}>${t("ui.leave")}</button></div></header>`;
}

function Shell() {
  useEffect(() => { live.start(); return live.stop; }, []);
  useKeys(Object.fromEntries([
    ["?", () => go("/help")],
    ["g", () => { chord.at = Date.now(); }],
    ...pages.filter((p) => p.key).map((p) => [p.key, (e) => { if (Date.now() - chord.at < 1000 && shown(p)) { chord.at = 0; e.preventDefault(); go(p.path); } }]),
  ]));
  return html`<a class="skip" href="#main">${t("ui.skip")}</a><div class="shell"><${Menu} /><div class="body"><${Top} />
    ${online.value ? null : html`<p class="offline" role="status">${t("ui.offline")}</p>`}
    <main id="main" tabindex="-1"><${Content} /></main></div></div>`;
}

// The code of a printed link stands behind #, which no server sees. It is taken
// out of the address before anything else happens.
async function enter() {
  const code = new URLSearchParams(location.hash.slice(1)).get("enter");
  if (code) history.replaceState(null, "", location.pathname + location.search);
  if (code) {
    try {
      return await call("/console/session", { method: "POST", body: { code } });
    } catch (error) {
      const now = await call("/console/session");
      return now.signedIn ? now : { ...now, error };
    }
  }
  return call("/console/session");
}

// The code of an invitation stands there too, and is taken out as well.
const invitation = new URLSearchParams(location.hash.slice(1)).get("invite");
if (invitation) history.replaceState(null, "", location.pathname + location.search);

function App() {
  const [invite, answer] = useState(invitation);
  const [error, fail] = useState(/** @type {any} */ (null)), [first, note] = useState(/** @type {any} */ (null));
  const ask = () => enter().then((m) => { note(m.error); me.value = m.signedIn ? m : null; }, fail);
  useEffect(() => { ask(); }, []);
  useEffect(() => { if (me.value) sessionStorage.removeItem("reloaded"); }, [me.value]);
  if (invite && me.value !== undefined) return html`<${Invited} key=${language.value} code=${invite} leave=${() => answer(null)} />`;
  if (me.value) return html`<${Shell} key=${language.value} />`;
  if (me.value === null) return html`<${Login} key=${language.value} error=${first} />`;
  return error ? html`<main class="login"><${Failure} error=${error} again=${() => { fail(null); ask(); }} /></main>` : html`<p class="boot">Hearth</p>`;
}

const theme = kept("theme");
if (theme) document.documentElement.dataset.theme = theme;
begin().finally(() => {
  const root = /** @type {HTMLElement} */ (document.getElementById("app"));
  root.textContent = "";
  render(html`<${App} />`, root);
});
