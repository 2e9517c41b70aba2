// @ts-check
// A map: places, a grid of degrees and a scale bar, drawn here, so that nothing is
// asked of another server unless the operator has named one for tiles. It is dragged, pinched, wheeled, or
// moved with the keys.
import { html, useCallback, useEffect, useMemo, useRef, useState } from "../vendor/preact.js";
import { Tiles, TilesCredit } from "./tiles.js";
import { number, t } from "./words.js";

const metres = 111195; // of a degree of latitude
const steps = [60, 30, 20, 10, 5, 2, 1, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001, 0.0005, 0.0002, 0.0001];
const turn = (lon) => ((((lon + 180) % 360) + 360) % 360) - 180;
const within = (v, least, most) => Math.min(most, Math.max(least, v));

/** A box as numbers: west, south, east, north; null when the text is none. */
export function boxOf(text) {
  const n = String(text || "").split(",").map(Number);
  return text && n.length === 4 && n.every(Number.isFinite) && n[1] <= n[3] ? n : null;
}

/** The least box around some places. */
function around(list) {
  if (!list.length) return [-20, -36, 52, 38]; // Africa
  const b = [180, 90, -180, -90];
  for (const p of list) {
    b[0] = Math.min(b[0], p.lon); b[1] = Math.min(b[1], p.lat);
    b[2] = Math.max(b[2], p.lon); b[3] = Math.max(b[3], p.lat);
  }
  return b;
}

/** How to look at a box: its middle, and degrees of latitude for each pixel. */
function fit([west, south, east, north], width, height) {
  const wide = east < west ? east + 360 - west : east - west, lat = (south + north) / 2;
  const cos = Math.max(0.1, Math.cos((lat * Math.PI) / 180));
  return { lat, lon: turn(west + wide / 2), cos, k: within(Math.max((wide * cos) / (width * 0.86), (north - south) / (height * 0.82)), 1e-6, 180 / height) };
}

const degrees = (v, step, letters) => Math.abs(v).toFixed(Math.max(0, Math.ceil(-Math.log10(step) - 0.01))) + "° " + (v < -1e-9 ? letters[1] : letters[0]);

/** The lines of whole degrees, or of parts of them, that cross the view. */
function Grid({ view, width, height }) {
  const step = steps.findLast((s) => s / view.k > 90) || steps[0], out = [];
  const north = view.lat + (height / 2) * view.k, halfLon = ((width / 2) * view.k) / view.cos;
  for (let lat = Math.floor(north / step) * step; lat > north - height * view.k && lat >= -90; lat -= step) {
    if (lat > 90) continue;
    const y = (north - lat) / view.k;
    out.push(html`<line x1="0" x2=${width} y1=${y} y2=${y} /><text x="6" y=${y - 5}>${degrees(lat, step, t("places.ns").split(" "))}</text>`);
  }
  for (let lon = Math.ceil((view.lon - halfLon) / step) * step; lon < view.lon + halfLon; lon += step) {
    const x = ((lon - view.lon + halfLon) * view.cos) / view.k;
    out.push(html`<line x1=${x} x2=${x} y1="0" y2=${height} />${x > 70 && x < width - 100 && html`<text x=${x + 5} y="16">${degrees(turn(lon), step, t("places.ew").split(" "))}</text>`}`);
  }
  return html`<g class="degrees">${out}</g>`;
}

function Scale({ view, height }) {
  const most = 130 * view.k * metres, ten = 10 ** Math.floor(Math.log10(most)), m = ten * (most / ten >= 5 ? 5 : most / ten >= 2 ? 2 : 1);
  const text = m >= 1000 ? number(m / 1000) + " km" : number(m) + " m";
  return html`<g class="scale" transform=${`translate(12,${height - 14})`}><path d=${`M0 -6V0H${m / metres / view.k}V-6`} /><text x="2" y="-10">${text}</text></g>`;
}

