// @ts-check
// The steps of an import that work on the server: the dry run as a grid, the
// import itself, and what came of it. All they need is an id, so a reload loses
// nothing.
import { html, useEffect, useState } from "../vendor/preact.js";
import { call, newId } from "./api.js";
import { base, setQuery, twinHref } from "./router.js";
import { List } from "./list.js";
import { Badge, Bar, Failure, Loaded, Tile, useLoad } from "./ui.js";
import { number, t } from "./words.js";

const over = ["succeeded", "failed", "cancelled", "completedWithErrors"];

/** Reads an import again and again until it is over. */
export function useImport(id) {
  const one = useLoad(() => call("/v1/imports/" + encodeURIComponent(id)), [id]);
  const at = one.data?.status;
  useEffect(() => {
    if (!one.data || over.includes(at)) return;
    const tick = setTimeout(one.reload, 1000);
    return () => clearTimeout(tick);
  }, [one.data]);
  return one;
}

/** How far an import has come. */
export function Progress({ of }) {
  const c = of.counts || {};
  return html`<section class="card" role="status"><h2>${t(of.dryRun ? "import.checking" : "import.storing")}</h2>
    <${Bar} of=${c.total} parts=${[["good", c.done - c.refused], ["bad", c.refused]]} label=${`${c.done} / ${c.total}`} />
    <p class="mute">${c.total ? t("import.rowsOf", { done: number(c.done), total: number(c.total) }) : t("import.counting")}</p></section>`;
}

/** Why an import failed as a whole. */
function Broken({ of }) {
  if (of.status !== "failed" || (of.counts?.refused && of.counts.refused === of.counts.done)) return null;
  return html`<${Failure} error=${{ status: 400, message: of.errors?.[0]?.message || t("state.failed"), code: of.errors?.[0]?.code, fields: of.errors?.[0]?.fields }} />`;
}

function Tiles({ of }) {
  const c = of.counts, will = of.dryRun ? "import.will." : "import.did.";
  return html`<div class="tiles">
    <${Tile} label=${t(will + "created")} value=${c.created} small=${t("import.of", { n: number(c.total) })} />
    <${Tile} label=${t(will + "updated")} value=${c.updated} small=${t("import.unchanged", { n: number(c.unchanged) })} />
    <${Tile} label=${t("import.refused")} value=${c.refused} small=${c.refused ? t("import.seeBelow") : t("import.allGood")} tone=${c.refused ? "warn" : ""} />
    <${Tile} label=${t("import.warnings")} value=${c.warnings || 0} small=${t("import.blank", { n: number(c.blank || 0) })} /></div>`;
}

function CellOf({ cell }) {
  if (!cell) return "";
  if (!cell.wrong) return html`<span class="cell">${cell.value || html`<span class="mute">–</span>`}</span>`;
  return html`<span class="cell bad-cell"><strong>${cell.value || t("import.nothing")}</strong><small>${cell.wrong}</small></span>`;
}

/** What is wrong with a row and no cell says. */
function Rest({ row, real }) {
  const said = new Set((row.cells || []).map((c) => c.wrong).filter(Boolean));
  const left = (row.error?.errors || []).filter((f) => !said.has(f.detail));
  const text = row.error && !left.length && !said.size ? row.error.message : "";
  const notes = [...left, ...(row.warnings || [])];
  const taken = row.ok && row.did && real ? html`<a href=${twinHref(row.did)}>${t("import.taken." + (["updated", "unchanged"].includes(row.action) ? row.action : "created"))}</a>` : null;
  if (!text && !notes.length) return taken || html`<${Badge} value=${row.ok ? "ok" : "refused"} />`;
  return html`${taken}<ul class="reasons">${text && html`<li>${text}</li>`}${notes.map((f, i) => html`<li key=${i}><code>${f.pointer}</code> ${f.detail}</li>`)}</ul>`;
}

