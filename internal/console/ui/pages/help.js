// @ts-check
import { html } from "../vendor/preact.js";
import { hasArea, may, me } from "../lib/api.js";
import { pages } from "../lib/pages.js";
import { Id, Page } from "../lib/ui.js";
import { choose, language, languages, t } from "../lib/words.js";

export default function Help() {
  const everywhere = [["/", t("help.search")], ["?", t("help.help")], ["Esc", t("help.escape")], ["j", t("help.down")], ["k", t("help.up")], ["Enter", t("help.enter")], ["n", t("help.next")], ["p", t("help.back")], ...(may("responses:verify") ? [["v", t("desk.verify")], ["x", t("desk.reject")], ["s", t("desk.skip")], ["c", t("desk.comment")]] : [])];
  const going = pages.filter((p) => p.key && (!p.scope || may(p.scope)) && hasArea(p.area)).map((p) => ["g " + p.key, t("help.go", { page: t("page." + p.name) })]);
  const you = me.value;
  return html`<${Page} title=${t("page.help")} about=${t("help.about")}>
    <div class="two"><section class="card"><div class="table-wrap"><table class="tight"><thead><tr><th scope="col">${t("help.key")}</th><th scope="col">${t("help.does")}</th></tr></thead>
      <tbody>${[...everywhere, ...going].map(([k, what]) => html`<tr key=${k}><td>${k.split(" ").map((x) => html`<kbd>${x}</kbd> `)}</td><td>${what}</td></tr>`)}</tbody></table></div></section>
    <section class="card"><h2>${t("help.you")}</h2>
      <label class="field"><span>${t("ui.language")}</span><select value=${language.value} onChange=${(e) => choose(e.target.value)}>${Object.entries(languages).map(([code, name]) => html`<option value=${code}>${name}</option>`)}</select></label><dl>
      <dt>${t("keys.name")}</dt><dd>${you.name}</dd><dt>DID</dt><dd><${Id} value=${you.principal} /></dd>
      <dt>${t("help.workspace")}</dt><dd>${you.workspace}</dd><dt>${t("help.ends")}</dt><dd><time dateTime=${you.endsAt}>${new Date(you.endsAt).toLocaleString(language.value)}</time></dd>
      <dt>${t("help.version")}</dt><dd>${you.version}</dd><dt>${t("help.scopes")}</dt><dd>${you.scopes.join(", ")}</dd></dl>
      <p class="mute"><a href="/docs" target="_blank" rel="noreferrer">API</a></p></section></div></${Page}>`;
}
