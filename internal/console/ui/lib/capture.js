// @ts-check
// What a phone records in an interview: places, photos, sounds, signatures.
import { html, useEffect, useRef, useState } from "../vendor/preact.js";
import { call, send } from "./api.js";
import { placeOf } from "./exif.js";
import { sha256 } from "./sha256.js";
import { Failure } from "./ui.js";
import { t } from "./words.js";

const maxBytes = 20 << 20;

/** Sends a file and gives the answer that names it. */
async function upload(blob) {
  if (blob.size > maxBytes) throw new Error(t("fill.tooLarge"));
  const buffer = await blob.arrayBuffer(), hash = await sha256(buffer);
  await call("/v1/attachments/" + hash, { method: "PUT", raw: blob, headers: { "Content-Type": blob.type || "application/octet-stream" } });
  return { value: "sha256:" + hash, place: placeOf(buffer) };
}

const gpsThere = () => isSecureContext && "geolocation" in navigator;

/** The place of this device, as {lat, lon, accuracy}. */
const here = () => new Promise((ok, no) => {
  navigator.geolocation.getCurrentPosition(
    (p) => ok({ lat: +p.coords.latitude.toFixed(6), lon: +p.coords.longitude.toFixed(6), accuracy: Math.round(p.coords.accuracy) }),
    () => no(new Error(t("fill.gpsRefused"))), { enableHighAccuracy: true, timeout: 20000, maximumAge: 60000 });
});

const metres = 111320; // in a degree of latitude

/** A square of 600 m around a place, to tap on where one is. */
function Point({ around, value, set }) {
  const wide = 300 / metres, tall = wide, east = wide / Math.max(0.2, Math.cos((around.lat * Math.PI) / 180));
  const tap = (e) => {
    const box = e.currentTarget.getBoundingClientRect(), x = (e.clientX - box.left) / box.width, y = (e.clientY - box.top) / box.height;
    set({ lat: +(around.lat + tall * (1 - 2 * y)).toFixed(6), lon: +(around.lon + east * (2 * x - 1)).toFixed(6) });
  };
  const at = value && { x: 50 + (50 * (value.lon - around.lon)) / east, y: 50 - (50 * (value.lat - around.lat)) / tall };
  return html`<figure class="point"><svg viewBox="0 0 100 100" role="img" aria-label=${t("fill.tap")} onClick=${tap}>
    ${[20, 40, 60, 80].map((n) => html`<path key=${n} class="grid" d=${`M${n} 0V100M0 ${n}H100`} />`)}
    <path class="house" d="M46 51 50 47 54 51V55H46z" />${at ? html`<circle cx=${at.x} cy=${at.y} r="3" />` : null}</svg>
    <figcaption class="hint">${t("fill.tap")}</figcaption></figure>`;
}

/** A place: by GPS, typed, tapped, or as a photo says. */
export function Geo({ id, value, set, around }) {
  const [busy, wait] = useState(false), [error, fail] = useState(/** @type {any} */ (null)), [open, show] = useState(false);
  const measure = async () => {
    wait(true);
    fail(null);
    try { set(await here()); } catch (e) { fail(e); }
    wait(false);
  };
  const photo = async (e) => {
    fail(null);
    const place = e.target.files[0] && placeOf(await e.target.files[0].arrayBuffer());
    if (place) set(place);
    else fail(new Error(t("fill.photoNoPlace")));
  };
  // Half a place is none: what was typed stays in its field until the other is there.
  const [half, note] = useState(/** @type {any} */ ({})), there = { ...(value || {}), ...half };
  const typed = (k) => (e) => {
    const text = e.target.value.trim(), n = Number(text), next = { lat: there.lat, lon: there.lon, [k]: text === "" || Number.isNaN(n) ? undefined : n };
    const whole = next.lat !== undefined && next.lon !== undefined;
    note(whole ? {} : next);
    set(whole ? next : null);
  };
  return html`<div class="geo">${gpsThere() ? html`<button type="button" disabled=${busy} onClick=${measure}>${busy ? t("fill.measuring") : t("fill.gps")}</button>` : html`<p class="note">${t("fill.noGps")}</p>`}
    <div class="pair"><label class="field"><span>${t("fill.lat")}</span><input id=${id} inputmode="decimal" value=${there.lat ?? ""} onChange=${typed("lat")} /></label>
      <label class="field"><span>${t("fill.lon")}</span><input inputmode="decimal" value=${there.lon ?? ""} onChange=${typed("lon")} /></label></div>
    ${value?.accuracy !== undefined ? html`<p class="hint">${t("fill.accuracy", { n: value.accuracy })}</p>` : null}
    <div class="actions"><label class="button small file">${t("fill.fromPhoto")}<input type="file" accept="image/jpeg" onChange=${photo} /></label>
      ${around ? html`<button type="button" class="small" aria-expanded=${open} onClick=${() => show(!open)}>${t("fill.onMap")}</button>` : null}</div>
    ${open && around ? html`<${Point} around=${around} value=${value} set=${set} />` : null}<${Failure} error=${error} /></div>`;
}

