// @ts-check
import { html, useEffect, useState } from "../vendor/preact.js";
import { call, didPath, query } from "../lib/api.js";
import { base, route, setQuery } from "../lib/router.js";
import { DryRun, Result, chosen, dryRun } from "../lib/importing.js";
import { List } from "../lib/list.js";
import { formatOf, mappingOf, sample, slug, targets } from "../lib/table.js";
import { Badge, Failure, Icon, Page, Time, useLoad } from "../lib/ui.js";
import { number, t } from "../lib/words.js";

const steps = ["file", "columns", "check", "done"];
const capital = (s) => (s ? s[0].toUpperCase() + s.slice(1) : "");

function Steps({ at }) {
  return html`<ol class="stages" aria-label=${t("import.steps")}>${steps.map((s, i) => html`<li key=${s} aria-current=${s === at ? "step" : undefined} class=${i < steps.indexOf(at) ? "past" : ""}>${t("import.step." + s)}</li>`)}</ol>`;
}

/** What the rows are: the protocol of the twins, their type, and what a known row does. */
function What({ what, set, protocols }) {
  const pick = (did) => {
    const p = protocols.find((x) => x.did === did);
    set({ ...what, protocol: did, type: p?.appliesTo?.[0] || capital(p?.domainType) || what.type });
  };
  return html`<div class="row">
    <label><span>${t("import.what")}</span><select id="protocol" value=${what.protocol} onChange=${(e) => pick(e.target.value)}>${protocols.map((p) => html`<option value=${p.did}>${p.name || p.did}</option>`)}</select></label>
    <label><span>${t("twins.type")}</span><input id="type" value=${what.type} onInput=${(e) => set({ ...what, type: e.target.value })} /></label>
    <label><span>${t("import.mode")}</span><select id="mode" value=${what.mode} onChange=${(e) => set({ ...what, mode: e.target.value })}>
      <option value="upsert">${t("import.upsert")}</option><option value="create">${t("import.create")}</option></select></label></div>`;
}

function FileStep({ onFile, what, set, protocols, busy }) {
  const [over, hover] = useState(false);
  const drop = (e) => { e.preventDefault(); hover(false); if (e.dataTransfer?.files[0]) onFile(e.dataTransfer.files[0]); };
  return html`<section class="card"><h2>${t("import.choose")}</h2><${What} what=${what} set=${set} protocols=${protocols} />
    <label class=${"drop" + (over ? " over" : "")} onDragOver=${(e) => { e.preventDefault(); hover(true); }} onDragLeave=${() => hover(false)} onDrop=${drop}>
      <${Icon} name="upload" /><strong>${t(busy ? "import.reading" : "import.drop")}</strong><small>${t("import.limits")}</small>
      <input type="file" id="file" accept=".csv,.tsv,.txt,.xlsx" disabled=${busy} onChange=${(e) => e.target.files[0] && onFile(e.target.files[0])} /></label></section>`;
}

function Notes({ notes }) {
  return notes.length ? html`<ul class="notes">${notes.map((n) => html`<li key=${n.code} class="note"><strong>${t("import.note." + n.code, { n: n.count })}</strong> ${n.columns?.map((c) => html`<code>${c}</code> `)}</li>`)}</ul>` : null;
}

/** One column: its name, what it is, and where it goes. */
function Column({ column, options, onPath }) {
  const own = [...options, "externalIds." + slug(column.name), "metadata." + slug(column.name)];
  return html`<tr><th scope="row">${column.name || html`<span class="mute">${t("import.unnamed")}</span>`}</th><td><span class=${"badge " + ({ known: "good", guessed: "good", unknown: "warn" }[column.is] || "mute")}>${t("import.is." + column.is)}</span></td>
    <td><select aria-label=${t("import.goesTo", { name: column.name })} value=${column.path || ""} disabled=${!column.name} onChange=${(e) => onPath(e.target.value)}>
      <option value="">${t("import.leaveOut")}</option>${[...new Set(own)].map((p) => html`<option value=${p}>${p}</option>`)}</select></td></tr>`;
}

function Sample({ rows, columns, more }) {
  if (!rows.length) return html`<p class="note">${t("import.noRows")}</p>`;
  return html`<h2>${t(more ? "import.firstRows" : "import.allRows", { n: rows.length })}</h2><div class="table-wrap scroll-x" tabindex="0" role="region" aria-label=${t("import.sample")}><table class="tight">
    <thead><tr><th scope="col" class="num">${t("import.line")}</th>${columns.map((c, i) => html`<th scope="col" class=${c.path ? "" : "out"}>${c.name || i + 1}</th>`)}</tr></thead>
    <tbody>${rows.map((r) => html`<tr key=${r.line}><td class="num">${r.line}</td>${r.cells.map((c, i) => html`<td class=${c.wrong ? "bad-cell" : columns[i]?.path ? "" : "out"} title=${c.wrong || undefined}>${c.value}${c.wrong ? html`<span class="sr"> ${c.wrong}</span>` : null}</td>`)}</tr>`)}</tbody></table></div>`;
}

