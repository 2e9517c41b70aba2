// @ts-check
// A sample design in the making: while somebody types, the server computes how
// many households it takes, and how that changes with the precision.
import { html, useEffect, useState } from "../vendor/preact.js";
import { call, drop, may, query } from "../lib/api.js";
import { useAct, useOnce } from "../lib/act.js";
import { base, go, route, setQuery } from "../lib/router.js";
import { Curl, Failure, Loading, Page, Tile, isBack, nameOf, useLoad } from "../lib/ui.js";
import { number, t } from "../lib/words.js";

const usual = { kind: "proportion", aim: "precision", confidence: "90", target: "10", expected: "50", sd: "", dropout: "10", effect: "1", population: "", strata: "" };
const steps = [2.5, 5, 7.5, 10, 15, 20], parts = [0.25, 0.5, 0.75, 1, 1.5, 2];

const share = (v) => (v === "" ? undefined : +(Number(v) / 100).toFixed(6));
const plain = (v) => (v === "" || v === undefined ? undefined : Number(v));

/** Strata as people type them: a name and a population on each line. */
const strataOf = (text) => text.split("\n").map((l) => l.trim()).filter(Boolean).map((l) => {
  const m = /^(.*?)[\s,;:]+([\d ]+)$/.exec(l);
  return m ? { name: m[1].trim(), population: Number(m[2].replaceAll(" ", "")) } : { name: l };
});

/** Whether the target is a number of its own unit, and not a share. */
const isPlain = (d) => d.kind === "mean" && d.aim === "margin";

/** The least and the most of the numbers of a form, as people type them: the server's limits, in per cent where the form is. */
const limits = (d) => ({
  confidence: [50.01, 99.99], target: isPlain(d) ? [0.000001, 1e12] : [0.0001, 99.9999], expected: d.kind === "mean" ? [] : [0.0001, 99.9999],
  dropout: [0, 90], effect: [0.1, 100], population: d.strata ? [] : [1, 1e9],
});

/** Whether somebody typed a number that cannot be meant. */
const isOut = (d, id) => {
  const [least, most] = limits(d)[id] || [], v = Number(d[id]);
  return !!d[id] && least !== undefined && !(v >= least && v <= most && (id !== "population" || Number.isInteger(v)));
};

/** What a form still needs before a size can be computed: the name of the words that ask for it. */
function lacks(d, draft) {
  if (Object.keys(limits(d)).some((id) => isOut(d, id))) return "samplenew.wrong";
  if (!d.target) return "samplenew.needsTarget";
  if (d.kind === "mean" && !d.sd) return "samplenew.needsSD";
  if (!draft.projectId) return "samplenew.needsProject";
  return draft.population || draft.stratification ? "" : "samplenew.waits";
}

/** The draft that a form means. */
function draftOf(d) {
  const strata = strataOf(d.strata), mean = d.kind === "mean";
  return {
    name: d.name || undefined, projectId: d.projectId, surveyId: d.surveyId || undefined, parameterType: d.kind, confidence: share(d.confidence),
    [d.aim === "precision" ? "precision" : "marginOfError"]: isPlain(d) ? plain(d.target) : share(d.target),
    expectedMean: mean ? plain(d.expected) : share(d.expected), expectedSD: mean ? plain(d.sd) : undefined, dropoutRate: share(d.dropout), designEffect: plain(d.effect),
    population: strata.length ? undefined : plain(d.population), stratification: strata.length ? { strata } : undefined,
  };
}

const path = "/v1/sampling?dryRun=true";
const compute = (draft, name) => call(path, { method: "POST", body: draft, name });

/** The targets beside which the chosen one is shown. */
function targets(d) {
  const own = Number(d.target);
  return [...new Set([...(isPlain(d) ? parts.map((p) => +(p * own).toPrecision(4)) : steps), own])].filter((x) => x > 0).sort((a, b) => a - b);
}

