// @ts-check
// Tries rules on claims that were decided: a form that asks for a dry run, and what it
// would have come to, as a table. Nothing is written to claims.
import { html, useEffect, useState } from "../vendor/preact.js";
import { useAct, useOnce } from "./act.js";
import { call, didPath, may } from "./api.js";
import { useDeciding, versionsOf } from "./collecting.js";
import { List, Rows } from "./list.js";
import { base, route, setQuery } from "./router.js";
import { Badge, Failure, Loaded, useLoad } from "./ui.js";
import { has, number, t } from "./words.js";

const over = ["succeeded", "failed", "cancelled", "completedWithErrors"];
const outcome = (o) => (has("claim.outcome." + o) ? t("claim.outcome." + o) : o);

/** The claim types of a version whose rules can be tried. */
async function ruled(did, version) {
  if (!did) return {};
  const p = await call(`/v1/protocols/${didPath(did)}?view=effective${version ? "&version=" + encodeURIComponent(version) : ""}`);
  return Object.fromEntries(Object.entries(p.claimTypes || {}).filter(([, c]) => c.verification?.rubric?.length));
}

/** The rules of a text, or null where it is no JSON object. */
export function rulesOf(text) {
  try {
    const v = JSON.parse(text);
    return v && typeof v === "object" && !Array.isArray(v) ? v : null;
  } catch {
    return null;
  }
}

/** What to ask for: the rules of a version as they are, or those that somebody has changed. */
export function asked(d, shipped) {
  const own = d.rules !== undefined && d.rules !== shipped;
  return { kind: d.kind, protocol: d.protocol, ...(own ? { verification: rulesOf(d.rules) } : d.version ? { version: d.version } : {}), ...(d.collection ? { collection: d.collection } : {}) };
}

function Ask({ began }) {
  const [d, set] = useState(/** @type {any} */ ({ protocol: "", version: "", kind: "", collection: "" })), act = useAct(), once = useOnce();
  const protocols = useDeciding(), versions = useLoad(() => versionsOf(d.protocol), [d.protocol]), types = useLoad(() => ruled(d.protocol, d.version), [d.protocol, d.version]);
  const collections = useLoad(async () => (may("collections:read") ? (await call("/v1/collections?limit=100")).items : []), []);
  const verification = types.data?.[d.kind]?.verification, shipped = verification ? JSON.stringify({ facts: verification.facts || [], rubric: verification.rubric }, null, 2) : "";
  const rules = d.rules ?? shipped, wrong = rules && !rulesOf(rules) ? t("try.noJSON") : "";
  // Other rules are others' rules: what was typed belongs to the ones it was typed into.
  const put = (key) => (e) => set({ ...d, rules: undefined, [key]: e.target.value, ...(key === "protocol" ? { version: "", kind: "" } : {}) });
  const pick = (key, first, options, rest = {}) => html`<label class="field"><span>${t("try." + key)}</span><select name=${key} value=${d[key]} onChange=${put(key)} ...${rest}><option value="">${first}</option>${options.map(([v, label]) => html`<option key=${v} value=${v}>${label}</option>`)}</select></label>`;
  const send = async (e) => {
    e.preventDefault();
    const job = await act.run(() => call("/v1/claims:simulate", { method: "POST", body: asked(d, shipped), headers: once.headers() }));
    once.renew();
    if (job) began(job.id);
  };
  return html`<section class="card"><h2>${t("try.title")}</h2><p class="mute">${t("try.about")}</p><form class="form" onSubmit=${send}>
    <div class="row">${pick("protocol", t("collect.choose"), (protocols.data || []).map((p) => [p.did, p.name || p.did]), { required: true })}${pick("version", t("collect.newest"), (versions.data || []).map((v) => [v.version, v.status === "published" ? v.version : `${v.version} (${has("state." + v.status) ? t("state." + v.status) : v.status})`]))}</div>
    <div class="row">${pick("kind", t("collect.choose"), Object.keys(types.data || {}).map((k) => [k, k]), { required: true })}${pick("collection", t("list.any"), (collections.data || []).map((c) => [c.id, c.name]))}</div>
    ${d.protocol && types.data && !Object.keys(types.data).length ? html`<p class="note">${t("try.noRules")}</p>` : null}
    ${shipped ? html`<details><summary>${t("try.change")}</summary><label class="field"><span>${t("try.rules")}</span><textarea name="rules" rows="14" spellcheck=${false} value=${rules} onInput=${(e) => set({ ...d, rules: e.target.value })}></textarea></label>${wrong ? html`<p class="small" role="alert">${wrong}</p>` : null}</details>` : null}
    <${Failure} error=${protocols.error || versions.error || types.error || act.error} /><div class="row-end"><button class="primary" disabled=${act.busy || !shipped || !!wrong}>${t("try.go")}</button></div></form></section>`;
}

