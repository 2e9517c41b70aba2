// @ts-check
// One claim: what it says, what was decided by which rule, and what its credential
// rests on, with a tick at each step that was really checked.
import { html, useState } from "../vendor/preact.js";
import { useAct } from "../lib/act.js";
import { call, may } from "../lib/api.js";
import { Rows } from "../lib/list.js";
import { Decide, Disputes } from "../lib/judge.js";
import { Next, isIssued } from "../lib/credentials.js";
import { Name } from "../lib/names.js";
import { base, twinHref } from "../lib/router.js";
import { stepText } from "../lib/said.js";
import { Badge, Copy, Failure, Loaded, Page, Time, useLoad } from "../lib/ui.js";
import { has, number, t } from "../lib/words.js";
import { amount } from "./claims.js";

const marks = { checked: "✓", failed: "✗", unchecked: "?", absent: "–" };
const tones = { checked: "good", failed: "bad", unchecked: "warn", absent: "mute" };

/** Where a step can be read on a page of the console. */
function Where({ step }) {
  const e = step.evidence;
  if (e?.type === "response") return html` <a href=${base + "/responses/" + encodeURIComponent(e.id)}>${t("ui.open")}</a>`;
  if (e?.type === "entity" || e?.type === "readings") return html` <a href=${twinHref(e.id)}>${t("ui.open")}</a>`;
  if (step.step === "credential" && step.link) return html` <a href=${twinHref(decodeURIComponent(step.link.split("/").pop()))}>${t("ui.open")}</a>`;
  return null;
}

/** A step of the chain. One that takes a while is checked when somebody asks for it. */
function Step({ step }) {
  const [state, set] = useState(step.state), act = useAct();
  const check = async () => {
    const got = await act.run(() => call(step.check));
    if (got) set(got.verified ? "checked" : "failed");
  };
  const e = step.evidence, what = t("chain.step." + step.step);
  return html`<li><span class=${"badge " + tones[state]}><span aria-hidden="true">${marks[state]}</span> ${t("chain.state." + state)}</span>
    <div><strong>${what}${e ? ": " + t("chain.type." + e.type) : ""}</strong><${Where} step=${step} />
      <p class="small">${stepText(step)}</p>${e?.hash ? html`<p class="small mute"><code class="long">${e.hash}</code>${e.revision ? " · " + t("twin.revision", { n: e.revision }) : ""}${e.count ? " · " + t("chain.readings", { n: number(e.count) }) : ""}</p>` : null}
      ${step.check && state === "unchecked" ? html`<button type="button" class="small" disabled=${act.busy} onClick=${check}>${t("chain.check")}</button>` : null}<${Failure} error=${act.error} /></div></li>`;
}

function Chain({ id }) {
  const of = useLoad(() => call(`/v1/claims/${encodeURIComponent(id)}/chain`), [id]);
  return html`<section class="card"><h2>${t("chain.title")}</h2><p class="mute small">${t("chain.about")}</p><${Loaded} of=${of} rows=${5}>${(c) => html`<ol class="chain-steps">${c.steps.map((s, i) => html`<${Step} key=${i} step=${s} />`)}</ol>`}</${Loaded}></section>`;
}

const fact = (v) => (v === true ? t("ui.yes") : v === false ? t("ui.no") : typeof v === "number" ? number(v) : String(v ?? "–"));

/** What was found, and what the rubric made of it. */
function Evaluation({ e, unit, rubric }) {
  const rule = rubric?.find((r) => r.id === e.rule), facts = Object.entries(e.facts || {});
  return html`<section class="card"><div class="card-head"><h2>${t("claim.evaluation")}</h2><${Badge} value=${e.status} /></div>
    <dl class="facts"><dt>${t("claim.outcome")}</dt><dd>${has("claim.outcome." + e.outcome) ? t("claim.outcome." + e.outcome) : e.outcome} (<code>${e.reasonCode}</code>)</dd>
      ${rule ? html`<dt>${t("claim.rule")}</dt><dd>${rule.text || html`<code>${typeof rule.when === "string" ? rule.when : JSON.stringify(rule.when)}</code>`}</dd>` : null}
      <dt>${t("claims.approved")}</dt><dd>${amount({ value: e.amount, unit })}</dd><dt>${t("claim.by")}</dt><dd><${Name} did=${e.evaluator} />${e.oracle ? html` · <${Name} did=${e.oracle} />` : null}</dd><dt>${t("twin.when")}</dt><dd><${Time} at=${e.at} /></dd></dl>
    ${facts.length ? html`<${Rows} items=${facts} id=${(f) => f[0]} columns=${[{ label: t("claim.fact"), cell: (f) => f[0] }, { label: t("twin.value"), cell: (f) => fact(f[1].value) }, { label: t("claim.confidence"), num: true, cell: (f) => (f[1].confidence === undefined ? "–" : number(f[1].confidence)) }]} />` : null}</section>`;
}

