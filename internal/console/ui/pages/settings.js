// @ts-check
import { html } from "../vendor/preact.js";
import { List } from "../lib/list.js";
import { Page } from "../lib/ui.js";
import { t } from "../lib/words.js";

export default function Settings() {
  return html`<${Page} title=${t("page.settings")} about=${t("settings.about")}>
    <${List} path="/v1/settings" limit=${200} id=${(s) => s.name}
      columns=${[
        { label: t("settings.name"), cell: (s) => html`<code>${s.name}</code>` },
        { label: t("settings.group"), cell: (s) => s.group },
        { label: t("settings.value"), cell: (s) => (s.value ? html`<code>${s.value}</code>` : html`<span class="mute">${t("settings.none")}</span>`) },
        { label: t("settings.source"), cell: (s) => s.source },
        { label: t("settings.what"), cell: (s) => html`<span class="mute">${s.about}</span>` },
      ]}
      empty=${{ title: t("settings.empty") }} /></${Page}>`;
}
