// @ts-check
import { html, useState } from "../vendor/preact.js";
import { call, may } from "../lib/api.js";
import { Dialog, useAct } from "../lib/act.js";
import { List } from "../lib/list.js";
import { base } from "../lib/router.js";
import { Failure, Page, Time } from "../lib/ui.js";
import { t } from "../lib/words.js";

export const serverPath = (name) => "/v1/oracle/mcp-servers/" + encodeURIComponent(name);

/** Headers as people write them, one a line. A line without a colon is a name alone, which the server refuses by that name. */
function headersOf(text) {
  const out = {};
  for (const line of text.split("\n").map((l) => l.trim()).filter(Boolean)) {
    const [name, ...rest] = line.split(":");
    out[name.trim()] = rest.join(":").trim();
  }
  return out;
}

/** The form of a server: a new one, or what replaces one. */
export function ServerForm({ server, label, primary = false, done }) {
  const fresh = { name: server?.name || "", url: server?.url || "", about: server?.description || "", headers: "", seconds: String(server?.timeoutSeconds || 30) };
  const [f, set] = useState(fresh), act = useAct(), on = (key) => (e) => set({ ...f, [key]: e.target.value });
  const save = (close) => async (e) => {
    e.preventDefault();
    const body = { url: f.url.trim(), description: f.about.trim(), headers: headersOf(f.headers), timeoutSeconds: Number(f.seconds) };
    const saved = await act.run(() => call(serverPath(f.name.trim()), { method: "PUT", body }));
    if (saved) { close(); done(saved); }
  };
  return html`<${Dialog} label=${label} primary=${primary} closed=${() => { act.clear(); set(fresh); }}>${(close) => html`<form class="form" onSubmit=${save(close)}><h2>${label}</h2>
    ${server ? null : html`<label class="field"><span>${t("mcp.name")}</span><input required maxlength="32" pattern="[A-Za-z0-9]+([_\\-][A-Za-z0-9]+)*" placeholder="weather" value=${f.name} onInput=${on("name")} /></label><p class="hint mute small">${t("mcp.nameHint")}</p>`}
    <label class="field"><span>${t("mcp.url")}</span><input type="url" required maxlength="2048" placeholder="https://weather.example.org/mcp" value=${f.url} onInput=${on("url")} /></label>
    <label class="field"><span>${t("mcp.for")}</span><input maxlength="500" value=${f.about} onInput=${on("about")} /></label>
    <label class="field"><span>${t("mcp.headers")}</span><textarea rows="2" autocomplete="off" spellcheck=${false} placeholder="Authorization: Bearer …" value=${f.headers} onInput=${on("headers")}></textarea></label>
    <p class="hint mute small">${t("mcp.headersHint")}${server?.headerNames?.length ? " " + t("mcp.headersNow", { names: server.headerNames.join(", ") }) : ""}</p>
    <label class="field"><span>${t("mcp.seconds")}</span><input type="number" min="1" max="120" required value=${f.seconds} onInput=${on("seconds")} /></label>
    <${Failure} error=${act.error} /><div class="row-end"><button type="button" onClick=${close}>${t("ui.cancel")}</button><button class="primary" disabled=${act.busy}>${t("mcp.save")}</button></div></form>`}</${Dialog}>`;
}

export default function Servers() {
  const [turn, again] = useState(0);
  return html`<${Page} title=${t("page.mcp")} about=${t("mcp.about")} actions=${may("oracle:write") && html`<${ServerForm} label=${t("mcp.new")} primary done=${() => again((n) => n + 1)} />`}>
    <${List} path="/v1/oracle/mcp-servers" turn=${turn} id=${(s) => s.name} href=${(s) => base + "/mcp/" + encodeURIComponent(s.name)}
      columns=${[
        { label: t("mcp.name"), cell: (s) => html`<code>${s.name}</code>` },
        { label: t("mcp.for"), cell: (s) => s.description || "–" },
        { label: t("mcp.url"), cell: (s) => (s.url ? html`<span class="wrap">${s.url}</span>` : html`<span class="mute">${t("mcp." + s.transport)}</span>`) },
        { label: t("mcp.of"), cell: (s) => t("mcp." + s.origin) },
        { label: t("mcp.changedAt"), cell: (s) => html`<${Time} at=${s.updatedAt} />` },
      ]}
      empty=${{ icon: "plug", title: t("mcp.empty"), text: t("mcp.emptyText") }} /></${Page}>`;
}
