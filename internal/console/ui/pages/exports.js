// @ts-check
import { html, useEffect, useState } from "../vendor/preact.js";
import { call, hasArea, may, newId } from "../lib/api.js";
import { base, route, setQuery } from "../lib/router.js";
import { onEvent } from "../lib/live.js";
import { List } from "../lib/list.js";
import { Name } from "../lib/names.js";
import { Badge, Bar, Failure, Page, Time, useLoad } from "../lib/ui.js";
import { number, t } from "../lib/words.js";

const formats = { twins: ["csv", "xlsx", "ndjson", "geojson"], survey: ["csv", "xlsx", "dta", "ndjson", "jsonld", "geojson"] };
const tables = ["csv", "xlsx"];
const over = ["succeeded", "failed", "cancelled", "completedWithErrors"];

const Select = ({ id, label, value, onPick, options }) => html`<label><span>${label}</span><select id=${id} value=${value} onChange=${(e) => onPick(e.target.value)}>${options.map((o) => html`<option key=${o.value} value=${o.value}>${o.label}</option>`)}</select></label>`;

const pathOf = (of) => (of ? `/v1/surveys/${encodeURIComponent(of)}/exports` : "/v1/exports");

/** What to put into a file, and how. */
function Form({ of, surveys, onMade }) {
  const [d, set] = useState({ format: "csv", shape: "wide", pii: of ? "pseudonymised" : "none", type: "" }), [busy, wait] = useState(false), [error, fail] = useState(/** @type {any} */ (null));
  const counts = useLoad(() => call("/v1/counts"), []);
  const types = Object.keys(counts.data?.twins || {}).sort();
  const put = (k) => (v) => set({ ...d, [k]: v });
  const list = formats[of ? "survey" : "twins"], format = list.includes(d.format) ? d.format : "csv";
  const shape = tables.includes(format) || format === "ndjson" ? d.shape : "wide";
  const make = async (e) => {
    e.preventDefault();
    wait(true);
    fail(null);
    try {
      const body = of ? { format, shape, pii: d.pii } : { format, pii: d.pii, ...(d.type ? { type: d.type } : {}) };
      await call(pathOf(of), { method: "POST", body, headers: { "Idempotency-Key": newId() } });
      onMade();
    } catch (problem) {
      fail(problem);
    }
    wait(false);
  };
  const named = (key, values) => values.map((v) => ({ value: v, label: t(key + v) }));
  return html`<form class="card" onSubmit=${make}><h2>${t("exports.new")}</h2><${Failure} error=${error} />
    <div class="row">
      <${Select} id="of" label=${t("exports.what")} value=${of} onPick=${(v) => setQuery({ of: v, status: "", cursor: "" })} options=${[{ value: "", label: t("exports.twins") }, ...surveys.map((s) => ({ value: s.surveyId, label: t("exports.answers", { name: s.name || s.templateId }) }))]} />
      ${!of && html`<${Select} id="type" label=${t("twins.type")} value=${d.type} onPick=${put("type")} options=${[{ value: "", label: t("list.any") }, ...types.map((x) => ({ value: x, label: x }))]} />`}
      <${Select} id="format" label=${t("exports.format")} value=${format} onPick=${put("format")} options=${named("exports.format.", list)} />
      ${of && (tables.includes(format) || format === "ndjson") && html`<${Select} id="shape" label=${t("exports.shape")} value=${d.shape} onPick=${put("shape")} options=${named("exports.shape.", ["wide", "long"])} />`}
      <${Select} id="pii" label=${t("exports.pii")} value=${d.pii} onPick=${put("pii")} options=${named("exports.pii.", [...(of ? ["pseudonymised"] : []), "none", ...(may(of ? "responses:pii" : "entities:pii") ? ["full"] : [])])} />
    </div>
    <p class="mute small">${t(of ? "exports.pii.text." + d.pii : d.pii === "full" ? "exports.twinsAll" : "exports.twinsMasked")}
      ${of && html` <a class="in-text" href=${`/v1/surveys/${encodeURIComponent(of)}/codebook?format=csv`} download>${t("exports.codebook")}</a>`}</p>
    <p class="go"><button class="primary" disabled=${busy}>${t(busy ? "import.sending" : "exports.make")}</button></p></form>`;
}

function File({ e }) {
  if (e.links.file) return html`<a class="button" href=${e.links.file} download>${t("exports.file")}</a>`;
  if (e.withheld) return html`<span class="mute">${t("exports.withheld")}</span>`;
  if (!over.includes(e.status)) {
    const done = e.counts?.looked ?? e.rows ?? 0, total = e.counts?.total || 0;
    return html`<span class="meter-row"><${Bar} of=${total || 1} parts=${[["good", total ? done : 0]]} label=${`${done} / ${total}`} /><span class="num">${number(done)}</span></span>`;
  }
  return html`<span class="mute">${e.errors?.[0]?.message || t(e.status === "succeeded" ? "exports.gone" : "state." + e.status)}</span>`;
}

export default function Exports() {
  const of = route.value.query.of || "";
  const surveys = useLoad(() => (hasArea("b") && may("surveys:read") ? call("/v1/surveys?limit=200") : { items: [] }), []);
  const [turn, again] = useState(0), [busy, setBusy] = useState(false), bump = () => again((n) => n + 1);
  useEffect(() => onEvent((e) => { if (e.type.startsWith("job.")) bump(); }), []);
  useEffect(() => {
    if (!busy) return;
    const tick = setInterval(bump, 1500);
    return () => clearInterval(tick);
  }, [busy]);
  return html`<${Page} title=${t("page.exports")} about=${t("exports.about")}>
    ${may("exports:write") && html`<${Form} key=${of} of=${of} surveys=${surveys.data?.items || []} onMade=${bump} />`}
    <h2>${t("exports.earlier")}</h2>
    <${List} key=${of} path=${pathOf(of)} turn=${turn} id=${(e) => e.id} onPage=${(p) => setBusy(!!p?.items.some((e) => !over.includes(e.status)))}
      filters=${[{ key: "status", label: t("jobs.state"), options: ["queued", "running", ...over].map((s) => ({ value: s, label: t("state." + s) })) }]}
      columns=${[
        { label: t("import.when"), cell: (e) => html`<${Time} at=${e.createdAt} />` },
        { label: t("exports.format"), cell: (e) => t("exports.format." + e.format) + (e.shape ? " · " + t("exports.shape." + e.shape) : "") },
        ...(of ? [{ label: t("exports.pii"), cell: (e) => t("exports.pii." + e.pii) }] : []),
        { label: t("jobs.state"), cell: (e) => html`<${Badge} value=${e.status} />` },
        { label: t("import.rows"), cell: (e) => number(e.counts?.rows ?? e.rows), num: true },
        { label: t("jobs.by"), cell: (e) => html`<${Name} did=${e.createdBy} />` },
        { label: t("exports.until"), cell: (e) => (e.links.file ? html`<${Time} at=${e.expiresAt} />` : "–") },
        { label: t("exports.file"), cell: (e) => html`<${File} e=${e} />` },
      ]}
      empty=${{ icon: "file", title: t("exports.empty"), text: t("exports.emptyText") }} />
    ${of && html`<p><a class="in-text" href=${base + "/surveys/" + encodeURIComponent(of)}>${t("exports.toSurvey")}</a></p>`}</${Page}>`;
}
