// @ts-check
import { html } from "../vendor/preact.js";
import { call, may } from "../lib/api.js";
import { useAct } from "../lib/act.js";
import { Name } from "../lib/names.js";
import { base, go } from "../lib/router.js";
import { Empty, Failure, Loaded, Page, Time, useLoad } from "../lib/ui.js";
import { t } from "../lib/words.js";
import { ServerForm, serverPath } from "./mcp.js";

const tones = { usable: "good", needs_grant: "warn", changed: "bad", protected: "mute", taken: "bad", refused: "bad" };

/** A tool as its server describes it: words of somebody else, which models would read. */
function Tool({ tool, server, act, reload }) {
  const path = `${serverPath(server)}/grants/${encodeURIComponent(tool.name)}`, write = may("oracle:write");
  const grantable = write && (tool.state === "needs_grant" || tool.state === "changed");
  const grant = async () => {
    await act.run(() => call(path, { method: "PUT", body: { hash: tool.hash } }));
    reload();
  };
  const revoke = async () => {
    if (!confirm(t("mcp.revokeSure", { tool: tool.name }))) return;
    await act.run(() => call(path, { method: "DELETE" }));
    reload();
  };
  return html`<article class="card" aria-labelledby=${"tool-" + tool.name}>
    <div class="card-head"><h2 id=${"tool-" + tool.name}><code>${tool.name}</code></h2><span class=${"badge " + tones[tool.state]}>${t("mcp.state." + tool.state)}</span></div>
    <p class="mute small">${t("mcp.means." + tool.state)}${tool.readOnly ? " " + t("mcp.readOnly") : ""}</p>
    ${tool.problem && html`<p class="bad-text">${tool.problem}</p>`}
    <blockquote class="foreign">${tool.description || html`<span class="mute">${t("mcp.noWords")}</span>`}</blockquote>
    <details><summary>${t("mcp.schema")}</summary><pre class="said" tabindex="0"><code>${JSON.stringify(tool.schema, null, 2)}</code></pre></details>
    ${tool.grant && html`<p class="mute small">${t("mcp.grantedBy")} <${Name} did=${tool.grant.by} /> · <${Time} at=${tool.grant.at} /></p>`}
    ${write && (grantable || tool.grant) ? html`<div class="tool-acts">${grantable && html`<button type="button" class="primary small" disabled=${act.busy} onClick=${grant}>${t(tool.state === "changed" ? "mcp.grantAgain" : "mcp.grant")}</button>`}${tool.grant && html`<button type="button" class="small" disabled=${act.busy} onClick=${revoke}>${t("mcp.revoke")}</button>`}</div>` : null}</article>`;
}

export default function Server({ name }) {
  const one = useLoad(() => call(serverPath(name)), [name]), tools = useLoad(() => call(serverPath(name) + "/tools?limit=200"), [name]), act = useAct();
  const s = one.data, own = s?.origin === "workspace" && may("oracle:write");
  const remove = async () => {
    if (!confirm(t("mcp.sure", { name }))) return;
    if (await act.run(() => call(serverPath(name), { method: "DELETE" }))) go("/mcp");
  };
  const renew = () => { one.reload(); tools.reload(); };
  return html`<${Page} title=${name} crumb=${html`<a href=${base + "/mcp"}>${t("page.mcp")}</a>`} about=${s?.description} curl=${serverPath(name) + "/tools"}
      actions=${own && html`<${ServerForm} server=${s} label=${t("mcp.change")} done=${renew} /><button type="button" disabled=${act.busy} onClick=${remove}>${t("mcp.remove")}</button>`}>
    <${Failure} error=${act.error} />
    <${Loaded} of=${one} rows=${3}>${(d) => html`<section class="card"><dl>
      <dt>${t("mcp.url")}</dt><dd>${d.url ? html`<span class="wrap">${d.url}</span>` : html`<span class="mute">${t("mcp." + d.transport)}</span>`}</dd>
      <dt>${t("mcp.of")}</dt><dd>${t("mcp." + d.origin)}</dd>
      <dt>${t("mcp.headers")}</dt><dd>${d.headerNames?.length ? html`<code>${d.headerNames.join(", ")}</code>` : "–"}</dd>
      <dt>${t("mcp.seconds")}</dt><dd>${d.timeoutSeconds}</dd>
      ${d.protected && html`<dt>${t("mcp.state.protected")}</dt><dd>${t("mcp.means.protected")}</dd>`}</dl></section>`}</${Loaded}>
    ${one.error ? null : html`<h2 class="part">${t("mcp.tools")}</h2><p class="mute">${t("mcp.read")}</p>
    <${Loaded} of=${tools} rows=${5}>${(d) => (d.items.length ? d.items.map((x) => html`<${Tool} key=${x.name} tool=${x} server=${name} act=${act} reload=${tools.reload} />`) : html`<${Empty} icon="plug" title=${t("mcp.noTools")} />`)}</${Loaded}>`}</${Page}>`;
}
