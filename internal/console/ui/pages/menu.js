// @ts-check
import { html, useRef, useState } from "../vendor/preact.js";
import { call, query } from "../lib/api.js";
import { route, setQuery } from "../lib/router.js";
import { MenuGraph } from "../lib/menugraph.js";
import { Rows } from "../lib/list.js";
import { Failure, Loaded, Page, Tile, useLoad } from "../lib/ui.js";
import { number, t } from "../lib/words.js";

const Findings = ({ list }) => html`<ul class="findings">${list.map((f) => html`<li class=${f.level}><strong>${t("menu." + f.level)}</strong> ${f.line ? t("menu.atLine", { line: f.line }) + " " : ""}${f.language ? `(${f.language}) ` : ""}${f.text}</li>`)}</ul>`;

function Node({ menu, id, pick }) {
  const n = menu.nodes.find((x) => x.id === id);
  if (!n) return html`<p class="mute">${t("menu.pick")}</p>`;
  return html`<h2><code>${n.id}</code></h2><p class="mute">${t("menu.kind." + n.kind)} · ${n.state}${n.secret ? " · " + t("menu.secret") : ""}</p><pre class="said">${n.text}</pre>
    <dl><dt>${t("menu.visits")}</dt><dd>${number(n.visits)}</dd><dt>${t("menu.refused")}</dt><dd>${number(n.refused)}</dd><dt>${t("menu.dropped")}</dt><dd>${number(n.dropped)}</dd></dl>
    <${Findings} list=${n.findings} />
    <ul class="ways">${n.ways.map((w) => html`<li><kbd>${w.key || "→"}</kbd> ${w.label || ""} <button type="button" class="link" onClick=${() => pick(w.to)}>${w.to}</button>${w.back ? html` <span class="mute">${t("menu.back")}</span>` : null}</li>`)}</ul>`;
}

/** The drawing, what lint says, and the same as a table. */
function Whole({ menu, counted = true }) {
  const picked = route.value.query.node || "", pick = (id) => setQuery({ node: id === picked ? "" : id }, { replace: true });
  return html`<section class="card menu-card"><div class="menu-two"><${MenuGraph} menu=${menu} picked=${picked} onPick=${pick} /><aside aria-live="polite"><${Node} menu=${menu} id=${picked} pick=${pick} /></aside></div>
    <p class="legend"><span><i class="l-menu"></i>${t("menu.kind.menu")}</span><span><i class="l-input"></i>${t("menu.kind.input")}</span><span><i class="l-do"></i>${t("menu.kind.do")}</span><span><i class="l-end"></i>${t("menu.kind.end")}</span><span><i class="bad"></i>${t("menu.dropped")}</span></p>
    ${menu.findings.length > 0 && html`<${Findings} list=${menu.findings} />`}
    <details class="as-table" open=${!counted}><summary>${t("menu.table")}</summary><${Rows} items=${menu.nodes} id=${(n) => n.id} columns=${[
      { label: t("menu.node"), cell: (n) => html`<button type="button" class="link" onClick=${() => pick(n.id)}><code>${n.id}</code></button>` },
      { label: t("menu.what"), cell: (n) => t("menu.kind." + n.kind) },
      { label: t("menu.text"), cell: (n) => n.text.split("\n")[0] },
      { label: t("menu.visits"), num: true, cell: (n) => number(n.visits) },
      { label: t("menu.refused"), num: true, cell: (n) => number(n.refused) },
      { label: t("menu.dropped"), num: true, cell: (n) => number(n.dropped) },
      { label: t("menu.lint"), cell: (n) => (n.findings.length ? html`<${Findings} list=${n.findings} />` : "–") },
    ]} /></details></section>`;
}

function Checked({ check }) {
  return html`<div role="status" class="checked" data-ok=${check.ok}><p class=${check.ok ? "done" : "bad-text"}>${check.ok ? t("menu.good") : t("menu.notGood")}</p>
    <ul class="findings">${check.problems.map((p) => html`<li class="error"><strong>${t("menu.atLine", { line: p.line })}</strong> ${p.path ? html`<code>${p.path}</code> ` : ""}${p.text}</li>`)}</ul>
    ${!check.menu && html`<${Findings} list=${check.findings} />`}</div>${check.menu && html`<${Whole} menu=${check.menu} counted=${false} />`}`;
}

function Check() {
  const [source, write] = useState(""), [check, show] = useState(/** @type {any} */ (null)), [error, fail] = useState(/** @type {any} */ (null)), [busy, wait] = useState(false), file = useRef(/** @type {any} */ (null));
  const go = async (e) => {
    e.preventDefault();
    wait(true);
    fail(null);
    try {
      show(await call("/v1/ussd/menu:check", { method: "POST", body: { source } }));
    } catch (x) {
      fail(x);
    }
    wait(false);
  };
  const open = async () => { const f = file.current.files[0]; if (f) write(await f.text()); };
  return html`<section class="card"><h2>${t("menu.try")}</h2><p class="mute">${t("menu.tryText")}</p>
    <form class="form" onSubmit=${go}><label class="field"><span>${t("menu.file")}</span><input ref=${file} type="file" accept=".yaml,.yml,text/yaml" onChange=${open} /></label>
      <label class="field"><span>YAML</span><textarea id="pack" rows="8" spellcheck="false" required value=${source} onInput=${(e) => write(e.target.value)}></textarea></label>
      <${Failure} error=${error} /><div class="row-end"><button class="primary" disabled=${busy}>${t("menu.check")}</button></div></form>
    ${check && html`<${Checked} check=${check} />`}</section>`;
}

export default function Menu() {
  const lang = route.value.query.lang || "", url = query("/v1/ussd/menu", { lang });
  const menu = useLoad(() => call(url, { name: "menu" }), [url]);
  const tools = (m) => html`<div class="seg" role="group" aria-label=${t("handset.language")}>${m.languages.map((l) => html`<button type="button" aria-pressed=${l === m.language} onClick=${() => setQuery({ lang: l }, { replace: true })}>${l}</button>`)}</div>`;
  return html`<${Page} title=${t("page.menu")} about=${t("menu.about")} curl=${url} actions=${menu.data && tools(menu.data)}>
    <${Loaded} of=${menu} rows=${8}>${(m) => html`<div class="tiles">
      <${Tile} label=${t("menu.pack")} value=${m.pack} small=${m.version} /><${Tile} label=${t("menu.nodes")} value=${m.nodes.length} small=${m.languages.join(", ")} />
      <${Tile} label=${t("menu.errors")} value=${m.errors} tone=${m.errors ? "bad" : ""} small=${t("menu.warnings", { n: m.warnings })} /><${Tile} label=${t("menu.since")} value=${m.since} small=${t("menu.sinceSmall")} /></div>
      <${Whole} menu=${m} />`}</${Loaded}><${Check} /></${Page}>`;
}