/** The rubric in words: its rules in the order in which they are asked. */
function Rubric({ rules, decided }) {
  return html`<details class="card"><summary>${t("claim.rubric")}</summary><${Rows} items=${rules} id=${(r) => r.id} columns=${[
    { label: t("claim.stage"), cell: (r) => t("claim.stage." + r.stage) }, { label: t("claim.says"), cell: (r) => html`${r.text ? html`${r.text}<br />` : null}<code class="long">${typeof r.when === "string" ? r.when : JSON.stringify(r.when)}</code>` },
    { label: t("claim.then"), cell: (r) => html`${has("claim.outcome." + r.then.outcome) ? t("claim.outcome." + r.then.outcome) : r.then.outcome}${r.id === decided ? html` <span class="badge good">${t("claim.decided")}</span>` : null}` }]} /></details>`;
}

/** The steps of the calculation that the claim names, made again now. */
function Calculation({ asked }) {
  const of = useLoad(() => call("/v1/emissions:calculate", { method: "POST", body: asked }), []);
  return html`<section class="card"><h2>${t("claim.calculation")}</h2><${Loaded} of=${of} rows=${4}>${(c) => html`<${Rows} items=${c.steps || []} id=${(s) => s.id} columns=${[{ label: t("claim.step"), cell: (s) => html`${s.title || s.id}<br /><code class="long small">${s.formula || ""}</code>` },
    { label: t("twin.value"), num: true, cell: (s) => html`<span class="nowrap">${s.value ?? "–"} ${s.unit || ""}</span>` }]} />`}</${Loaded}></section>`;
}

const rulesOf = async (e, kind) => {
  if (!e?.protocol || !may("protocols:read")) return null;
  const p = await call(`/v1/protocols/${encodeURIComponent(e.protocol)}?view=effective&version=${encodeURIComponent(e.version)}`);
  return p.claimTypes?.[kind]?.verification || null;
};

export default function Claim({ id }) {
  const path = `/v1/claims/${encodeURIComponent(id)}`;
  const of = useLoad(async () => {
    const claim = await call(path), [evaluations, issued] = await Promise.all([call(path + "/evaluations?limit=5").then((p) => p.items), isIssued(claim)]);
    return { claim, evaluations, issued, spoken: await rulesOf(evaluations[0] || claim.document, claim.kind) };
  }, [id]);
  const c = of.data?.claim, crumb = html`<a href=${base + "/claims"}>${t("page.claims")}</a>`;
  return html`<${Page} title=${c ? `${c.kind} · ${amount(c.approvedAmount || c.amount)}` : t("page.claim")} crumb=${crumb} curl=${path} actions=${c && html`<${Next} key=${c.status + of.data.issued} claim=${c} issued=${of.data.issued} done=${of.reload} />`}><${Loaded} of=${of} rows=${6}>${({ claim, evaluations, spoken }) => html`
    <section class="card"><dl class="facts"><dt>${t("survey.state")}</dt><dd><${Badge} value=${claim.status} /></dd><dt>${t("claims.subject")}</dt><dd><${Name} did=${claim.subject} /></dd>
      <dt>${t("claims.period")}</dt><dd>${claim.periodStart || "…"} – ${claim.periodEnd || "…"}</dd><dt>${t("claims.amount")}</dt><dd>${amount(claim.amount)}</dd>${claim.approvedAmount ? html`<dt>${t("claims.approved")}</dt><dd>${amount(claim.approvedAmount)}</dd>` : null}
      <dt>${t("claim.claimant")}</dt><dd><${Name} did=${claim.claimant} /></dd><dt>${t("claims.submitted")}</dt><dd><${Time} at=${claim.submittedAt} /></dd>${claim.cid ? html`<dt>CID</dt><dd class="copyable"><code class="long">${claim.cid}</code> <${Copy} text=${claim.cid} /></dd>` : null}</dl>${claim.claimedElsewhere ? html`<p class="note">${t("claim.elsewhere")}</p>` : null}</section>
    <${Decide} key=${claim.id + claim.status + evaluations.length} claim=${claim} facts=${spoken?.facts} done=${of.reload} /><${Chain} key=${"chain" + claim.status + evaluations.length} id=${claim.id} />${evaluations.map((e) => html`<${Evaluation} key=${e.id} e=${e} unit=${claim.amount?.unit} rubric=${spoken?.rubric} />`)}<${Disputes} claim=${claim} done=${of.reload} />${spoken?.rubric ? html`<${Rubric} rules=${spoken.rubric} decided=${evaluations[0]?.rule} />` : null}
    ${claim.document?.data?.calculation?.asked ? html`<${Calculation} asked=${claim.document.data.calculation.asked} />` : null}`}</${Loaded}></${Page}>`;
}
