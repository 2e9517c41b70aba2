// @ts-check
import { html, useState } from "../vendor/preact.js";
import { call, may } from "../lib/api.js";
import { Dialog, useAct, useOnce } from "../lib/act.js";
import { List } from "../lib/list.js";
import { Name } from "../lib/names.js";
import { base, route, setQuery } from "../lib/router.js";
import { Badge, Failure, Id, Loaded, Page, Time, useLoad } from "../lib/ui.js";
import { number, t } from "../lib/words.js";

function Erase({ done }) {
  const [subject, setSubject] = useState(""), [reason, setReason] = useState(""), [sure, setSure] = useState(false), act = useAct(), once = useOnce();
  const go = (close) => async (e) => {
    e.preventDefault();
    const r = await act.run(() => call("/v1/erasures", { method: "POST", body: { subject: subject.trim(), reason: reason.trim() }, headers: once.headers() }));
    if (r) { close(); done(r); } else once.renew();
  };
  return html`<${Dialog} label=${t("erasure.new")} primary closed=${() => { act.clear(); once.renew(); setSure(false); setSubject(""); setReason(""); }}>${(close) => html`<form class="form" onSubmit=${go(close)}><h2>${t("erasure.new")}</h2><p>${t("erasure.text")}</p>
    <label class="field"><span>${t("erasure.subject")}</span><input required placeholder="did:ixo:…" value=${subject} onInput=${(e) => setSubject(e.target.value)} /></label>
    <label class="field"><span>${t("erasure.reason")}</span><input required value=${reason} onInput=${(e) => setReason(e.target.value)} /></label>
    <label class="checks"><span class="sure"><input type="checkbox" required checked=${sure} onChange=${(e) => setSure(e.target.checked)} /> ${t("erasure.sure")}</span></label>
    <${Failure} error=${act.error} /><div class="row-end"><button type="button" onClick=${close}>${t("ui.cancel")}</button><button class="primary" disabled=${act.busy || !sure}>${t("erasure.go")}</button></div></form>`}</${Dialog}>`;
}

/** What the server says was erased, and what stays. */
function Certificate({ id }) {
  const one = useLoad(() => call("/v1/erasures/" + encodeURIComponent(id)), [id]);
  return html`<section class="card certificate"><${Loaded} of=${one} rows=${4}>${(c) => html`<div class="card-head"><h2>${t("erasure.certificate")}</h2><button type="button" class="small" onClick=${() => setQuery({ id: "" })}>${t("ui.close")}</button></div>
    <dl><dt>${t("erasure.id")}</dt><dd><code>${c.id}</code></dd><dt>${t("erasure.subject")}</dt><dd><code>${c.subject}</code></dd><dt>${t("erasure.at")}</dt><dd>${c.erasedAt}</dd><dt>${t("people.by")}</dt><dd><${Name} did=${c.by} /></dd><dt>${t("erasure.why")}</dt><dd>${c.reason || "–"}</dd><dt>${t("erasure.bytes")}</dt><dd><${Badge} value=${c.bytes?.state} /></dd></dl>
    <div class="two next"><div><h2>${t("erasure.counts")}</h2><ul class="plain">${Object.entries(c.counts || {}).filter(([, n]) => n).map(([what, n]) => html`<li key=${what}><span>${what}</span><span class="num">${number(n)}</span></li>`)}</ul></div>
      <div><h2>${t("erasure.stays")}</h2><ul class="flags">${(c.stays || []).map((s) => html`<li>${s}</li>`)}</ul></div></div>
    <div class="actions"><button type="button" onClick=${() => print()}>${t("erasure.print")}</button></div>`}</${Loaded}></section>`;
}

export default function Erasure() {
  const [turn, again] = useState(0), id = route.value.query.id;
  return html`<${Page} title=${t("page.erasure")} about=${t("erasure.about")} actions=${may("entities:erase") && html`<${Erase} done=${(c) => { again((n) => n + 1); setQuery({ id: c.id }); }} />`}>
    ${id && html`<${Certificate} id=${id} />`}
    <${List} path="/v1/erasures" turn=${turn} id=${(c) => c.id} href=${(c) => base + "/erasure?id=" + encodeURIComponent(c.id)}
      columns=${[
        { label: t("erasure.certificate"), cell: (c) => html`<${Id} value=${c.id} />` },
        { label: t("erasure.subject"), cell: (c) => html`<${Id} value=${c.subject} />` },
        { label: t("erasure.at"), cell: (c) => html`<${Time} at=${c.erasedAt} />` },
        { label: t("people.by"), cell: (c) => html`<${Name} did=${c.by} />` },
        { label: t("erasure.why"), cell: (c) => c.reason || "–" },
        { label: t("erasure.bytes"), cell: (c) => html`<${Badge} value=${c.bytes?.state} />` },
      ]}
      empty=${{ icon: "lock", title: t("erasure.empty"), text: t("erasure.emptyText") }} /></${Page}>`;
}