/** The rows of an import as a grid, with the bad cells marked. */
function Grid({ of }) {
  const [columns, set] = useState(/** @type {string[]} */ ([]));
  const learn = (page) => {
    const cells = page?.items.find((r) => r.cells?.length)?.cells;
    if (cells && cells.map((c) => c.column).join("\n") !== columns.join("\n")) set(cells.map((c) => c.column));
  };
  return html`<div class="grid-rows"><${List} path=${"/v1/imports/" + encodeURIComponent(of.id) + "/rows"} id=${(r) => r.line} onPage=${learn}
    filters=${[{ key: "ok", label: t("import.which"), options: [{ value: "false", label: t("import.onlyBad") }, { value: "true", label: t("import.onlyGood") }] }]}
    tools=${of.counts.refused ? html`<a class="button" href=${"/v1/imports/" + encodeURIComponent(of.id) + "/refused"} download>${t("import.download")}</a>` : null}
    columns=${[
      { label: t("import.line"), cell: (r) => html`<span class="num">${r.line}</span>` },
      ...columns.map((name, i) => ({ label: name || String(i + 1), cell: (r) => html`<${CellOf} cell=${r.cells?.[i]} />` })),
      { label: t(of.dryRun ? "import.about" : "settle.outcome"), cell: (r) => html`<${Rest} row=${r} real=${!of.dryRun} />` },
    ]} empty=${{ icon: "file", title: t("import.noRows") }} /></div>`;
}

/** What somebody has chosen in the first steps, so that a way leads back to them. */
export const chosen = { current: /** @type {any} */ (null) };
const forget = () => { chosen.current = null; };

/** The dry run: what would become of every row, and the button that does it. */
export function DryRun({ id, back }) {
  const one = useImport(id), [busy, wait] = useState(false), [error, fail] = useState(/** @type {any} */ (null));
  const start = async () => {
    wait(true);
    fail(null);
    try {
      const job = await call(`/v1/imports/${encodeURIComponent(id)}/run`, { method: "POST", headers: { "Idempotency-Key": "console-run-" + id } });
      setQuery({ run: id, go: job.id, ok: "", cursor: "" });
    } catch (e) {
      fail(e);
    }
    wait(false);
  };
  return html`<${Loaded} of=${one} rows=${6}>${(i) => {
    if (!over.includes(i.status)) return html`<${Progress} of=${i} />`;
    const good = i.counts.done - i.counts.refused;
    return html`<${Broken} of=${i} /><${Tiles} of=${i} /><${Failure} error=${error} />
      <p class="go">${good > 0 ? html`<button type="button" class="primary" disabled=${busy} onClick=${start}>${t("import.go", { n: number(good) })}</button>` : null}
        ${back ? html`<button type="button" onClick=${back}>${t("import.toColumns")}</button>` : null}<a class="button" href=${base + "/import"} onClick=${forget}>${t("import.other")}</a>
        ${i.counts.refused && good > 0 ? html`<span class="mute">${t("import.goText", { n: number(i.counts.refused) })}</span>` : null}</p>
      ${i.counts.done > 0 && html`<${Grid} of=${i} />`}`;
  }}</${Loaded}>`;
}

/** The import itself, and what came of it. */
export function Result({ id }) {
  const one = useImport(id);
  return html`<${Loaded} of=${one} rows=${6}>${(i) => {
    if (!over.includes(i.status)) return html`<${Progress} of=${i} />`;
    return html`<${Broken} of=${i} /><${Tiles} of=${i} />
      <p class="go"><a class="button" href=${base + "/twins" + (i.type ? "?type=" + encodeURIComponent(i.type) : "")}>${t("import.toTwins")}</a>
        <a class="button" href=${base + "/import"} onClick=${forget}>${t("import.other")}</a></p>
      ${i.counts.done > 0 && html`<${Grid} of=${i} />`}`;
  }}</${Loaded}>`;
}

/** Sends a file for its dry run and gives the id of it. */
export async function dryRun(file, asked) {
  const job = await call(asked, { method: "POST", raw: file, headers: { "Content-Type": "application/octet-stream", "Idempotency-Key": newId() } });
  return job.id;
}