/** Draws a signature and sends it as a picture. */
function Pad({ done }) {
  const box = useRef(/** @type {any} */ (null)), [some, drawn] = useState(false);
  const at = (e) => { const b = box.current.getBoundingClientRect(); return [((e.clientX - b.left) * 600) / b.width, ((e.clientY - b.top) * 200) / b.height]; };
  const draw = (e) => {
    const c = box.current.getContext("2d"), [x, y] = at(e);
    if (e.type === "pointerdown") { c.lineWidth = 4; c.lineCap = "round"; c.strokeStyle = "#000"; c.beginPath(); c.moveTo(x, y); box.current.setPointerCapture(e.pointerId); return; }
    if (!e.buttons) return;
    c.lineTo(x, y);
    c.stroke();
    drawn(true);
  };
  const clear = () => { box.current.getContext("2d").clearRect(0, 0, 600, 200); drawn(false); };
  return html`<canvas class="pad" ref=${box} width="600" height="200" aria-label=${t("fill.sign")} onPointerDown=${draw} onPointerMove=${draw}></canvas>
    <div class="actions"><button type="button" class="small" disabled=${!some} onClick=${() => box.current.toBlob(done, "image/png")}>${t("fill.signDone")}</button><button type="button" class="small" onClick=${clear}>${t("fill.signClear")}</button></div>`;
}

const accepted = { photo: "image/*", audio: "audio/*", signature: "image/*" };

/** A file of this device. A photo that says where it was taken tells found. */
export function Media({ id, type, value, set, found }) {
  const [busy, wait] = useState(false), [error, fail] = useState(/** @type {any} */ (null)), [own, show] = useState(/** @type {any} */ (null)), [gone, lost] = useState(false);
  useEffect(() => () => { if (own) URL.revokeObjectURL(own.url); }, [own]);
  useEffect(() => {
    if (!value || own?.value === value) return;
    send("/v1/attachments/" + value.slice(7), { method: "HEAD" }).then((a) => lost(a.status === 404), () => {}); // files without a response stay 14 days
  }, [value]);
  const take = async (blob) => {
    if (!blob) return;
    wait(true);
    fail(null);
    try {
      const r = await upload(blob);
      show({ value: r.value, url: URL.createObjectURL(blob) });
      lost(false);
      set(r.value);
      if (r.place) found?.(r.place);
    } catch (e) { fail(e); }
    wait(false);
  };
  const picture = value && !gone && (type === "photo" || type === "signature") ? (own?.value === value ? own.url : "/v1/attachments/" + value.slice(7)) : null;
  return html`<div class="media">${picture ? html`<img class="taken" src=${picture} alt=${t("fill.taken")} />` : value && !gone ? html`<p>${t("fill.fileSent")}</p>` : null}
    ${gone ? html`<p class="note">${t("fill.fileGone")}</p>` : null}
    ${type === "signature" && !value ? html`<${Pad} done=${take} />` : null}
    <div class="actions"><label class="button file" aria-busy=${busy}>${busy ? t("fill.sending") : t(value ? "fill.again." + (type === "photo" ? "photo" : "file") : "fill.take." + (accepted[type] ? type : "file"))}
      <input id=${id} type="file" accept=${accepted[type]} capture=${type === "photo" ? "environment" : undefined} disabled=${busy} onChange=${(e) => take(e.target.files[0])} /></label>
      ${value ? html`<button type="button" class="small" onClick=${() => { set(null); show(null); }}>${t("fill.remove")}</button>` : null}</div><${Failure} error=${error} /></div>`;
}