/** What the claims would have come to, an outcome before and after in each row. */
function Result({ of }) {
  const n = of.counts;
  return html`<section class="card"><div class="card-head"><h2>${t("try.result", { kind: of.kind })}</h2><${Badge} value=${of.status} /></div>
    <p>${t("try.changes", { n: number(n.changed), of: number(n.claims) })}</p>${(of.errors || []).map((e) => html`<p class="note" key=${e.code}>${e.message}</p>`)}
    ${n.outcomes.length ? html`<${Rows} items=${n.outcomes} id=${(o) => o.before + o.after} columns=${[{ label: t("try.before"), cell: (o) => outcome(o.before) }, { label: t("try.after"), cell: (o) => outcome(o.after) }, { label: t("page.claims"), num: true, cell: (o) => number(o.claims) },
      { label: t("try.changed"), num: true, cell: (o) => (o.changed ? html`<strong>${number(o.changed)}</strong>` : "0") }]} />` : null}
    <p class="mute small">${t("try.hash")} <code class="long">${of.rubricHash}</code></p></section>`;
}

/** The claims that would come to something else. */
function Changed({ id }) {
  const came = (o, reason, amount) => html`${outcome(o)} <span class="mute small">${reason}</span>${amount ? html`<br />${number(amount)}` : null}`;
  return html`<h2>${t("try.list")}</h2><${List} path=${`/v1/claim-simulations/${encodeURIComponent(id)}/claims`} id=${(c) => c.line} href=${(c) => base + "/claims/" + encodeURIComponent(c.claim)}
    columns=${[{ label: t("page.claim"), cell: (c) => html`<code>${c.claim}</code>` }, { label: t("try.before"), cell: (c) => came(c.before, c.beforeReason, c.beforeAmount) }, { label: t("try.after"), cell: (c) => came(c.after, c.afterReason, c.afterAmount) }, { label: t("claim.rule"), cell: (c) => (c.afterRule ? html`<code>${c.afterRule}</code>` : "–") }]}
    empty=${{ icon: "seal", title: t("try.same") }} />`;
}

/** The dry run that the address names. */
function Run({ id }) {
  const of = useLoad(() => call("/v1/claim-simulations/" + encodeURIComponent(id)), [id]), going = of.data && !over.includes(of.data.status);
  useEffect(() => {
    if (!going) return undefined;
    const tick = setTimeout(of.reload, 500); // progress tells no event
    return () => clearTimeout(tick);
  }, [of.data]);
  return html`<${Loaded} of=${of} rows=${4}>${(s) => html`<${Result} of=${s} />`}</${Loaded}>${of.data && !going && of.data.counts.listed ? html`<${Changed} key=${id} id=${id} />` : null}`;
}

/** Tries rules, and shows the dry run that was asked for last. */
export function TryRules() {
  const id = route.value.query.run;
  return html`<${Ask} began=${(run) => setQuery({ run, cursor: "" })} />${id ? html`<${Run} key=${id} id=${id} />` : null}`;
}
