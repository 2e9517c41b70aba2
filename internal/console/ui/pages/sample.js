// @ts-check
// One sample: what it aims at, the households there were to choose from, the
// draw step by step, and the proof that nobody could choose.
import { html, useState } from "../vendor/preact.js";
import { call, may } from "../lib/api.js";
import { Approve, Commit, Contribute, Draw, Freeze, Replace } from "../lib/draw.js";
import { List, Rows } from "../lib/list.js";
import { Name } from "../lib/names.js";
import { base, surveyHref } from "../lib/router.js";
import { approval } from "./samples.js";
import { Badge, Copy, Failure, Loaded, Loading, Page, Tile, Time, useLoad } from "../lib/ui.js";
import { has, number, t } from "../lib/words.js";

const percent = (v) => +(100 * v).toFixed(4) + " %";
/** Whether whoever is signed in may see seed and frame, and make a draw again. */
const mayProve = () => may("sampling:write") || may("sampling:witness") || may("audit:read");
/** Something there may not be yet. */
const orNone = (path) => call(path).catch((e) => { if (e.status === 404) return null; throw e; });

/** A long hash, whole and to be copied. */
const Hash = ({ label, value }) => (value ? html`<dt>${label}</dt><dd class="copyable"><code>${value}</code> <${Copy} text=${value} /></dd>` : null);

const names = ["design", "frame", "commitment", "second", "draw"];

/** How far it has come: each step with when it was done. */
function Steps({ d, frame, draw }) {
  const sole = draw?.soleSeed, done = [d.created, frame?.frozen, draw?.committedAt, draw?.secondAt, draw?.drawnAt];
  const at = done.findIndex((x, i) => !x && !(sole && (i === 2 || i === 3)));
  return html`<ol class="stages">${names.map((name, i) => (sole && (i === 2 || i === 3) ? null : html`<li key=${name} class=${done[i] ? "past" : ""} aria-current=${i === at ? "step" : undefined}>${t("sample.step." + name)} ${done[i] ? html`<span class="small mute"><${Time} at=${done[i]} /></span>` : null}</li>`))}</ol>`;
}

function Target({ d, frame }) {
  const p = d.parameters, aim = p.precision !== undefined ? "±" + percent(p.precision) : "±" + (p.parameterType === "mean" ? p.marginOfError : percent(p.marginOfError));
  const strata = frame?.plan?.strata?.filter((h) => h.name) || (d.stratification?.strata || []).map((h) => ({ name: h.name, population: h.population, size: h.sampleSize }));
  return html`<div class="tiles"><${Tile} label=${t("sample.target")} value=${percent(p.confidence) + " / " + aim} small=${t(p.precision !== undefined ? "samplenew.precision" : "samplenew.margin")} />
      <${Tile} label=${t("samples.needed")} value=${p.calculatedSize} small=${t("samplenew.exact", { n: p.exactSize.toFixed(1) })} />
      <${Tile} label=${t("samples.toDraw")} value=${p.drawnSize} small=${t("samplenew.dropoutSmall", { n: +(100 * p.dropoutRate).toFixed(2) })} />
      <${Tile} label=${t("samplenew.population")} value=${frame?.population ?? p.population ?? "–"} small=${t(frame ? "sample.ofFrame" : "sample.ofDesign")} /></div>
    ${strata.length ? html`<section class="card"><h2>${t("sample.strata")}</h2><${Rows} items=${strata} id=${(h) => h.name} columns=${[{ label: t("figures.stratum"), cell: (h) => h.name }, { label: t("samplenew.population"), num: true, cell: (h) => (h.population === undefined ? "–" : number(h.population)) },
      { label: t("samples.toDraw"), num: true, cell: (h) => (h.size === undefined ? "–" : number(h.size)) }, ...(strata.some((h) => h.clusters) ? [{ label: t("sample.clusters"), num: true, cell: (h) => h.clusters || "–" }] : [])]} /></section>` : null}`;
}

