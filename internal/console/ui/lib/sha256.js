// @ts-check
// The SHA-256 of a file, by which the server names it. Browsers have crypto.subtle
// over TLS and on this machine only; a laptop in the field is reached without.

/** @type {number[]} */
const K = [], H = [];
for (let n = 2; K.length < 64; n++) {
  let prime = true;
  for (let i = 2; i * i <= n; i++) if (n % i === 0) prime = false;
  if (!prime) continue;
  const part = (x) => ((x - Math.floor(x)) * 2 ** 32) | 0;
  if (H.length < 8) H.push(part(Math.sqrt(n)));
  K.push(part(Math.cbrt(n)));
}

const turn = (x, n) => (x >>> n) | (x << (32 - n));

/** One block of 64 bytes. */
function block(h, w, view, at) {
  for (let i = 0; i < 16; i++) w[i] = view.getInt32(at + 4 * i);
  for (let i = 16; i < 64; i++) {
    const a = w[i - 15], b = w[i - 2];
    w[i] = (w[i - 16] + (turn(a, 7) ^ turn(a, 18) ^ (a >>> 3)) + w[i - 7] + (turn(b, 17) ^ turn(b, 19) ^ (b >>> 10))) | 0;
  }
  let [a, b, c, d, e, f, g, z] = h;
  for (let i = 0; i < 64; i++) {
    const t1 = (z + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + ((e & f) ^ (~e & g)) + K[i] + w[i]) | 0;
    const t2 = ((turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    z = g; g = f; f = e; e = (d + t1) | 0; d = c; c = b; b = a; a = (t1 + t2) | 0;
  }
  [a, b, c, d, e, f, g, z].forEach((v, i) => { h[i] = (h[i] + v) | 0; });
}

/** @param {Uint8Array} bytes */
function plain(bytes) {
  const n = bytes.length, all = new Uint8Array(((n + 9 + 63) >> 6) << 6);
  all.set(bytes);
  all[n] = 0x80;
  const view = new DataView(all.buffer), h = [...H], w = new Int32Array(64);
  view.setUint32(all.length - 8, Math.floor(n / 2 ** 29));
  view.setUint32(all.length - 4, (n << 3) >>> 0);
  for (let at = 0; at < all.length; at += 64) block(h, w, view, at);
  return h.map((x) => (x >>> 0).toString(16).padStart(8, "0")).join("");
}

/** The hash in lower-case hexadecimal digits. */
export async function sha256(buffer) {
  if (!crypto.subtle) return plain(new Uint8Array(buffer));
  return [...new Uint8Array(await crypto.subtle.digest("SHA-256", buffer))].map((b) => b.toString(16).padStart(2, "0")).join("");
}