/** What the server computes of a draft, a moment after the last key. */
function useSize(d, draft) {
  const [s, set] = useState(/** @type {any} */ ({})), text = JSON.stringify(draft), aim = d.aim === "precision" ? "precision" : "marginOfError";
  useEffect(() => {
    const waits = lacks(d, draft);
    if (waits) { set({ waits }); return undefined; }
    let wanted = true;
    const rows = targets(d), names = rows.map((x) => "size " + x);
    set((o) => ({ ...o, loading: true }));
    const wait = setTimeout(async () => {
      try {
        const design = await compute(draft, "size");
        const curve = await Promise.all(rows.map((x, i) => compute({ ...draft, surveyId: undefined, [aim]: isPlain(d) ? x : share(x) }, names[i]).then((of) => ({ x, n: of.parameters.drawnSize }), () => null)));
        if (wanted) set({ design, curve: curve.filter(Boolean) });
      } catch (error) {
        if (wanted && error?.name !== "AbortError") set({ error });
      }
    }, 300);
    return () => { wanted = false; clearTimeout(wait); ["size", ...names].forEach(drop); };
  }, [text, isBack(s.error)]);
  return s;
}

/** Households to draw at each precision, the chosen one marked. */
function Curve({ curve, d }) {
  const most = Math.max(1, ...curve.map((c) => c.n)), own = Number(d.target);
  return html`<h3>${t("samplenew.curve")}</h3><table class="tight curve-table"><thead><tr><th scope="col" class="num">${isPlain(d) ? t("samplenew.targetPlain") : t("samplenew.target")}</th><th scope="col">${t("samples.toDraw")}</th></tr></thead>
    <tbody>${curve.map((c) => html`<tr key=${c.x} class=${c.x === own ? "chosen" : ""} aria-current=${c.x === own ? "true" : undefined}><th scope="row" class="num">±${c.x}${isPlain(d) ? "" : " %"}</th>
      <td><span class="n-line"><i style=${{ width: Math.max(1, (78 * c.n) / most) + "%" }}></i><strong>${number(c.n)}</strong></span></td></tr>`)}</tbody></table>`;
}

function Size({ s, d }) {
  if (s.error) return html`<${Failure} error=${s.error} />`;
  if (!s.design) return s.loading ? html`<${Loading} rows=${4} />` : html`<p class="mute">${t(s.waits || "samplenew.waits")}</p>`;
  const p = s.design.parameters, strata = s.design.stratification?.strata || [];
  return html`<div class=${s.loading ? "stale" : ""}><div class="tiles pair"><${Tile} label=${t("samples.needed")} value=${p.calculatedSize} small=${t("samplenew.exact", { n: p.exactSize.toFixed(1) })} />
      <${Tile} label=${t("samples.toDraw")} value=${p.drawnSize} small=${t("samplenew.dropoutSmall", { n: +(100 * p.dropoutRate).toFixed(2) })} /></div>
    ${strata.length ? html`<table class="tight"><thead><tr><th scope="col">${t("figures.stratum")}</th><th scope="col" class="num">${t("samplenew.population")}</th><th scope="col" class="num">${t("samples.toDraw")}</th></tr></thead>
      <tbody>${strata.map((h) => html`<tr key=${h.name}><td>${h.name}</td><td class="num">${number(h.population)}</td><td class="num">${number(h.sampleSize)}</td></tr>`)}</tbody></table>` : null}
    ${s.curve?.length ? html`<${Curve} curve=${s.curve} d=${d} />` : null}
    ${(s.design.warnings || []).map((w) => html`<p class="note" key=${w}>${w}</p>`)}</div>`;
}

const put = (id) => (e) => setQuery({ [id]: e.target.value || "-" }, { replace: true });
/** One number of the form, in the address. */
const Num = ({ id, label, d, hint = "", ...rest }) => html`<label class="field"><span>${label}</span><input id=${id} type="number" step="any" inputmode="decimal" value=${d[id] ?? ""} min=${limits(d)[id]?.[0]} max=${limits(d)[id]?.[1]} aria-invalid=${isOut(d, id) ? "true" : undefined} onInput=${put(id)} ...${rest} />
  ${isOut(d, id) ? html`<span class="wrong-text" role="alert">${t(id === "population" ? "samplenew.wholeBetween" : "samplenew.between", { least: limits(d)[id][0], most: number(limits(d)[id][1]) })}</span>` : hint && html`<span class="hint">${hint}</span>`}</label>`;
const Pick = ({ id, label, d, options }) => html`<label class="field"><span>${label}</span><select id=${id} value=${d[id] ?? ""} onChange=${put(id)}>${options.map(([v, text]) => html`<option key=${v} value=${v}>${text}</option>`)}</select></label>`;

