// @ts-check
import { html, useEffect, useState } from "../vendor/preact.js";
import { call, may } from "../lib/api.js";
import { Dialog, useAct, useOnce } from "../lib/act.js";
import { List } from "../lib/list.js";
import { base, go, route, setQuery } from "../lib/router.js";
import { Badge, Failure, Loaded, Page, Time, useLoad } from "../lib/ui.js";
import { number, t } from "../lib/words.js";

const outcome = (d) => [d.lastStatus ? "HTTP " + d.lastStatus : "", (d.lastError || "").replace(/^HTTP \d+ ?/, "")].filter(Boolean).join(" · ") || "–";

/** JSON with its members one under the other, if it is whole. */
function pretty(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

function Said({ title, text }) {
  return html`<h2>${title}</h2>${text ? html`<pre class="said" tabindex="0"><code>${pretty(text)}</code></pre>` : html`<p class="mute">${t("webhook.nothing")}</p>`}`;
}

/** One delivery: what was sent, and what came back. */
function One({ id, seq, turn }) {
  const one = useLoad(() => call(`/v1/webhooks/${encodeURIComponent(id)}/deliveries/${encodeURIComponent(seq)}`), [id, seq, turn]);
  return html`<section class="card delivery"><${Loaded} of=${one} rows=${4}>${(d) => html`<div class="card-head"><h2>${t("webhook.event", { seq: number(d.seq) })} <code>${d.type}</code></h2><button type="button" class="small" onClick=${() => setQuery({ delivery: "" })}>${t("ui.close")}</button></div>
    <p><${Badge} value=${d.status} /> <span class="mute">${t("webhook.tries", { n: d.attempts })} · ${outcome(d)}</span></p>
    <div class="two"><div><${Said} title=${t("webhook.sent")} text=${d.request} /></div><div><${Said} title=${t("webhook.answered")} text=${d.answer} /></div></div>`}</${Loaded}></section>`;
}

function Replay({ id, done }) {
  const [from, setFrom] = useState(""), [to, setTo] = useState(""), act = useAct(), once = useOnce();
  const begin = (close) => async (e) => {
    e.preventDefault();
    const r = await act.run(() => call(`/v1/webhooks/${encodeURIComponent(id)}/replay?from=${encodeURIComponent(from)}${to ? "&to=" + encodeURIComponent(to) : ""}`, { method: "POST", headers: once.headers() }));
    if (r) { done(t("webhook.replaying", { from: number(r.from), to: number(r.to) })); close(); } else once.renew();
  };
  return html`<${Dialog} label=${t("webhook.replay")} closed=${() => { act.clear(); once.renew(); }}>${(close) => html`<form class="form" onSubmit=${begin(close)}><h2>${t("webhook.replay")}</h2><p>${t("webhook.replayText")}</p>
    <div class="row"><label class="field"><span>${t("webhook.from")}</span><input type="number" min="1" required value=${from} onInput=${(e) => setFrom(e.target.value)} /></label>
      <label class="field"><span>${t("webhook.until")}</span><input type="number" min="1" value=${to} placeholder=${t("webhook.newest")} onInput=${(e) => setTo(e.target.value)} /></label></div>
    <${Failure} error=${act.error} /><div class="row-end"><button type="button" onClick=${close}>${t("ui.cancel")}</button><button class="primary" disabled=${act.busy}>${t("webhook.replayGo")}</button></div></form>`}</${Dialog}>`;
}

/** What can be done with a webhook. */
function Actions({ hook, act, done, reload }) {
  const path = "/v1/webhooks/" + encodeURIComponent(hook.id), match = { "If-Match": `"${hook.revision}"` };
  const ping = async () => {
    const o = await act.run(() => call(path + "/ping", { method: "POST" }));
    if (o) done(o.delivered ? t("webhook.pinged", { status: o.status, ms: number(o.durationMs) }) : t("webhook.notPinged", { why: o.error || "HTTP " + o.status }));
  };
  const turnTo = async (active) => {
    if (await act.run(() => call(path, { method: "PATCH", body: { active }, headers: { ...match, "Content-Type": "application/merge-patch+json" } }))) reload();
  };
  const end = async () => {
    if (!confirm(t("webhook.sure", { url: hook.url }))) return;
    if (await act.run(() => call(path, { method: "DELETE", headers: match }))) go("/webhooks");
  };
  return html`<button type="button" class="primary" disabled=${act.busy} onClick=${ping}>${t("webhook.ping")}</button>
    ${hook.active && html`<${Replay} id=${hook.id} done=${done} />`}
    <button type="button" disabled=${act.busy} onClick=${() => turnTo(!hook.active)}>${t(hook.active ? "webhook.off" : "webhook.on")}</button>
    <button type="button" disabled=${act.busy} onClick=${end}>${t("webhook.end")}</button>`;
}

export default function Webhook({ id }) {
  const [turn, again] = useState(0), [said, say] = useState(""), [waits, wait] = useState(false), act = useAct();
  const hook = useLoad(() => call("/v1/webhooks/" + encodeURIComponent(id)), [id]);
  const write = may("webhooks:write") && may("events:read"), seq = route.value.query.delivery;
  useEffect(() => {
    if (!waits) return;
    const tick = setInterval(() => again((n) => n + 1), 2000); // attempts tell no event
    return () => clearInterval(tick);
  }, [waits]);
  const redeliver = async (d) => {
    const r = await act.run(() => call(`/v1/webhooks/${encodeURIComponent(id)}/deliveries/${d.seq}/redeliver`, { method: "POST" }));
    if (r) say(t("webhook.again", { seq: number(d.seq) }));
    again((n) => n + 1);
  };
  const w = hook.data;
  return html`<${Page} title=${t("webhook.title")} crumb=${html`<a href=${base + "/webhooks"}>${t("page.webhooks")}</a>`} about=${w && html`<span class="wrap">${w.url}</span>`}
      actions=${w && write && html`<${Actions} hook=${w} act=${act} done=${(text) => { say(text); again((n) => n + 1); }} reload=${hook.reload} />`}>
    <${Failure} error=${act.error} /><p class="done" role="status">${said}</p>
    <${Loaded} of=${hook} rows=${3}>${(h) => html`<section class="card"><dl>
      <dt>${t("webhooks.state")}</dt><dd><${Badge} value=${h.active ? "active" : "off"} /> ${h.disabledReason || ""}</dd>
      <dt>${t("webhooks.events")}</dt><dd><code>${h.events.join(" ")}</code></dd>
      ${h.filter && html`<dt>${t("webhooks.filter")}</dt><dd><code>${h.filter}</code> ${h.filterError && html`<span class="bad-text">${h.filterError}</span>`}</dd>`}
      ${h.description && html`<dt>${t("webhooks.for")}</dt><dd>${h.description}</dd>`}
      <dt>${t("webhook.since")}</dt><dd><${Time} at=${h.createdAt} /></dd></dl></section>`}</${Loaded}>
    ${seq && may("events:read") && html`<${One} id=${id} seq=${seq} turn=${turn} />`}
    <h2>${t("webhook.deliveries")}</h2>
    <${List} path=${`/v1/webhooks/${encodeURIComponent(id)}/deliveries`} turn=${turn} id=${(d) => String(d.seq)} onPage=${(p) => wait(!!p?.items.some((d) => d.status === "pending"))}
      filters=${[{ key: "status", label: t("webhooks.state"), options: ["pending", "delivered", "dead"].map((s) => ({ value: s, label: t(s === "pending" ? "state.pending" : "state." + s) })) }]}
      href=${may("events:read") ? (d) => { const q = new URLSearchParams(location.search); q.set("delivery", d.seq); return base + route.value.path + "?" + q; } : undefined}
      columns=${[
        { label: t("webhook.number"), cell: (d) => number(d.seq) },
        { label: t("webhook.type"), cell: (d) => html`<code>${d.type}</code>` },
        { label: t("webhooks.state"), cell: (d) => html`<${Badge} value=${d.status} />` },
        { label: t("webhook.attempts"), num: true, cell: (d) => number(d.attempts) },
        { label: t("webhook.came"), cell: (d) => html`<span class="wrap">${outcome(d)}</span>` },
        { label: t("webhook.next"), cell: (d) => html`<${Time} at=${d.nextAt || d.updatedAt} />` },
        { label: "", cell: (d) => (write && w?.active ? html`<button type="button" class="small" disabled=${act.busy} onClick=${() => redeliver(d)}>${t("webhook.send")}</button>` : null) },
      ]}
      empty=${{ icon: "send", title: t("webhook.empty"), text: t("webhook.emptyText") }} /></${Page}>`;
}
