// @ts-check
// The first page of an empty server.
import { html, useState } from "../vendor/preact.js";
import { call, may, newId } from "./api.js";
import { base, go } from "./router.js";
import { Failure, Page } from "./ui.js";
import { t } from "./words.js";

export function Start() {
  const [busy, wait] = useState(false), [error, fail] = useState(/** @type {any} */ (null));
  const demo = async () => {
    wait(true);
    fail(null);
    try {
      await call("/v1/demo", { method: "POST", body: {}, headers: { "Idempotency-Key": newId() } });
      go("/jobs");
    } catch (e) {
      fail(e);
      wait(false);
    }
  };
  return html`<${Page} title=${t("start.title")} about=${t("start.about")}>
    <${Failure} error=${error} />
    <div class="cards">
      ${may("operations:write") && html`<section class="card start"><h2>${t("start.demo")}</h2><p>${t("start.demoText")}</p><button type="button" class="primary" disabled=${busy} onClick=${demo}>${busy ? t("start.demoBusy") : t("start.demoGo")}</button></section>`}
      ${may("entities:write") && html`<section class="card start"><h2>${t("start.own")}</h2><p>${t("start.ownText")}</p><a class="button" href=${base + "/twins"}>${t("start.ownGo")}</a></section>`}
      ${may("imports:write") && html`<section class="card start"><h2>${t("start.import")}</h2><p>${t("start.importText")}</p><a class="button" href=${base + "/import"}>${t("start.importGo")}</a></section>`}
    </div></${Page}>`;
}