function ColumnsStep({ file, what, preview, setPreview, onCheck, onBack, busy }) {
  const protocol = useLoad(() => call(`/v1/protocols/${didPath(what.protocol)}?view=effective`), [what.protocol]);
  const options = targets(protocol.data, preview.columns);
  const move = async (i, path) => {
    const columns = preview.columns.map((c, n) => (n === i ? { ...c, path, is: path ? "known" : "unknown" } : n !== i && path && c.path === path ? { ...c, path: "", is: "unknown" } : c));
    setPreview({ ...preview, columns });
    if (file.size > 2e6 && formatOf(file) === "xlsx") return; // the dry run tells
    const again = await call(query("/v1/imports:preview", { format: formatOf(file), protocol: what.protocol, type: what.type, mapping: JSON.stringify(mappingOf(columns)) }), { method: "POST", raw: await sample(file), headers: { "Content-Type": "application/octet-stream" }, name: "preview" });
    setPreview({ ...again, columns });
  };
  return html`<section class="card"><div class="card-head"><h2>${t("import.columns", { file: file.name })}</h2><button type="button" class="small" onClick=${onBack}>${t("import.otherFile")}</button></div>
    <${Notes} notes=${preview.notes} />
    <table class="tight mapping"><thead><tr><th scope="col">${t("import.column")}</th><th scope="col">${t("import.isWhat")}</th><th scope="col">${t("import.path")}</th></tr></thead>
      <tbody>${preview.columns.map((c, i) => html`<${Column} key=${i} column=${c} options=${options} onPath=${(p) => move(i, p)} />`)}</tbody></table>
    <p class="go"><button type="button" class="primary" disabled=${busy} onClick=${onCheck}>${t(busy ? "import.sending" : "import.check")}</button><span class="mute">${t("import.checkText")}</span></p>
    <${Sample} rows=${preview.rows} columns=${preview.columns} more=${preview.more} /></section>`;
}

function Earlier() {
  return html`<h2>${t("import.earlier")}</h2><${List} path="/v1/imports" limit=${10} id=${(i) => i.id} href=${(i) => base + "/import?" + (i.dryRun ? "run=" : "go=") + i.id}
    columns=${[
      { label: t("import.when"), cell: (i) => html`<${Time} at=${i.createdAt} />` },
      { label: t("import.kind"), cell: (i) => t(i.dryRun ? "import.dry" : "import.real") },
      { label: t("jobs.state"), cell: (i) => html`<${Badge} value=${i.status} />` },
      { label: t("import.rows"), cell: (i) => number(i.counts.total), num: true },
      { label: t("import.refused"), cell: (i) => number(i.counts.refused), num: true },
    ]} empty=${{ icon: "upload", title: t("import.none") }} />`;
}

/** The first two steps, which need the file in this browser. */
function Begin() {
  const list = useLoad(() => call("/v1/protocols?status=published&limit=200"), []);
  const protocols = (list.data?.items || []).filter((p) => !["claim", "credential", "system", "oracle"].includes(p.domainType));
  const before = chosen.current;
  const [what, set] = useState(before?.what || { protocol: "did:ixo:protocol/household", type: "Household", mode: "upsert" });
  const [file, choose] = useState(before?.file || null), [preview, show] = useState(before?.preview || null);
  const [busy, wait] = useState(false), [error, fail] = useState(/** @type {any} */ (null));
  useEffect(() => {
    if (protocols.length && !protocols.some((p) => p.did === what.protocol)) set({ ...what, protocol: protocols[0].did, type: protocols[0].appliesTo?.[0] || capital(protocols[0].domainType) });
  }, [list.data]);
  const work = async (f) => { wait(true); fail(null); try { await f(); } catch (e) { fail(e); } wait(false); };
  const asked = (mapping, dry) => query(dry ? "/v1/imports" : "/v1/imports:preview", { format: formatOf(file || {}), protocol: what.protocol, type: what.type, mapping, ...(dry ? { mode: what.mode, dryRun: true } : {}) });
  const take = (picked) => work(async () => {
    const format = formatOf(picked);
    if (!format) throw { status: 400, message: t("import.noFormat") };
    const path = query("/v1/imports:preview", { format, protocol: what.protocol, type: what.type });
    show(await call(path, { method: "POST", raw: await sample(picked), headers: { "Content-Type": "application/octet-stream" }, name: "preview" }));
    choose(picked);
  });
  const check = () => work(async () => {
    const run = await dryRun(file, asked(JSON.stringify(mappingOf(preview.columns)), true));
    chosen.current = { run, what, file, preview };
    setQuery({ run });
  });
  return html`<${Steps} at=${preview ? "columns" : "file"} /><${Failure} error=${error || list.error} />
    ${preview ? html`<${ColumnsStep} file=${file} what=${what} preview=${preview} setPreview=${show} onCheck=${check} onBack=${() => { show(null); choose(null); chosen.current = null; }} busy=${busy} />`
      : html`<${FileStep} onFile=${take} what=${what} set=${set} protocols=${protocols} busy=${busy} /><${Earlier} />`}`;
}

export default function Import() {
  const { run, go } = route.value.query;
  return html`<${Page} title=${t("page.import")} about=${t("import.about1")}>
    ${go ? html`<${Steps} at="done" /><${Result} key=${go} id=${go} />` : run ? html`<${Steps} at="check" /><${DryRun} key=${run} id=${run} back=${chosen.current?.run === run ? () => setQuery({ run: "", ok: "", cursor: "" }) : null} />` : html`<${Begin} />`}</${Page}>`;
}
