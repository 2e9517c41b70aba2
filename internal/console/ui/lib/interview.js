// @ts-check
// An interview as a verifier looks at it: the answers, and what speaks for them.
import { html } from "../vendor/preact.js";
import { call, may } from "./api.js";
import { useLabels } from "./labels.js";
import { flagText, ruleName } from "./said.js";
import { Settle, Settled } from "./settle.js";
import { Loaded, useLoad } from "./ui.js";
import { has, number, t } from "./words.js";

const label = (id) => String(id).replaceAll("_", " ");

/** The unit of n, in the language of the page where it is a word. */
const unit = (u, n) => (has("unit." + u) ? t("unit." + u, { n }) : u);

/** A text: the label of a choice, or what somebody wrote, letter by letter. */
function text(v, path, say) {
  if (v.startsWith("sha256:")) return t("response.file");
  const q = say.of(path);
  return q && !q.options && !q.optionsFrom ? v : say.option(path, v);
}

/** A question and its answer on one line. */
const pair = (label, answer) => label + (/[?.:]$/.test(label) ? " " : ": ") + answer;

/** An answer in the words of the template. */
function shown(v, path, say) {
  if (v === null || v === undefined || v === "") return "–";
  if (v === true || v === false) return t(v ? "ui.yes" : "ui.no");
  if (Array.isArray(v)) return v.map((x) => shown(x, path, say)).join(", ");
  const q = say.of(path);
  if (typeof v === "number") return number(v) + (q?.unit ? " " + unit(q.unit, v) : "");
  if (typeof v !== "object") return text(String(v), path, say);
  if ("value" in v && "unit" in v) return `${number(v.value)} ${unit(v.unit, v.value)}`;
  if ("noAnswer" in v) return t(v.noAnswer === "refused" ? "fill.refused" : "fill.dontKnow");
  if ("other" in v) return v.other;
  if ("lat" in v && "lon" in v) return `${v.lat}, ${v.lon}`;
  return Object.entries(v).map(([k, x]) => (q?.questions ? pair(say.question([...path, k]), shown(x, [...path, k], say)) : pair(say.row(path, k), shown(x, path, say)))).join("; ");
}

/** One answer; a list of records is a repeat. */
function Answer({ v, path, say }) {
  if (!Array.isArray(v) || !v[0] || typeof v[0] !== "object" || "other" in v[0]) return shown(v, path, say);
  return html`<ol>${v.map((row, i) => html`<li key=${i}>${say.sorted(row, path).map(([k, x]) => html`<div key=${k}>${pair(say.question([...path, k]), shown(x, [...path, k], say))}</div>`)}</li>`)}</ol>`;
}

const pathOf = (pointer) => pointer.split("/").slice(2);

/** The answers, section by section. */
export function Answers({ response }) {
  const say = useLabels(response.templateId, response.templateVersion), sections = say.sorted(response.responses || {}, []), withheld = response.masked || [];
  const names = (list) => list.map((p) => say.question(pathOf(p))).join(", ");
  return html`${sections.map(([section, answers]) => html`<h3 key=${section}>${say.section(section)}</h3>
      <dl class="answers">${say.sorted(answers || {}, [section]).map(([q, v]) => html`<dt key=${q} title=${q}>${say.question([section, q])}</dt><dd><${Answer} v=${v} path=${[section, q]} say=${say} /></dd>`)}</dl>`)}
    ${withheld.length ? html`<p class="mute">${t("ui.withheld")}: ${names(withheld)}</p>` : null}
    ${response.missing?.length ? html`<p class="note">${t("desk.missing")}: ${names(response.missing)}</p>` : null}`;
}

/** What checks have found, with what came of it. */
const Flags = ({ flags, survey, response, done }) => (flags?.length ? html`<ul class="flags">${flags.map((f) => html`<li key=${f.rule + (f.question || "")} class=${f.settled ? "done" : ""}><strong>${ruleName(f.rule)}</strong> ${flagText(f)}
  <div class="flag-end"><${Settled} of=${f.settled} /><${Settle} survey=${survey} response=${response} flag=${f} done=${done} /></div></li>`)}</ul>` : html`<p class="mute">${t("desk.noFlags")}</p>`);

/** Pictures, places and distances, where the key may see them. */
export function Evidence({ id }) {
  const seen = useLoad(() => (may("responses:verify") ? call(`/v1/responses/${encodeURIComponent(id)}/evidence`) : null), [id]);
  if (!may("responses:verify")) return null;
  return html`<${Loaded} of=${seen} rows=${4}>${(e) => html`
    <h2>${t("desk.flags")}</h2><${Flags} flags=${e.flags} survey=${e.surveyId} response=${id} done=${seen.reload} />
    <h2>${t("desk.evidence")}</h2>
    ${e.files.length ? html`<div class="gallery">${e.files.map((f) => (f.received && f.mediaType?.startsWith("image/")
      ? html`<a key=${f.sha256} href=${f.link} target="_blank" rel="noreferrer"><img src=${f.link} alt=${label(f.question?.split("/").pop() || f.type)} loading="lazy" /></a>`
      : html`<span key=${f.sha256} class="badge mute">${f.type}</span>`))}</div>` : html`<p class="mute">${t("desk.noFiles")}</p>`}
    <dl>${e.places.map((p) => html`<dt key=${p.at}>${t("desk.place")}</dt><dd>${p.lat.toFixed(2)}, ${p.lon.toFixed(2)}</dd>`)}
      ${e.distances.map((d) => html`<dt key=${d.from + d.to}>${d.to === "household" ? t("desk.distance") : d.to}</dt><dd>${Math.round(d.metres)} m</dd>`)}</dl>`}</${Loaded}>`;
}
