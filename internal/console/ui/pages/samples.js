// @ts-check
import { html } from "../vendor/preact.js";
import { may } from "../lib/api.js";
import { base } from "../lib/router.js";
import { List } from "../lib/list.js";
import { Name } from "../lib/names.js";
import { Badge, Page, Time } from "../lib/ui.js";
import { number, t } from "../lib/words.js";

/** Whether somebody has approved a design. Nothing waits for it: a draw needs no approval. */
export const approval = (d) => (d.verification.status === "pending" ? "unapproved" : d.verification.status);

/** The sample designs of the workspace. */
export default function Samples() {
  return html`<${Page} title=${t("page.samples")} about=${t("samples.about")} actions=${may("sampling:write") && html`<a class="button primary" href=${base + "/sampling/new"}>${t("samples.new")}</a>`}>
    <${List} path="/v1/sampling/designs" id=${(d) => d.designId} href=${(d) => base + "/sampling/" + encodeURIComponent(d.designId)}
      filters=${[{ key: "projectId", label: t("samples.project"), placeholder: "did:…" }]}
      columns=${[
        { label: t("samples.design"), cell: (d) => d.name || d.designId },
        { label: t("samples.project"), cell: (d) => html`<${Name} did=${d.projectId} link=${false} />` },
        { label: t("samples.method"), cell: (d) => t("samples.method." + d.method) },
        { label: t("samples.needed"), num: true, cell: (d) => number(d.parameters.calculatedSize) },
        { label: t("samples.toDraw"), num: true, cell: (d) => number(d.parameters.drawnSize) },
        { label: t("samples.decision"), cell: (d) => html`<${Badge} value=${approval(d)} />` },
        { label: t("samples.made"), cell: (d) => html`<${Time} at=${d.created} />` },
      ]}
      empty=${{ icon: "dice", title: t("samples.empty"), text: t("samples.emptyText") }} /></${Page}>`;
}