function FrameCard({ d, frame, free, done }) {
  return html`<section class="card"><div class="card-head"><h2>${t("sample.step.frame")}</h2>${free && may("sampling:write") ? html`<${Freeze} d=${d} again=${!!frame} done=${done} />` : null}</div>
    ${frame ? html`<dl class="facts"><dt>${t("survey.state")}</dt><dd><${Badge} value=${frame.state} /></dd><dt>${t("samplenew.population")}</dt><dd>${number(frame.population)}</dd>
      <dt>${t("sample.from")}</dt><dd>${frame.registry ? html`${t("sample.registry")} <code>${frame.registry.filter || frame.registry.type || ""}</code>` : t("sample.file")}</dd><dt>${t("sample.units")}</dt><dd>${t("sample.units." + frame.units)}</dd>
      <dt>${t("sample.frozen")}</dt><dd><${Time} at=${frame.frozen} /> · <${Name} did=${frame.by} /></dd><${Hash} label="SHA-256" value=${frame.hash} /></dl>
      ${mayProve() && frame.hash ? html`<p class="go"><a class="button small" href=${`/v1/sampling/designs/${encodeURIComponent(d.designId)}/frame.csv`} download>${t("sample.frameFile")}</a></p>` : null}
      ${(frame.warnings || []).map((w) => html`<p class="note" key=${w}>${w}</p>`)}` : html`<p class="mute">${t("sample.noFrame")}</p>`}</section>`;
}

function DrawCard({ d, frame, draw, done }) {
  const acts = html`<${Commit} d=${d} frame=${frame} draw=${draw} done=${done} /><${Contribute} d=${d} draw=${draw} done=${done} /><${Draw} d=${d} frame=${frame} draw=${draw} done=${done} />`;
  return html`<section class="card"><div class="card-head"><h2>${t("sample.step.draw")}</h2><span class="actions">${acts}</span></div>
    ${draw ? html`<dl class="facts"><dt>${t("survey.state")}</dt><dd><${Badge} value=${draw.state} /></dd>
      ${draw.committedAt ? html`<dt>${t("sample.committed")}</dt><dd><${Time} at=${draw.committedAt} /> · <${Name} did=${draw.committedBy} /></dd><${Hash} label=${t("sample.commitment")} value=${draw.commitment} />
        <dt>${t("sample.second")}</dt><dd>${draw.second?.source === "beacon" ? html`${draw.second.beacon} <${Time} at=${draw.second.at} />` : draw.secondBy ? html`<${Name} did=${draw.secondBy} /> · <${Time} at=${draw.secondAt} />` : draw.second?.party ? html`${t("sample.waitsFor")} <${Name} did=${draw.second.party} />` : t("sample.waitsAny")}</dd>` : null}
      ${draw.state === "drawn" ? html`<dt>${t("sample.drawn")}</dt><dd><${Time} at=${draw.drawnAt} /> · <${Name} did=${draw.drawnBy} /></dd><dt>${t("sample.count")}</dt><dd>${t("sample.counts", { n: number(draw.drawn), reserve: number(draw.reserve), replaced: number(draw.replaced) })}</dd>` : null}
      <${Hash} label=${t("sample.seed")} value=${draw.seed} />${draw.reason ? html`<dt>${t("sample.reason")}</dt><dd>${draw.reason}</dd>` : null}</dl>
      ${draw.soleSeed ? html`<p class="note">${t("sample.sole")}</p>` : null}` : html`<p class="mute">${t(frame?.hash ? "sample.noDraw" : "sample.drawLater")}</p>`}
    ${draw?.earlier?.length ? html`<h3>${t("sample.earlier")}</h3><${Rows} items=${draw.earlier} id=${(x) => x.drawId} columns=${[{ label: t("sample.drawId"), cell: (x) => x.drawId }, { label: t("survey.state"), cell: (x) => html`<${Badge} value=${x.state} />` },
      { label: t("sample.sameFrame"), cell: (x) => t(x.sameFrame ? "ui.yes" : "ui.no") }, { label: t("sample.reason"), cell: (x) => x.reason || "–" }, { label: t("twin.when"), cell: (x) => html`<${Time} at=${x.at} />` }]} />` : null}</section>`;
}

/** The draw made again by the server, check by check, and how to do it without one. */
function Proof({ d, draw }) {
  const path = "/v1/sampling/draws/" + encodeURIComponent(draw.drawId), of = useLoad(() => call(path + "/verify"), [draw.drawId, draw.replaced]);
  const [job, begun] = useState(/** @type {any} */ (null)), large = of.error?.code === "VERIFY_IN_JOB", line = `hearth sample verify ${draw.drawId}.json`;
  return html`<section class="card proof"><div class="card-head"><h2>${t("sample.proof")}</h2>${of.data ? html`<span class=${"badge " + (of.data.verified ? "good" : "bad")}>${t(of.data.verified ? "sample.holds" : "sample.fails")}</span>` : null}</div>
    <p class="mute">${t("sample.proofText")}</p>
    ${large ? html`<p><button type="button" onClick=${async () => begun(await call(path + "/verify", { method: "POST", body: {} }))}>${t("sample.verifyJob")}</button> ${job ? html`<a class="in-text" role="status" href=${base + "/jobs"}>${t("checks.begun")}</a>` : null}</p>` : html`<${Failure} error=${of.error} again=${of.reload} />`}
    ${of.data ? html`<ol class="proof-steps">${of.data.checks.map((c) => html`<li key=${c.name} class=${c.ok ? "ok" : "broken"}><strong>${t("sample.check." + c.name)}</strong> <span class="sr">${t(c.ok ? "sample.holds" : "sample.fails")}</span><span class="mute">${c.ok ? t("sample.checked." + c.name) : c.detail}</span></li>`)}</ol>
      ${of.data.soleSeed ? html`<p class="note">${t("sample.sole")}</p>` : null}${(of.data.remarks || []).map((r) => html`<p class="small mute wrap" key=${r}>${r}</p>`)}` : large || of.error ? null : html`<${Loading} rows=${4} />`}
    <h3>${t("sample.offline")}</h3><p class="mute">${t("sample.offlineText")}</p>
    <p class="go copyable"><a class="button" href=${path + "/record"} download=${draw.drawId + ".json"}>${t("sample.record")}</a> <code>${line}</code> <${Copy} text=${line} /></p></section>`;
}