const radius = (n) => Math.min(26, 9 + Math.log2(n) * 1.4);

/** The marks, around the middle of the view they were made for: dragging moves them all at once. */
function Marks({ points, clusters, view, tone }) {
  const { lat, lon } = view.from;
  const at = (p) => [(turn(p.lon - lon) * view.cos) / view.k, (lat - p.lat) / view.k];
  const marks = useMemo(() => [
    ...points.map((p) => { const [x, y] = at(p); return html`<circle key=${p.did} class=${"mark " + tone(p.status)} cx=${x} cy=${y} r=${points.length > 150 ? 4 : 5} />`; }),
    ...clusters.map((c) => { const [x, y] = at(c); return html`<g class="cluster" transform=${`translate(${x},${y})`}><circle r=${radius(c.n)} /><text y="4" text-anchor="middle">${number(c.n)}</text></g>`; }),
  ], [points, clusters, view.k, view.cos, lat, lon]);
  return html`<g>${marks}</g>`;
}

/** Where to look, and all that moves it. */
function useView(box, svg, width, height) {
  const start = useMemo(() => { const v = fit(box, width, height); return { ...v, from: v }; }, [box.join(), width, height]);
  // Until somebody moves it, the map shows all of the box, whatever its size.
  const [own, setOwn] = useState(/** @type {any} */ (null)), view = own || start, fingers = useRef(new Map()), moved = useRef(false);
  const set = (f) => setOwn((v) => f(v || start));
  useEffect(() => setOwn(null), [box.join()]);
  const move = (dx, dy) => set((v) => ({ ...v, lon: turn(v.lon - (dx * v.k) / v.cos), lat: within(v.lat + dy * v.k, -90, 90) }));
  const zoom = (f, x = width / 2, y = height / 2) => set((v) => {
    const k = within(v.k * f, 1e-6, 180 / height), d = v.k - k;
    return { ...v, k, lon: turn(v.lon + ((x - width / 2) * d) / v.cos), lat: within(v.lat - (y - height / 2) * d, -90, 90) };
  });
  useEffect(() => {
    const on = (e) => {
      if (!e.ctrlKey && document.activeElement !== svg.current) return; // the page scrolls
      e.preventDefault();
      zoom(e.deltaY > 0 ? 1.2 : 1 / 1.2, e.offsetX, e.offsetY);
    };
    const s = svg.current;
    s.addEventListener("wheel", on, { passive: false });
    return () => s.removeEventListener("wheel", on);
  }, [start]);
  const spread = () => { const [a, b] = [...fingers.current.values()]; return b ? Math.hypot(a.x - b.x, a.y - b.y) : 0; };
  const lift = (e) => { fingers.current.delete(e.pointerId); };
  const events = {
    onPointerDown: (e) => { if (!fingers.current.size) moved.current = false; fingers.current.set(e.pointerId, { x: e.clientX, y: e.clientY }); },
    onPointerMove: (e) => {
      const was = fingers.current.get(e.pointerId), dx = e.clientX - was?.x, dy = e.clientY - was?.y;
      if (!was || (!moved.current && Math.hypot(dx, dy) < 5)) return;
      if (!moved.current) { moved.current = true; svg.current.setPointerCapture(e.pointerId); }
      const before = spread(), n = fingers.current.size;
      fingers.current.set(e.pointerId, { x: e.clientX, y: e.clientY });
      move(dx / n, dy / n);
      if (before && spread()) zoom(before / spread());
    },
    onPointerUp: lift, onPointerCancel: lift, onPointerLeave: lift,
    onDblClick: (e) => zoom(0.5, e.offsetX, e.offsetY),
  };
  return { view, move, zoom, moved, events, reset: () => setOwn(null) };
}

