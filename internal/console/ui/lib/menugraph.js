// @ts-check
// The menu of the line as a drawing: one row for each step from the start, nodes
// near those that lead to them.
import { html, useMemo } from "../vendor/preact.js";
import { number, t } from "./words.js";

const width = 172, height = 58, gapX = 20, gapY = 64, pad = 14, perRow = 4;

/** Rows of nodes: by depth, a long row goes on in the next. */
function rows(nodes) {
  const deepest = Math.max(0, ...nodes.map((n) => n.depth));
  const by = Array.from({ length: deepest + 2 }, () => []);
  for (const n of nodes) by[n.depth < 0 ? deepest + 1 : n.depth].push(n);
  const at = {}, out = [];
  for (const row of by.filter((r) => r.length)) {
    const pull = {};
    for (const n of nodes) if (n.id in at) for (const w of n.ways) (pull[w.to] ??= []).push(at[n.id]);
    const mean = (n) => (pull[n.id]?.length ? pull[n.id].reduce((a, b) => a + b, 0) / pull[n.id].length : 0.5);
    row.sort((a, b) => mean(a) - mean(b));
    row.forEach((n, i) => { at[n.id] = (i + 0.5) / row.length; });
    for (let i = 0; i < row.length; i += perRow) out.push(row.slice(i, i + perRow));
  }
  return out;
}

function place(menu) {
  const lines = rows(menu.nodes), widest = Math.max(...lines.map((r) => r.length));
  const w = 2 * pad + widest * (width + gapX) - gapX + 40, spots = {};
  lines.forEach((line, y) => {
    const left = (w - line.length * (width + gapX) + gapX) / 2;
    line.forEach((n, x) => { spots[n.id] = { x: left + x * (width + gapX), y: pad + y * (height + gapY), node: n }; });
  });
  return { spots, w, h: 2 * pad + lines.length * (height + gapY) - gapY };
}

/** An arrow: down to the top of its target, or around the side. */
function line(a, b, i) {
  const from = a.x + 16 + ((i * 22) % (width - 32));
  if (b.y > a.y) return `M${from} ${a.y + height}C${from} ${a.y + height + gapY / 2} ${b.x + width / 2} ${b.y - gapY / 2} ${b.x + width / 2} ${b.y}`;
  const out = Math.max(a.x, b.x) + width + gapX;
  return `M${a.x + width} ${a.y + 14}C${out} ${a.y + 14} ${out} ${b.y + height / 2} ${b.x + width} ${b.y + height / 2}`;
}

const cut = (text, n) => { const s = String(text).split("\n")[0]; return s.length > n ? s.slice(0, n - 1) + "…" : s; };

/** What is said of a node to those who do not see the drawing. */
const words = (n) => `${n.id}: ${cut(n.text, 60)}. ${t("menu.shown", { n: n.visits })}, ${t("menu.lost", { n: n.dropped })}`;

function Box({ spot, start, picked, most, onPick }) {
  const n = spot.node, bad = n.findings.some((f) => f.level === "error"), warn = n.findings.length > 0;
  return html`<g class=${`stop ${n.kind}${n.id === picked ? " picked" : ""}${bad ? " wrong" : ""}`} transform=${`translate(${spot.x},${spot.y})`} onClick=${() => onPick(n.id)}>
    <title>${words(n)}</title><rect width=${width} height=${height} rx=${n.kind === "end" ? 28 : n.kind === "do" ? 16 : 8} />
    ${n.dropped > 0 && html`<rect class="lost" x="10" y=${height - 7} height="3" rx="1.5" width=${Math.max(4, ((width - 20) * n.dropped) / most)} />`}
    <text class="id" x="12" y="19">${(n.id === start ? "▸ " : "") + cut(n.id, 24)}</text><text x="12" y="34">${cut(n.text, 27)}</text>
    ${n.kind !== "do" && html`<text class="n" x="12" y="48">${number(n.visits)}${n.dropped ? " · −" + number(n.dropped) : ""}</text>`}
    ${warn && html`<g class="mark" transform=${`translate(${width - 16},14)`}><circle r="9" /><text text-anchor="middle" y="4">${bad ? "!" : "?"}</text></g>`}</g>`;
}

export function MenuGraph({ menu, picked, onPick }) {
  const { spots, w, h } = useMemo(() => place(menu), [menu]);
  const most = Math.max(1, ...menu.nodes.map((n) => n.dropped));
  const near = (n, way) => picked && (n.id === picked || way.to === picked);
  return html`<div class="menu-graph" tabindex="0" role="group" aria-label=${t("menu.graph", { n: menu.nodes.length })}><svg viewBox=${`0 0 ${w} ${h}`} aria-hidden="true">
    <defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0 8 4 0 8z" /></marker></defs>
    ${menu.nodes.map((n) => n.ways.map((way, i) => (way.back && !near(n, way) ? null : html`<path key=${n.id + i} class=${"way" + (way.back ? " back" : "") + (near(n, way) ? " on" : "")} d=${line(spots[n.id], spots[way.to], i)} marker-end="url(#tip)" />`)))}
    ${menu.nodes.map((n) => html`<${Box} key=${n.id} spot=${spots[n.id]} start=${menu.start} picked=${picked} most=${most} onPick=${onPick} />`)}</svg></div>`;
}
