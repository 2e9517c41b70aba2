// @ts-check
// Where a photo says it was taken: the GPS part of the EXIF data of a JPEG file.

/** The directory of GPS values, or null. Everything is read within bounds. */
function gps(view, tiff, end) {
  const little = view.getUint16(tiff) === 0x4949;
  const u16 = (at) => view.getUint16(at, little), u32 = (at) => view.getUint32(at, little);
  const entries = (from) => {
    const out = {}, n = u16(from);
    for (let i = 0; i < n && from + 14 + 12 * i <= end; i++) out[u16(from + 2 + 12 * i)] = from + 2 + 12 * i;
    return out;
  };
  const main = entries(tiff + u32(tiff + 4));
  if (!main[0x8825]) return null;
  const g = entries(tiff + u32(main[0x8825] + 8));
  const degrees = (entry) => {
    const at = tiff + u32(entry + 8);
    const part = (i) => u32(at + 8 * i) / (u32(at + 8 * i + 4) || 1);
    return part(0) + part(1) / 60 + part(2) / 3600;
  };
  if (!g[1] || !g[2] || !g[3] || !g[4]) return null;
  const side = (entry) => String.fromCharCode(view.getUint8(entry + 8));
  const lat = degrees(g[2]) * (side(g[1]) === "S" ? -1 : 1), lon = degrees(g[4]) * (side(g[3]) === "W" ? -1 : 1);
  return Math.abs(lat) <= 90 && Math.abs(lon) <= 180 && (lat || lon) ? { lat: +lat.toFixed(6), lon: +lon.toFixed(6) } : null;
}

/** Where a JPEG file was taken as {lat, lon}; null when it does not say. */
export function placeOf(buffer) {
  try {
    const view = new DataView(buffer);
    if (view.getUint16(0) !== 0xffd8) return null;
    for (let at = 2; at + 4 < view.byteLength && view.getUint8(at) === 0xff; at += 2 + view.getUint16(at + 2)) {
      if (view.getUint8(at + 1) === 0xda) return null;
      if (view.getUint8(at + 1) === 0xe1 && view.getUint32(at + 4) === 0x45786966) return gps(view, at + 10, at + 2 + view.getUint16(at + 2));
    }
  } catch { /* cut short */ }
  return null;
}
