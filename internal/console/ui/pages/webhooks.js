// @ts-check
import { html, useState } from "../vendor/preact.js";
import { call, may } from "../lib/api.js";
import { Dialog, useAct, useOnce } from "../lib/act.js";
import { List } from "../lib/list.js";
import { kinds } from "../lib/live.js";
import { base } from "../lib/router.js";
import { Badge, Copy, Failure, Page, Time } from "../lib/ui.js";
import { t } from "../lib/words.js";

const words = (text) => text.split(/[\s,]+/).filter(Boolean);

/** The groups of events there are, as patterns: entity.*, survey.* */
const patterns = () => [...new Set(Object.keys(kinds.value).map((k) => k.split(".")[0] + ".*"))].sort();

function NewHook({ done }) {
  const [url, setUrl] = useState(""), [events, setEvents] = useState("*"), [filter, setFilter] = useState(""), [about, setAbout] = useState("");
  const [made, show] = useState(/** @type {any} */ (null)), act = useAct(), once = useOnce();
  const make = async (e) => {
    e.preventDefault();
    const body = { url: url.trim(), events: words(events), ...(filter.trim() ? { filter: filter.trim() } : {}), ...(about.trim() ? { description: about.trim() } : {}) };
    const w = await act.run(() => call("/v1/webhooks", { method: "POST", body, headers: once.headers() }));
    if (w) { show(w); done(); } else once.renew();
  };
  const reset = () => { show(null); setUrl(""); setEvents("*"); setFilter(""); setAbout(""); act.clear(); once.renew(); };
  return html`<${Dialog} label=${t("webhooks.new")} primary closed=${reset}>${(close) => (made
    ? html`<div class="form copyable"><h2>${t("webhooks.made")}</h2><p>${t("webhooks.secret")}</p><code class="secret">${made.secret}</code>
        <div class="row-end"><${Copy} text=${made.secret} /><button type="button" onClick=${close}>${t("ui.close")}</button></div></div>`
    : html`<form class="form" onSubmit=${make}><h2>${t("webhooks.new")}</h2>
        <label class="field"><span>${t("webhooks.url")}</span><input type="url" required maxlength="2048" placeholder="https://example.org/hooks/hearth" value=${url} onInput=${(e) => setUrl(e.target.value)} /></label>
        <label class="field"><span>${t("webhooks.events")}</span><input required list="patterns" value=${events} onInput=${(e) => setEvents(e.target.value)} /></label>
        <datalist id="patterns">${patterns().map((p) => html`<option value=${p}></option>`)}</datalist><p class="hint mute small">${t("webhooks.eventsHint")}</p>
        <label class="field"><span>${t("webhooks.filter")}</span><input value=${filter} placeholder="eq(data.status,active)" onInput=${(e) => setFilter(e.target.value)} /></label>
        <label class="field"><span>${t("webhooks.for")}</span><input maxlength="500" value=${about} onInput=${(e) => setAbout(e.target.value)} /></label>
        <${Failure} error=${act.error} /><div class="row-end"><button type="button" onClick=${close}>${t("ui.cancel")}</button><button class="primary" disabled=${act.busy}>${t("webhooks.make")}</button></div></form>`)}</${Dialog}>`;
}

export default function Webhooks() {
  const [turn, again] = useState(0);
  return html`<${Page} title=${t("page.webhooks")} about=${t("webhooks.about")} actions=${may("webhooks:write") && html`<${NewHook} done=${() => again((n) => n + 1)} />`}>
    <${List} path="/v1/webhooks" turn=${turn} id=${(w) => w.id} href=${(w) => base + "/webhooks/" + encodeURIComponent(w.id)}
      columns=${[
        { label: t("webhooks.to"), cell: (w) => html`<span class="wrap">${w.url}</span>` },
        { label: t("webhooks.for"), cell: (w) => w.description || "–" },
        { label: t("webhooks.events"), cell: (w) => html`<code>${w.events.join(" ")}</code>` },
        { label: t("webhooks.state"), cell: (w) => html`<${Badge} value=${w.filterError ? "failed" : w.active ? "active" : "off"} />` },
        { label: t("webhooks.changed"), cell: (w) => html`<${Time} at=${w.updatedAt} />` },
      ]}
      empty=${{ icon: "hook", title: t("webhooks.empty"), text: t("webhooks.emptyText") }} /></${Page}>`;
}
