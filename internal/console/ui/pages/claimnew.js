// @ts-check
// A claim in the making: what somebody says a stove or household has done, for whom to
// decide about it.
import { html, useState } from "../vendor/preact.js";
import { call, didPath, may, query } from "../lib/api.js";
import { useAct, useOnce } from "../lib/act.js";
import { base, go, route } from "../lib/router.js";
import { Curl, Failure, Page, nameOf, useLoad } from "../lib/ui.js";
import { t } from "../lib/words.js";

/** The claim types that the protocol of a twin has. */
async function kindsOf(did) {
  if (!/^did:\S+$/.test(did) || !may("entities:read") || !may("protocols:read")) return null;
  const e = await call("/v1/entities/" + didPath(did) + "?fields=did,protocol,protocolVersion,properties,metadata,externalIds", { name: "subject" });
  const p = await call(query("/v1/protocols/" + encodeURIComponent(e.protocol), { view: "effective", version: e.protocolVersion }), { name: "kinds" });
  return { name: nameOf(e), kinds: Object.keys(p.claimTypes || {}) };
}

const lines = (text) => text.split("\n").map((l) => l.trim()).filter(Boolean);

/** The draft that a form means. */
const draftOf = (d) => ({
  kind: d.kind, subject: d.subject, periodStart: d.periodStart || undefined, periodEnd: d.periodEnd || undefined, amount: d.value ? { value: Number(d.value), unit: d.unit.trim() } : undefined,
  evidence: lines(d.evidence).length ? lines(d.evidence) : undefined, collection: d.collection || undefined, oracle: d.oracle || undefined, description: d.description.trim() || undefined,
});

const usual = { kind: "", periodStart: "", periodEnd: "", value: "", unit: "kg", evidence: "", collection: "", oracle: "", description: "" };

export default function NewClaim() {
  const [d, set] = useState({ ...usual, subject: route.value.query.subject || "" }), act = useAct(), once = useOnce();
  const subject = useLoad(() => kindsOf(d.subject.trim()), [d.subject.trim()]), kinds = subject.data?.kinds || [];
  const collections = useLoad(() => (may("collections:read") ? call("/v1/collections?limit=100") : { items: [] }), []);
  const oracles = useLoad(() => (may("entities:read") ? call("/v1/entities?type=oracle&status=active&limit=100&fields=did,properties,metadata,externalIds") : { items: [] }), []);
  const put = (key) => (e) => { once.renew(); set((old) => ({ ...old, [key]: e.target.value })); };
  const full = { ...d, subject: d.subject.trim(), kind: kinds.includes(d.kind) || !kinds.length ? d.kind : kinds[0] }, draft = draftOf(full);
  const text = (key, label, rest = {}) => html`<label class="field"><span>${label}</span><input id=${key} value=${d[key]} onInput=${put(key)} ...${rest} /></label>`;
  const pick = (key, label, first, options) => html`<label class="field"><span>${label}</span><select id=${key} value=${full[key]} onChange=${put(key)}>${first && html`<option value="">${first}</option>`}${options.map(([v, name]) => html`<option key=${v} value=${v}>${name}</option>`)}</select></label>`;
  const submit = async (e) => {
    e.preventDefault();
    const made = await act.run(() => call("/v1/claims", { method: "POST", body: draft, headers: once.headers() }));
    if (made) go("/claims/" + encodeURIComponent(made.id)); else once.renew();
  };
  const open = (collections.data?.items || []).filter((c) => c.state === "open");
  return html`<${Page} title=${t("claimnew.title")} about=${t("claimnew.about")} crumb=${html`<a href=${base + "/claims"}>${t("page.claims")}</a>`}>
    <form class="card form" onSubmit=${submit}>
      <div class="row">${text("subject", t("claims.subject"), { required: true, placeholder: "did:…" })}${kinds.length ? pick("kind", t("claims.kind"), "", kinds.map((k) => [k, k])) : text("kind", t("claims.kind"), { required: true, placeholder: "fuel-saved" })}</div>
      ${subject.data?.name ? html`<p class="mute" role="status">${subject.data.name}</p>` : null}<${Failure} error=${subject.error} />
      <div class="row">${text("periodStart", t("surveynew.from"), { type: "date" })}${text("periodEnd", t("surveynew.until"), { type: "date", min: d.periodStart })}${text("value", t("claims.amount"), { type: "number", step: "any", min: 0 })}${text("unit", t("claimnew.unit"), { maxlength: 64, required: !!d.value })}</div>
      <div class="row">${pick("collection", t("claimnew.collection"), t("claimnew.none"), open.map((c) => [c.id, c.name]))}${pick("oracle", t("claimnew.oracle"), t("claimnew.none"), (oracles.data?.items || []).map((o) => [o.did, nameOf(o)]))}</div>
      <label class="field"><span>${t("claimnew.evidence")}</span><textarea id="evidence" rows="3" value=${d.evidence} onInput=${put("evidence")}></textarea></label>${text("description", t("claimnew.description"), { maxlength: 1000 })}
      <${Failure} error=${act.error} /><div class="row-end"><button class="primary" disabled=${act.busy}>${t("claimnew.submit")}</button></div></form>
    <${Curl} path="/v1/claims" body=${draft} /></${Page}>`;
}
