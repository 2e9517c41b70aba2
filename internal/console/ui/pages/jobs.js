// @ts-check
import { html, useEffect, useState } from "../vendor/preact.js";
import { call, may } from "../lib/api.js";
import { base } from "../lib/router.js";
import { onEvent } from "../lib/live.js";
import { List } from "../lib/list.js";
import { Name } from "../lib/names.js";
import { Badge, Bar, Failure, Page, Time } from "../lib/ui.js";
import { has, number, t } from "../lib/words.js";

const over = ["succeeded", "failed", "cancelled", "completedWithErrors"];

/** The page of what a job is about; null when there is none. */
function pageOf(job) {
  const about = job.links.about || "";
  const survey = about.match(/^\/v1\/surveys\/([^/]+)\/(\w+)/);
  if (about.startsWith("/v1/imports/")) return base + "/import?" + (job.progress?.note === "checking" ? "run=" : "go=") + job.id;
  if (about.startsWith("/v1/claim-simulations/")) return base + "/claims?tab=rules&run=" + job.id;
  if (about.startsWith("/v1/exports/")) return base + "/exports";
  if (survey) return base + (survey[2] === "exports" ? "/exports?of=" + survey[1] : "/surveys/" + survey[1]);
  return about === "/v1/demo" ? base + "/" : null;
}

function Progress({ job }) {
  const p = job.progress || {};
  if (!p.total) return html`<span>${p.done ? number(p.done) : "–"} ${p.note || ""}</span>`;
  return html`<span class="meter-row"><${Bar} of=${p.total} parts=${[[job.status === "failed" ? "bad" : "good", p.done]]} label=${`${p.done} / ${p.total}`} /><span class="num">${number(p.done)}/${number(p.total)}</span></span>`;
}

export default function Jobs() {
  const [turn, again] = useState(0), [error, fail] = useState(/** @type {any} */ (null));
  const [busy, setBusy] = useState(false);
  useEffect(() => onEvent((e) => { if (e.type.startsWith("job.")) again((n) => n + 1); }), []);
  useEffect(() => {
    if (!busy) return;
    const tick = setInterval(() => again((n) => n + 1), 2000); // progress tells no event
    return () => clearInterval(tick);
  }, [busy]);
  const cancel = async (id) => {
    fail(null);
    try {
      await call(`/v1/jobs/${encodeURIComponent(id)}/cancel`, { method: "POST" });
    } catch (e) {
      fail(e);
    }
    again((n) => n + 1);
  };
  return html`<${Page} title=${t("page.jobs")} about=${t("jobs.about")}><${Failure} error=${error} />
    <${List} path="/v1/jobs" turn=${turn} id=${(j) => j.id} href=${pageOf} onPage=${(p) => setBusy(!!p?.items.some((j) => !over.includes(j.status)))}
      filters=${[{ key: "status", label: t("jobs.state"), options: ["queued", "running", ...over].map((s) => ({ value: s, label: t("state." + s) })) }]}
      columns=${[
        { label: t("jobs.kind"), cell: (j) => (has("job." + j.kind) ? t("job." + j.kind) : j.kind) },
        { label: t("jobs.state"), cell: (j) => html`<${Badge} value=${j.status} />` },
        { label: t("jobs.progress"), cell: (j) => html`<${Progress} job=${j} />` },
        { label: t("jobs.note"), cell: (j) => j.errors?.[j.errors.length - 1]?.message || j.progress?.note || "–" },
        { label: t("jobs.begun"), cell: (j) => html`<${Time} at=${j.createdAt} />` },
        { label: t("jobs.by"), cell: (j) => html`<${Name} did=${j.createdBy} />` },
        { label: "", cell: (j) => (may("jobs:write") && !over.includes(j.status) ? html`<button type="button" class="small" onClick=${() => cancel(j.id)}>${t("jobs.cancel")}</button>` : null) },
      ]}
      empty=${{ icon: "jobs", title: t("jobs.empty"), text: t("jobs.emptyText") }} /></${Page}>`;
}