/** The project and the survey that a design is for. */
function Whose({ d, projects, surveys }) {
  const list = projects.data?.items || [], open = (surveys.data?.items || []).filter((x) => x.status === "draft" || x.status === "ready");
  return html`<div class="row">${list.length ? html`<${Pick} id="projectId" label=${t("samples.project")} d=${d} options=${list.map((p) => [p.did, nameOf(p)])} />`
    : html`<label class="field"><span>${t("samples.project")}</span><input id="projectId" required placeholder="did:…" value=${d.projectId} onInput=${put("projectId")} /></label>`}
    <${Pick} id="surveyId" label=${t("samplenew.survey")} d=${d} options=${[["", t("samplenew.noSurvey")], ...open.map((x) => [x.surveyId, x.name || x.surveyId])]} /></div>`;
}

export default function NewSample() {
  const projects = useLoad(() => (may("entities:read") ? call("/v1/entities?type=Project&limit=100&fields=did,type,properties,metadata,externalIds") : { items: [] }), []);
  const asked = Object.fromEntries(Object.entries(route.value.query).map(([k, v]) => [k, v === "-" ? "" : v]));
  const d = { ...usual, projectId: projects.data?.items?.[0]?.did || "", ...asked };
  const surveys = useLoad(() => (d.projectId && may("surveys:read") ? call(query("/v1/surveys", { projectId: d.projectId, limit: 100 })) : { items: [] }), [d.projectId]);
  const draft = draftOf(d), s = useSize(d, draft), act = useAct(), once = useOnce(), mean = d.kind === "mean";
  const keep = async (e) => {
    e.preventDefault();
    const made = await act.run(() => call("/v1/sampling/designs", { method: "POST", body: draft, headers: once.headers() }));
    if (made) go("/sampling/" + encodeURIComponent(made.designId)); else once.renew();
  };
  return html`<${Page} title=${t("samplenew.title")} about=${t("samplenew.about")} crumb=${html`<a href=${base + "/sampling"}>${t("page.samples")}</a>`}>
    <div class="two uneven"><form class="card form" onSubmit=${keep}>
      <label class="field"><span>${t("samplenew.name")}</span><input id="name" maxlength="200" value=${d.name || ""} onInput=${put("name")} /></label>
      <${Whose} d=${d} projects=${projects} surveys=${surveys} />
      <div class="row"><${Pick} id="kind" label=${t("samplenew.kind")} d=${d} options=${[["proportion", t("figures.statistic.proportion")], ["mean", t("figures.statistic.mean")]]} />
        <${Pick} id="aim" label=${t("samplenew.aim")} d=${d} options=${[["precision", t("samplenew.precision")], ["margin", t("samplenew.margin")]]} /></div>
      <div class="row"><${Num} id="confidence" label=${t("samplenew.confidence")} d=${d} required /><${Num} id="target" label=${isPlain(d) ? t("samplenew.targetPlain") : t("samplenew.target")} d=${d} required /></div>
      <div class="row"><${Num} id="expected" label=${mean ? t("samplenew.expectedMean") : t("samplenew.expected")} d=${d} />${mean && html`<${Num} id="sd" label=${t("samplenew.sd")} d=${d} required />`}
        <${Num} id="population" label=${t("samplenew.population")} d=${d} disabled=${!!d.strata} hint=${d.strata ? t("samplenew.fromStrata") : ""} /></div>
      <div class="row"><${Num} id="dropout" label=${t("samplenew.dropout")} d=${d} /><${Num} id="effect" label=${t("samplenew.effect")} d=${d} /></div>
      <label class="field"><span>${t("samplenew.strata")}</span><textarea id="strata" rows="3" placeholder=${t("samplenew.strataHint")} value=${d.strata} onInput=${put("strata")}></textarea></label>
      <${Failure} error=${act.error} /><div class="row-end"><button type="submit" class="primary" disabled=${act.busy || !s.design}>${t("samplenew.keep")}</button></div></form>
      <section class="card" aria-live="polite"><h2>${t("samplenew.size")}</h2><${Size} s=${s} d=${d} /></section></div>
    <${Curl} path=${path} body=${draft} /></${Page}>`;
}
