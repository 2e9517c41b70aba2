// @ts-check
import { html } from "../vendor/preact.js";
import { call } from "../lib/api.js";
import { Filters } from "../lib/list.js";
import { route } from "../lib/router.js";
import { Empty, Loaded, Page, useLoad } from "../lib/ui.js";
import { t } from "../lib/words.js";

const path = "/v1/settings?limit=1000";

/** Settings by their groups, in the order of the server. */
function grouped(items) {
  const out = new Map();
  for (const s of items) out.set(s.group, [...(out.get(s.group) || []), s]);
  return [...out];
}

function Setting({ s }) {
  return html`<div class="setting"><dt><code>${s.name}</code></dt>
    <dd>${s.value ? html`<code class="value">${s.value}</code>` : html`<span class="mute">${t("settings.none")}</span>`}${s.source === "default" ? null : html` <span class="badge warn">${s.source}</span>`}
      <p class="mute small">${s.about}</p></dd></div>`;
}

export default function Settings() {
  const all = useLoad(() => call(path), []), asked = route.value.query, word = (asked.q || "").toLowerCase();
  const fits = (s) => (!word || (s.name + " " + s.about).toLowerCase().includes(word)) && (!asked.set || s.source !== "default");
  const filters = [{ key: "q", label: t("settings.find") }, { key: "set", label: t("settings.source"), options: [{ value: "true", label: t("settings.changed") }] }];
  return html`<${Page} title=${t("page.settings")} about=${t("settings.about")} curl=${path}>
    <${Filters} filters=${filters} asked=${asked} narrowed=${!!(asked.q || asked.set)} />
    <${Loaded} of=${all} rows=${8}>${(d) => {
      const found = grouped(d.items.filter(fits));
      return found.length ? found.map(([group, list]) => html`<section class="card" key=${group}><h2>${group}</h2><dl class="settings">${list.map((s) => html`<${Setting} key=${s.name} s=${s} />`)}</dl></section>`) : html`<${Empty} title=${t("list.nothing")}><p>${t("list.widen")}</p></${Empty}>`;
    }}</${Loaded}></${Page}>`;
}
