// @ts-check
// A graph of twins: places by forces, drawn as SVG. Never more than the server
// gives, which says when it has left some out.
import { html, useEffect, useMemo, useRef, useState } from "../vendor/preact.js";
import { forceCollide, forceLink, forceManyBody, forceSimulation, forceX, forceY } from "../vendor/d3-force.js";
import { nameOf, useWidth } from "./ui.js";
import { t } from "./words.js";

const kinds = { organisation: 1, project: 2, household: 3, cleancookingdevice: 4, device: 4, stove: 4, membershipgroup: 5, group: 5, person: 6, oracle: 7, claim: 8, credential: 8 };
export const kind = (type) => "k" + (kinds[String(type).toLowerCase()] || 9);
const caption = (n) => String(nameOf(n)).slice(0, 24);

/** Where a row of numbers begins and how long it is: not shorter than least, so that two twins are not drawn as giants. */
function span(list, least, pad) {
  const from = Math.min(...list) - pad, length = Math.max(...list) + pad - from, more = Math.max(0, least - length);
  return [from - more / 2, length + more];
}

function place(data, root, width, height) {
  const seen = new Set(data.nodes.map((n) => n.did));
  const nodes = data.nodes.map((n) => ({ ...n, id: n.did }));
  const links = (data.edges || []).map((e) => ({ ...e, source: e.source || e.from, target: e.target || e.to })).filter((e) => seen.has(e.source) && seen.has(e.target));
  const degree = {};
  for (const l of links) {
    degree[l.source] = (degree[l.source] || 0) + 1;
    degree[l.target] = (degree[l.target] || 0) + 1;
  }
  for (const n of nodes) {
    n.r = n.did === root ? 15 : Math.min(13, 5.5 + Math.sqrt(degree[n.did] || 1) * 1.3);
    n.named = n.did === root || nodes.length < 40 || (n.depth < 2 && nodes.length < 80);
  }
  forceSimulation(nodes)
    .force("link", forceLink(links).id((d) => d.id).distance((l) => (l.source.depth + l.target.depth < 2 ? 120 : 60)))
    .force("charge", forceManyBody().strength(-190))
    .force("apart", forceCollide((n) => n.r + 7))
    .force("x", forceX(0).strength(0.05)).force("y", forceY(0).strength(0.085))
    .stop().tick(nodes.length > 150 ? 120 : 250);
  const xs = nodes.map((n) => n.x), ys = nodes.map((n) => n.y), pad = 46;
  const [x, w] = span(xs, width, pad + 30), [y, h] = span(ys, height, pad);
  return { nodes, links, box: [x, y, w, h] };
}

/** Where to look: dragged, wheeled, or all of it. */
function useView(box, svg) {
  const [view, set] = useState(box), drag = useRef(/** @type {any} */ (null));
  useEffect(() => set(box), [box]);
  const zoom = (f) => set(([x, y, w, h]) => [x + (w * (1 - f)) / 2, y + (h * (1 - f)) / 2, w * f, h * f]);
  useEffect(() => {
    const on = (e) => { if (e.ctrlKey) { e.preventDefault(); zoom(e.deltaY > 0 ? 1.12 : 0.89); } };
    const s = svg.current;
    s.addEventListener("wheel", on, { passive: false });
    return () => s.removeEventListener("wheel", on);
  }, []);
  const events = {
    onPointerDown: (e) => { drag.current = { x: e.clientX, y: e.clientY, view }; },
    onPointerMove: (e) => {
      const d = drag.current;
      if (!d || !e.buttons) return;
      const k = view[2] / svg.current.clientWidth;
      set([d.view[0] - (e.clientX - d.x) * k, d.view[1] - (e.clientY - d.y) * k, d.view[2], d.view[3]]);
    },
    onPointerUp: () => { drag.current = null; },
  };
  return { view, set, zoom, events };
}

export function Graph({ data, root, picked, onPick }) {
  const svg = useRef(/** @type {any} */ (null)), width = useWidth(svg, 640), few = data.nodes.length < 9;
  const layout = useMemo(() => place(data, root, width, few ? 300 : 540), [data, width]);
  const [hover, setHover] = useState(""), { view, set, zoom, events } = useView(layout.box, svg);
  const near = hover || picked, lit = new Set([near]);
  if (near) for (const l of layout.links) {
    if (l.source.id === near) lit.add(l.target.id);
    if (l.target.id === near) lit.add(l.source.id);
  }
  const types = [...new Set(layout.nodes.map((n) => n.type))];
  return html`<div class="graph">
    <svg ref=${svg} viewBox=${view.join(" ")} class=${(near ? "focus" : "") + (few ? " few" : "")} role="img" aria-label=${t("twin.graph", { n: layout.nodes.length, m: layout.links.length })} ...${events}>
      ${layout.links.map((l) => html`<line class=${near && (l.source.id === near || l.target.id === near) ? "edge on" : "edge"} x1=${l.source.x} y1=${l.source.y} x2=${l.target.x} y2=${l.target.y} />`)}
      ${layout.nodes.map((n) => html`<g key=${n.id} class=${"node " + kind(n.type) + (lit.has(n.id) ? " on" : "") + (n.id === picked ? " picked" : "")} transform=${`translate(${n.x},${n.y})`} onPointerEnter=${() => setHover(n.id)} onPointerLeave=${() => setHover("")} onClick=${() => onPick(n)}>
        <circle r=${n.r} /><title>${n.type}: ${nameOf(n)}</title>${n.named || lit.has(n.id) ? html`<text y=${n.r + 12} text-anchor="middle">${caption(n)}</text>` : null}</g>`)}
    </svg>
    <div class="graph-tools"><button type="button" aria-label=${t("twin.closer")} onClick=${() => zoom(0.8)}>+</button><button type="button" aria-label=${t("twin.further")} onClick=${() => zoom(1.25)}>−</button><button type="button" aria-label=${t("twin.fit")} onClick=${() => set(layout.box)}>⤢</button></div>
    <div class="legend">${types.map((x) => html`<span key=${x}><i class=${kind(x)}></i>${x} <span class="mute">${layout.nodes.filter((n) => n.type === x).length}</span></span>`)}</div></div>`;
}