/** The part of the globe that a view shows. */
function shown(view, width, height) {
  const wide = ((width / 2) * view.k) / view.cos, high = (height / 2) * view.k;
  const west = wide >= 180 ? -180 : turn(view.lon - wide), east = wide >= 180 ? 180 : turn(view.lon + wide);
  return [west, Math.max(-90, view.lat - high), east, Math.min(90, view.lat + high)].map((v) => +v.toFixed(4)).join(",");
}

/**
 * @param {{points: any[], clusters: any[], box: number[] | null, picked: any, label: string,
 *   tone: (status: string) => string, onPick: (point: any) => void, onBox: (box: string) => void}} props
 */
export function PlaceMap({ points, clusters, box, picked, label, tone, onPick, onBox }) {
  const svg = useRef(/** @type {any} */ (null)), [width, setWidth] = useState(900), height = width < 600 ? 400 : 540;
  const measure = () => { if (svg.current?.clientWidth) setWidth(svg.current.clientWidth); };
  // Measured as soon as it is there: the marks must not move under a pointer.
  const hold = useCallback((s) => { svg.current = s; measure(); }, []);
  useEffect(() => {
    const o = new ResizeObserver(measure);
    o.observe(svg.current);
    return () => o.disconnect();
  }, []);
  const { view, move, zoom, moved, events, reset } = useView(box || around([...points, ...clusters]), svg, width, height);
  const place = (p) => [width / 2 + (turn(p.lon - view.lon) * view.cos) / view.k, height / 2 + (view.lat - p.lat) / view.k];
  const pick = (x, y, reach) => {
    let best = null, least = reach;
    for (const p of [...clusters, ...points]) {
      const [px, py] = place(p), d = Math.hypot(px - x, py - y) - (p.n ? radius(p.n) : 0);
      if (d < least) { best = p; least = d; }
    }
    if (best?.n) onBox(shown({ ...view, lat: best.lat, lon: turn(best.lon), k: view.k / 5 }, width, height));
    else onPick(best);
  };
  const keys = { ArrowLeft: () => move(60, 0), ArrowRight: () => move(-60, 0), ArrowUp: () => move(0, 60), ArrowDown: () => move(0, -60), "+": () => zoom(0.7), "=": () => zoom(0.7), "-": () => zoom(1.4), 0: reset, Enter: () => pick(width / 2, height / 2, Infinity), Escape: () => onPick(null) };
  const onKeyDown = (e) => { if (keys[e.key] && !e.ctrlKey && !e.metaKey && !e.altKey) { e.preventDefault(); e.stopPropagation(); keys[e.key](); } };
  const ring = picked && place(picked);
  const shift = [width / 2 + (turn(view.from.lon - view.lon) * view.cos) / view.k, height / 2 + (view.lat - view.from.lat) / view.k];
  return html`<div class="places">
    <svg ref=${hold} viewBox=${`0 0 ${width} ${height}`} height=${height} tabindex="0" role="application" aria-label=${label} onKeyDown=${onKeyDown} ...${events} onClick=${(e) => { if (!moved.current) pick(e.offsetX, e.offsetY, 14); }}>
      <${Tiles} view=${view} width=${width} height=${height} />
      <${Grid} view=${view} width=${width} height=${height} />
      <g class="marks" transform=${`translate(${shift[0]},${shift[1]})`}><${Marks} points=${points} clusters=${clusters} view=${view} tone=${tone} /></g>
      ${ring && html`<circle class="ring" cx=${ring[0]} cy=${ring[1]} r="10" />`}
      <${Scale} view=${view} height=${height} />
    </svg>
    <div class="graph-tools"><button type="button" aria-label=${t("twin.closer")} onClick=${() => zoom(0.6)}>+</button><button type="button" aria-label=${t("twin.further")} onClick=${() => zoom(1.6)}>−</button><button type="button" aria-label=${t("twin.fit")} onClick=${reset}>⤢</button></div>
    <button type="button" class="small part" onClick=${() => onBox(shown(view, width, height))}>${t("places.part")}</button></div><${TilesCredit} />`;
}