function Units({ d, draw, done }) {
  const [turn, again] = useState(0), closed = draw.state !== "drawn" || !(may("sampling:write") || may("surveys:assign"));
  return html`<section><h2 class="part">${t("sample.households")}</h2><p class="mute">${t("sample.householdsText")}</p><${List} path=${`/v1/sampling/draws/${encodeURIComponent(draw.drawId)}/units`} turn=${turn} id=${(u) => u.unit || u.householdId} limit=${15}
    filters=${[{ key: "state", label: t("survey.state"), options: ["drawn", "replaced", "replacement"].map((value) => ({ value, label: t("state." + value) })) }]}
    columns=${[{ label: t("survey.household"), cell: (u) => (u.householdId ? html`<${Name} did=${u.householdId} />` : html`<code>${u.unit}</code>`) }, { label: t("sample.place"), num: true, cell: (u) => u.place ?? "–" },
      { label: t("figures.stratum"), cell: (u) => u.stratum || "–" }, ...(draw.plan?.clusters ? [{ label: t("sample.cluster"), cell: (u) => u.cluster }] : []), { label: t("survey.state"), cell: (u) => html`<${Badge} value=${u.state} />` },
      { label: t("sample.reason"), cell: (u) => (u.reason ? html`${u.reason} <span class="mute"><${Time} at=${u.at} /></span>` : "–") },
      ...(closed ? [] : [{ label: t("sample.act"), cell: (u) => (u.state === "drawn" || u.state === "replacement" ? html`<${Replace} d=${d} unit=${u} done=${() => { again(turn + 1); done(); }} />` : null) }])]}
    empty=${{ icon: "people", title: t("sample.noUnits") }} /></section>`;
}

export default function Sample({ id }) {
  const path = "/v1/sampling/designs/" + encodeURIComponent(id), [turn, again] = useState(0), done = () => again((n) => n + 1);
  const one = useLoad(async () => { const [d, frame, draw] = await Promise.all([call(path), orNone(path + "/frame"), orNone(path + "/draw")]); return { d, frame, draw }; }, [id, turn]);
  return html`<${Loaded} of=${one} rows=${8}>${({ d, frame, draw }) => {
    const drawn = draw?.state === "drawn", survey = draw?.surveyId || d.surveyId;
    return html`<${Page} title=${d.name || d.designId} crumb=${html`<a href=${base + "/sampling"}>${t("page.samples")}</a> / <code>${d.designId}</code>`} curl=${drawn ? null : path} actions=${html`<${Approve} d=${d} done=${done} />`}
        about=${html`<${Badge} value=${approval(d)} /> ${has("samples.method." + d.method) ? t("samples.method." + d.method) : d.method} · ${t("sample.version", { n: d.version })} · <${Name} did=${d.projectId} />${survey ? html` · <a href=${surveyHref(survey)}>${t("sample.survey")}</a>` : null}`}>
      <${Steps} d=${d} frame=${frame} draw=${draw} />${(d.warnings || []).map((w) => html`<p class="note" key=${w}>${w}</p>`)}<${Target} d=${d} frame=${frame} />
      <div class="two even"><${FrameCard} d=${d} frame=${frame} free=${!draw || drawn} done=${done} /><${DrawCard} d=${d} frame=${frame} draw=${draw} done=${done} /></div>
      ${drawn && mayProve() ? html`<${Proof} d=${d} draw=${draw} />` : null}${drawn ? html`<${Units} d=${d} draw=${draw} done=${done} />` : null}</${Page}>`;
  }}</${Loaded}>`;
}
