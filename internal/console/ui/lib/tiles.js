// @ts-check
// Pictures of a tile server under a map, if the operator has named one. Without,
// nothing is asked of another server.
import { html } from "../vendor/preact.js";
import { me } from "./api.js";

const size = 256; // pixels of a tile
const most = 80; // tiles of one view; a view that needs more has none

/** The row of a latitude among n rows, with its fraction; tiles end near the poles. */
const rowOf = (lat, n) => ((1 - Math.asinh(Math.tan((Math.max(-85.05, Math.min(85.05, lat)) * Math.PI) / 180)) / Math.PI) / 2) * n;

const latOf = (row, n) => (Math.atan(Math.sinh(Math.PI * (1 - (2 * row) / n))) * 180) / Math.PI;

/**
 * The tiles that lie in a view. Each stands where its edges are on this map,
 * which is drawn in degrees and not as tiles are.
 * @param {{view: {lat: number, lon: number, cos: number, k: number}, width: number, height: number}} props
 */
export function Tiles({ view, width, height }) {
  const template = me.value?.tiles?.url;
  if (!template) return null;
  const z = Math.max(0, Math.min(19, Math.round(Math.log2((360 * view.cos) / (size * view.k))))), n = 2 ** z;
  const wide = ((width / 2) * view.k) / view.cos, high = (height / 2) * view.k;
  const west = Math.floor(((view.lon - wide + 180) / 360) * n), east = Math.floor(((view.lon + wide + 180) / 360) * n);
  const north = Math.max(0, Math.floor(rowOf(view.lat + high, n))), south = Math.min(n - 1, Math.floor(rowOf(view.lat - high, n)));
  if ((east - west + 1) * (south - north + 1) > most) return null;
  const left = (col) => Math.round(width / 2 + (((col / n) * 360 - 180 - view.lon) * view.cos) / view.k), top = (row) => Math.round(height / 2 + (view.lat - latOf(row, n)) / view.k);
  const out = [];
  for (let row = north; row <= south; row++) {
    for (let col = west; col <= east; col++) {
      const href = template.replaceAll("{z}", z).replaceAll("{x}", ((col % n) + n) % n).replaceAll("{y}", row);
      out.push(html`<image key=${z + " " + col + " " + row} href=${href} x=${left(col)} y=${top(row)} width=${left(col + 1) - left(col)} height=${top(row + 1) - top(row)} preserveAspectRatio="none" />`);
    }
  }
  return html`<g class="tiles-of-map">${out}</g>`;
}

/** Whom the tiles are from. */
export const TilesCredit = () => (me.value?.tiles ? html`<p class="mute small tiles-credit">${me.value.tiles.credit}</p>` : null);
