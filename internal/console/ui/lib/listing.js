// @ts-check
// Households for the list of a survey: those of its project, or those of a table.
import { html, useState } from "../vendor/preact.js";
import { Dialog, useAct } from "./act.js";
import { call, may, query } from "./api.js";
import { base } from "./router.js";
import { Failure } from "./ui.js";
import { number, t } from "./words.js";

const atOnce = 1000; // as many as the server takes in one call
const columns = ["householdId", "stratum", "group", "area", "cluster", "collector"];

/** The cells of a line; a cell with a comma in it stands in quotes. */
const cellsOf = (line, by) => [...line.matchAll(new RegExp(`(?:^|${by})(?:"((?:[^"]|"")*)"|([^${by}]*))`, "g"))].map((m) => (m[1] !== undefined ? m[1].replaceAll('""', '"') : m[2]).trim());

/** The households of a table with a line of headings; without one, a DID on each line. */
export function tableOf(text) {
  const lines = text.replace(/^\ufeff/, "").split(/\r?\n/).filter((l) => l.trim());
  if (!lines.length) return [];
  const by = [",", ";", "\t"].find((x) => lines[0].includes(x)) || ",";
  const first = cellsOf(lines[0], by), headed = !first[0].startsWith("did:");
  const names = headed ? first.map((h) => columns.find((c) => c.toLowerCase() === h.toLowerCase().replace(/[^a-z]/g, "")) || (/^(household|did)$/i.test(h) ? "householdId" : "")) : columns;
  return lines.slice(headed ? 1 : 0).map((l) => Object.fromEntries(cellsOf(l, by).map((v, i) => [names[i], v]).filter(([k, v]) => k && v)));
}

/** The households of a project, each in the stratum that one of its properties names. */
async function ofProject(project, property) {
  const out = [];
  let cursor = "";
  do {
    const page = await call(query("/v1/entities", { type: "Household", status: "active", project, limit: 1000, cursor, fields: "did,properties" }));
    for (const h of page.items) {
      const stratum = property && h.properties?.[property];
      out.push(stratum === undefined || stratum === "" ? { householdId: h.did } : { householdId: h.did, stratum: String(stratum) });
    }
    cursor = page.page?.hasMore ? page.page.nextCursor : "";
  } while (cursor);
  return out;
}

/** Whether the survey wants a sample, whose figures need a draw. */
const drawn = (survey) => survey.sampling?.method !== "census" && survey.sampling?.enrolment !== "open";

function Add({ id, survey, close, done }) {
  const strata = survey.sampling?.strata?.length > 0, mine = may("entities:read");
  const [from, choose] = useState(mine ? "project" : "table"), [property, name] = useState(""), [rows, read] = useState(/** @type {any[]} */ ([])), [sent, say] = useState(0), act = useAct();
  const add = (e) => {
    e.preventDefault();
    act.run(async () => {
      const items = from === "project" ? await ofProject(survey.projectId, property.trim()) : rows;
      if (!items.length) throw new Error(t("listing.none"));
      for (let i = 0; i < items.length; i += atOnce) {
        await call(`/v1/surveys/${id}/households`, { method: "POST", body: { items: items.slice(i, i + atOnce) } });
        say(Math.min(items.length, i + atOnce));
      }
      close();
      done(items.length);
    });
  };
  return html`<form class="form" onSubmit=${add}><h2>${t("listing.title")}</h2>${drawn(survey) ? html`<p class="mute">${t("listing.undrawn")}</p>` : null}
    ${mine ? html`<label class="choice-line"><input type="radio" name="from" value="project" checked=${from === "project"} onChange=${() => choose("project")} /> ${t("listing.project")}</label>` : null}
    ${from === "project" && strata ? html`<label class="field"><span>${t("listing.property")}</span><input id="property" required value=${property} placeholder="district" onInput=${(e) => name(e.target.value)} /><span class="hint">${t("listing.strata", { names: survey.sampling.strata.map((h) => h.name).join(", ") })}</span></label>` : null}
    <label class="choice-line"><input type="radio" name="from" value="table" checked=${from === "table"} onChange=${() => choose("table")} /> ${t("listing.table")}</label>
    ${from === "table" ? html`<label class="field"><span>${t("listing.file")}</span><input type="file" id="households" required accept=".csv,.tsv,.txt" onChange=${async (e) => read(e.target.files[0] ? tableOf(await e.target.files[0].text()) : [])} /><span class="hint">${t("listing.columns", { names: columns.join(", ") })}</span></label>
      <p role="status" class="mute">${rows.length ? t("listing.rows", { n: number(rows.length) }) : ""}</p>` : null}
    ${act.busy && sent ? html`<p role="status" class="mute">${t("listing.sent", { n: number(sent) })}</p>` : null}
    <${Failure} error=${act.error} /><div class="row-end"><button type="button" onClick=${close}>${t("ui.cancel")}</button><button type="submit" class="primary" disabled=${act.busy}>${t("listing.add")}</button></div></form>`;
}

/** A button that puts households on the list of a survey that takes more. */
export function Listing({ id, survey, done }) {
  const [said, say] = useState(0);
  if (!may("surveys:write") || survey.sampling?.draw || ["closed", "archived"].includes(survey.status)) return null;
  const draws = drawn(survey) && may("sampling:write") && ["draft", "ready"].includes(survey.status);
  return html`<div class="actions above">${draws ? html`<a class="button" href=${base + query("/sampling/new", { projectId: survey.projectId, surveyId: survey.surveyId })}>${t("listing.draw")}</a>` : null}<${Dialog} label=${t("listing.title")}>${(close) => html`<${Add} id=${id} survey=${survey} close=${close} done=${(n) => { say(n); done(); }} />`}</${Dialog}>
    <span role="status" class="mute">${said ? t("listing.done", { n: number(said) }) : ""}</span></div>`;
}
