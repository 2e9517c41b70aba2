// @ts-check
import { html, signal, useEffect } from "../vendor/preact.js";
import { call, may } from "../lib/api.js";
import { base, surveyHref } from "../lib/router.js";
import { List } from "../lib/list.js";
import { Badge, Bar, Page, Time } from "../lib/ui.js";
import { t } from "../lib/words.js";

export const surveyName = (s) => s.name || s.templateId;

const known = signal(/** @type {Record<string, string>} */ ({})), asked = new Set();

/** What a survey is called; its id before that is known, and for whoever may not know it. */
export function SurveyName({ id }) {
  useEffect(() => {
    if (asked.has(id) || !may("surveys:read")) return;
    asked.add(id);
    call("/v1/surveys/" + encodeURIComponent(id)).then((s) => { known.value = { ...known.value, [id]: surveyName(s) }; }, () => asked.delete(id));
  }, [id]);
  return html`<span title=${id}>${known.value[id] || id}</span>`;
}

export default function Surveys() {
  return html`<${Page} title=${t("page.surveys")} about=${t("surveys.about")} actions=${may("surveys:write") && html`<a class="button primary" href=${base + "/surveys/new"}>${t("surveys.new")}</a>`}>
    <${List} path="/v1/surveys" id=${(s) => s.surveyId} href=${(s) => surveyHref(s.surveyId)}
      filters=${[{ key: "status", label: t("twins.status"), options: ["draft", "ready", "active", "paused", "closed", "archived"].map((s) => ({ value: s, label: t("state." + s) })) }]}
      columns=${[
        { label: t("surveys.name"), cell: surveyName },
        { label: t("twins.status"), cell: (s) => html`<${Badge} value=${s.status} />` },
        { label: t("surveys.progress"), cell: (s) => {
          const p = s.progress || {}, done = (p.completed || 0) + (p.partial || 0);
          return html`<span class="meter-row"><${Bar} of=${p.target} label=${`${done} / ${p.target ?? 0}`} parts=${[["good", p.verified], ["wait", Math.max(0, done - (p.verified || 0))]]} /><span class="num">${done}/${p.target ?? "–"}</span></span>`;
        } },
        { label: t("surveys.verified"), cell: (s) => s.progress?.verified ?? "–", num: true },
        { label: t("surveys.flagged"), cell: (s) => s.progress?.flagged ?? "–", num: true },
        { label: t("twins.changed"), cell: (s) => html`<${Time} at=${s.updated} />` },
      ]}
      empty=${{ icon: "survey", title: t("surveys.empty"), text: t("surveys.emptyText") }} />
  </${Page}>`;
}
