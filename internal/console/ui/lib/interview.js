// @ts-check
// An interview as a verifier looks at it: the answers, and what speaks for them.
import { html } from "../vendor/preact.js";
import { call, may } from "./api.js";
import { Loaded, useLoad } from "./ui.js";
import { has, t } from "./words.js";

const shown = (v) => {
  if (v === null || v === undefined || v === "") return "–";
  if (v === true || v === false) return t(v ? "ui.yes" : "ui.no");
  if (Array.isArray(v)) return v.map(shown).join(", ");
  if (typeof v === "object") return "value" in v && "unit" in v ? `${v.value} ${v.unit}` : JSON.stringify(v);
  return String(v).replaceAll("_", " ");
};

const label = (id) => id.replaceAll("_", " ");

/** The answers, section by section. A list of records is a repeat. */
export function Answers({ response }) {
  const sections = Object.entries(response.responses || {}), withheld = response.masked || [];
  return html`${sections.map(([section, answers]) => html`<h4 key=${section}>${label(section)}</h4>
      <dl>${Object.entries(answers || {}).map(([q, v]) => html`<dt key=${q}>${label(q)}</dt><dd>${Array.isArray(v) && v[0] && typeof v[0] === "object"
        ? html`<ol>${v.map((row, i) => html`<li key=${i}>${Object.entries(row).map(([k, x]) => `${label(k)}: ${shown(x)}`).join("; ")}</li>`)}</ol>` : shown(v)}</dd>`)}</dl>`)}
    ${withheld.length ? html`<p class="mute">${t("ui.withheld")}: ${withheld.map((p) => label(p.split("/").pop() || p)).join(", ")}</p>` : null}
    ${response.missing?.length ? html`<p class="note">${t("desk.missing")}: ${response.missing.map((p) => label(p.split("/").pop() || p)).join(", ")}</p>` : null}`;
}

export const Flags = ({ flags }) => (flags?.length ? html`<ul class="flags">${flags.map((f, i) => html`<li key=${i}><strong>${has("flag." + (f.code || f.rule)) ? t("flag." + (f.code || f.rule)) : label(f.code || f.rule || "")}</strong> ${f.detail || ""}</li>`)}</ul>` : html`<p class="mute">${t("desk.noFlags")}</p>`);

/** Pictures, places and distances, where the key may see them. */
export function Evidence({ id }) {
  const seen = useLoad(() => (may("responses:verify") ? call(`/v1/responses/${encodeURIComponent(id)}/evidence`) : null), [id]);
  if (!may("responses:verify")) return null;
  return html`<${Loaded} of=${seen} rows=${4}>${(e) => html`
    <h2>${t("desk.flags")}</h2><${Flags} flags=${e.flags} />
    <h2>${t("desk.evidence")}</h2>
    ${e.files.length ? html`<div class="gallery">${e.files.map((f) => (f.received && f.mediaType?.startsWith("image/")
      ? html`<a key=${f.sha256} href=${f.link} target="_blank" rel="noreferrer"><img src=${f.link} alt=${label(f.question?.split("/").pop() || f.type)} loading="lazy" /></a>`
      : html`<span key=${f.sha256} class="badge mute">${f.type}</span>`))}</div>` : html`<p class="mute">${t("desk.noFiles")}</p>`}
    <dl>${e.places.map((p) => html`<dt key=${p.at}>${t("desk.place")}</dt><dd>${p.lat.toFixed(2)}, ${p.lon.toFixed(2)}</dd>`)}
      ${e.distances.map((d) => html`<dt key=${d.from + d.to}>${d.to === "household" ? t("desk.distance") : d.to}</dt><dd>${Math.round(d.metres)} m</dd>`)}</dl>`}</${Loaded}>`;
}
