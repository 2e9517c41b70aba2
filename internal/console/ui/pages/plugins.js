// @ts-check
import { html } from "../vendor/preact.js";
import { call, may } from "../lib/api.js";
import { useAct } from "../lib/act.js";
import { Rows } from "../lib/list.js";
import { base } from "../lib/router.js";
import { Badge, Empty, Failure, Loaded, Page, Time, useLoad } from "../lib/ui.js";
import { t } from "../lib/words.js";

const path = "/v1/oracle/plugins?limit=200";

const grantPath = (g) => `/grants/${encodeURIComponent(g.tool)}${g.sessionId ? "?sessionId=" + encodeURIComponent(g.sessionId) : ""}`;

/** The tools that may run without a question, each with a button that takes it back. */
function Grants({ grants, act, reload }) {
  const revoke = async (g) => {
    await act.run(() => call(grantPath(g), { method: "DELETE" }));
    reload();
  };
  return html`<section class="card"><h2>${t("plugins.grants")}</h2><p class="mute">${t("plugins.grantsText")}</p>
    ${grants.length ? html`<${Rows} items=${grants} id=${(g) => g.tool + " " + (g.sessionId || "")} columns=${[
      { label: t("plugins.tool"), cell: (g) => html`<code>${g.tool}</code>` },
      { label: t("plugins.where"), cell: (g) => (g.sessionId ? html`<a href=${`${base}/chat?session=${encodeURIComponent(g.sessionId)}`}>${t("plugins.oneTalk")}</a>` : t("plugins.allTalks")) },
      { label: t("plugins.since"), cell: (g) => html`<${Time} at=${g.createdAt} />` },
      { label: t("plugins.until"), cell: (g) => (g.expiresAt ? html`<${Time} at=${g.expiresAt} />` : t("plugins.always")) },
      { label: "", cell: (g) => html`<button type="button" class="small" disabled=${act.busy} aria-label=${t("plugins.revokeOf", { tool: g.tool })} onClick=${() => revoke(g)}>${t("plugins.revoke")}</button>` },
    ]} />` : html`<p>${t("plugins.noGrants")}</p>`}</section>`;
}

/** A tool, with whether it changes something and, if it does, whether it asks first. */
function Tool({ tool, granted, act, reload }) {
  const grant = async () => {
    if (!confirm(t("plugins.sure", { tool: tool.name }))) return;
    await act.run(() => call("/grants/" + encodeURIComponent(tool.name), { method: "PUT", body: {} }));
    reload();
  };
  return html`<li><div class="plugin-line"><code>${tool.name}</code> <span class=${"badge " + (tool.readOnly ? "mute" : "warn")}>${t(tool.readOnly ? "plugins.reads" : "plugins.changes")}</span>
    ${tool.readOnly ? null : granted ? html`<span class="mute small">${t("plugins.asksNot")}</span>` : html`<button type="button" class="small" disabled=${act.busy} aria-label=${t("plugins.grantOf", { tool: tool.name })} onClick=${grant}>${t("plugins.grant")}</button>`}</div>
    <p class="mute small">${tool.description}</p></li>`;
}

function Plugin({ p, granted, act, reload }) {
  const shown = (s) => (s.secret ? html`<span class="mute">${t("plugins.secret")}</span>` : !may("operations:read") ? html`<span class="mute">${t("plugins.operators")}</span>` : s.value ? html`<code>${s.value}</code>` : html`<span class="mute">${t("settings.none")}</span>`);
  return html`<article class="card plugin" aria-labelledby=${"plugin-" + p.name}>
    <div class="card-head"><h2 id=${"plugin-" + p.name}>${p.title} <code class="mute">${p.name}${p.version ? " " + p.version : ""}</code></h2>
      <span class="badges"><span class="badge mute">${t("plugins.seen." + p.visibility)}</span>${p.stability === "stable" ? null : html` <span class="badge warn">${t("plugins." + p.stability)}</span>`}</span></div>
    <p>${p.summary}</p>${p.needs?.length ? html`<p class="mute small">${t("plugins.needs", { names: p.needs.join(", ") })}</p>` : null}
    <div class="plugin-parts">
      ${p.tools.length || p.ownTools ? html`<div><h3>${t("plugins.tools")}</h3><ul>${p.tools.map((x) => html`<${Tool} key=${x.name} tool=${x} granted=${granted.has(x.name)} act=${act} reload=${reload} />`)}</ul>${p.ownTools ? html`<p class="mute small">${t("plugins.ownTools")}</p>` : null}</div>` : null}
      ${p.agents?.length ? html`<div><h3>${t("plugins.agents")}</h3><ul>${p.agents.map((a) => html`<li key=${a.name}><div class="plugin-line"><code>${a.name}</code></div><p class="mute small">${a.description}</p>${a.tools.length ? html`<ul>${a.tools.map((x) => html`<${Tool} key=${x.name} tool=${x} granted=${granted.has(x.name)} act=${act} reload=${reload} />`)}</ul>` : null}</li>`)}</ul></div>` : null}
      ${p.routes.length ? html`<div><h3>${t("plugins.routes")}</h3><ul>${p.routes.map((r) => html`<li key=${r.method + r.path}><div class="plugin-line"><code>${r.method} ${r.path}</code> <span class=${"badge " + (r.public ? "warn" : "good")}>${t(r.public ? "plugins.public" : "plugins.protected")}</span></div><p class="mute small">${r.summary}</p></li>`)}</ul></div>` : null}
      ${p.settings.length ? html`<div><h3>${t("plugins.settings")}</h3><ul>${p.settings.map((s) => html`<li key=${s.name}><div class="plugin-line"><code>${s.name}</code> ${shown(s)}</div><p class="mute small">${s.about}</p></li>`)}</ul></div>` : null}
    </div></article>`;
}

export default function Plugins() {
  const list = useLoad(() => call(path), []), given = useLoad(() => call("/grants"), []), act = useAct();
  const granted = new Set((given.data?.grants || []).filter((g) => !g.sessionId).map((g) => g.tool));
  return html`<${Page} title=${t("page.plugins")} about=${t("plugins.about")} curl=${path}><${Failure} error=${act.error} />
    <${Loaded} of=${given} rows=${2}>${(d) => html`<${Grants} grants=${d.grants} act=${act} reload=${given.reload} />`}</${Loaded}>
    <${Loaded} of=${list} rows=${8}>${(d) => (d.items.length ? html`<div class="plugins">${d.items.map((p) => html`<${Plugin} key=${p.name} p=${p} granted=${granted} act=${act} reload=${given.reload} />`)}</div>` : html`<${Empty} icon="plug" title=${t("plugins.empty")} />`)}</${Loaded}></${Page}>`;
}
