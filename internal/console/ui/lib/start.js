// @ts-check
// The first page of an empty server.
import { html, useState } from "../vendor/preact.js";
import { call, may, newId } from "./api.js";
import { base } from "./router.js";
import { Bar, Failure, Page, useLoad } from "./ui.js";
import { t } from "./words.js";

/** Waits for a job and tells how far it has come. */
async function follow(job, tell) {
  for (;;) {
    if (["succeeded", "failed", "cancelled"].includes(job.status)) return job;
    await new Promise((go) => setTimeout(go, 500));
    job = await call("/v1/jobs/" + encodeURIComponent(job.id));
    tell(job.progress);
  }
}

/** What a button needs that starts a job and waits for it; done is called when it went well. */
function useJob(method, done) {
  const [how, set] = useState(/** @type {any} */ ({}));
  const start = async () => {
    set({ busy: true });
    try {
      const asked = await call("/v1/demo", { method, body: method === "POST" ? {} : undefined, headers: { "Idempotency-Key": newId() } });
      const ended = await follow(asked, (progress) => set({ busy: true, progress }));
      set({ error: ended.status === "succeeded" ? null : new Error(ended.errors?.[0]?.message || t("state." + ended.status)) });
      if (ended.status === "succeeded") done();
    } catch (error) {
      set({ error });
    }
  };
  return { ...how, start };
}

const Far = ({ progress }) => (progress?.total ? html`<${Bar} of=${progress.total} parts=${[["good", progress.done]]} label=${`${progress.done} / ${progress.total}`} /><p class="small mute" role="status">${progress.done}/${progress.total} ${progress.note || ""}</p>` : null);

/** Says that the demo programme is here, and takes it away again. */
export function DemoNote({ done }) {
  const demo = useLoad(() => (may("operations:write") ? call("/v1/demo") : { status: "none" }), []), [sure, ask] = useState(false);
  const job = useJob("DELETE", done);
  if (demo.data?.status !== "ready") return null;
  return html`<div class="note demo"><span>${t("start.isDemo")}</span> ${job.busy ? t("start.removing")
    : sure ? html`<button type="button" class="small" onClick=${job.start}>${t("start.removeSure")}</button> <button type="button" class="small" onClick=${() => ask(false)}>${t("ui.cancel")}</button>`
    : html`<button type="button" class="small" onClick=${() => ask(true)}>${t("start.remove")}</button>`}<${Far} progress=${job.progress} /><${Failure} error=${job.error} /></div>`;
}

export function Start({ done }) {
  const job = useJob("POST", done);
  return html`<${Page} title=${t("start.title")} about=${t("start.about")}>
    <${Failure} error=${job.error} />
    <div class="cards">
      ${may("operations:write") && html`<section class="card start"><h2>${t("start.demo")}</h2><p>${t("start.demoText")}</p><button type="button" class="primary" disabled=${job.busy} onClick=${job.start}>${job.busy ? t("start.demoBusy") : t("start.demoGo")}</button><${Far} progress=${job.progress} /></section>`}
      ${may("entities:write") && html`<section class="card start"><h2>${t("start.own")}</h2><p>${t("start.ownText")}</p><a class="button" href=${base + "/twins?type=Organisation"}>${t("start.ownGo")}</a></section>`}
      ${may("imports:write") && html`<section class="card start"><h2>${t("start.import")}</h2><p>${t("start.importText")}</p><a class="button" href=${base + "/import"}>${t("start.importGo")}</a></section>`}
    </div></${Page}>`;
}
