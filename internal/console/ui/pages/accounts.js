// @ts-check
import { html, useRef, useState } from "../vendor/preact.js";
import { call, may } from "../lib/api.js";
import { List } from "../lib/list.js";
import { base, route, twinHref } from "../lib/router.js";
import { Badge, Failure, Page, Time } from "../lib/ui.js";
import { t } from "../lib/words.js";

/** What keeps somebody out, in words. */
function Lock({ a }) {
  const words = [a.blocked && t("accounts.blocked"), a.lockedUntil && t("accounts.locked", { at: a.lockedUntil.slice(11, 16) }), a.held && (a.heldUntil ? t("accounts.heldUntil", { at: a.heldUntil.slice(0, 16).replace("T", " ") }) : t("accounts.held"))].filter(Boolean);
  return words.length ? html`<span class="bad-text">${words.join(", ")}</span>` : "–";
}

/** One thing to do with an account, after a question. */
function Do({ a, action, body, done, fail }) {
  const go = async () => {
    if (!confirm(t("accounts.sure." + action, { id: a.customerId }))) return;
    fail(null);
    try {
      done(await call(`/v1/ussd/accounts/${encodeURIComponent(a.customerId)}/${action}`, { method: "POST", ...(body ? { body } : {}) }));
    } catch (e) {
      fail(e);
    }
  };
  return html`<button type="button" class="small" data-action=${action} onClick=${go}>${t("accounts." + action)}</button>`;
}

function Actions({ a, done, fail }) {
  if (!may("ussd:write") || a.status === "closed") return null;
  const p = { a, done, fail };
  return html`<span class="actions">${(a.blocked || a.lockedUntil || a.wrongPins > 0) && html`<${Do} ...${p} action="unlock" />`}
    ${a.held ? html`<${Do} ...${p} action="release" />` : html`<${Do} ...${p} action="hold" />`}
    ${may("entities:pii") && may("entities:write") && html`<${Do} ...${p} action="reset" body=${{}} />`}<${Do} ...${p} action="close" /></span>`;
}

function Customers() {
  const [turn, again] = useState(0), [said, say] = useState(/** @type {any} */ (null)), [error, fail] = useState(/** @type {any} */ (null)), box = useRef(/** @type {any} */ (null));
  const done = (change) => { say(change); again((n) => n + 1); box.current?.focus(); };
  return html`<${Failure} error=${error} /><div role="status" tabindex="-1" ref=${box}>${said && html`<p class="done">${t("accounts.did." + said.action, { id: said.account?.customerId })}${said.temporaryPin ? html` ${t("accounts.pin")} <code>${said.temporaryPin}</code>` : said.sent ? " " + t("accounts.sent") : ""}</p>`}</div>
    <${List} path="/v1/ussd/accounts" turn=${turn} id=${(a) => a.customerId}
      filters=${[...(may("entities:pii") ? [{ key: "phone", label: t("calls.number"), placeholder: "+254700000001" }] : []), { key: "customerId", label: t("accounts.id") },
        { key: "locked", label: t("accounts.which"), options: [{ value: "true", label: t("accounts.lockedOnly") }] }, { key: "status", label: t("accounts.status"), options: ["active", "closed"].map((s) => ({ value: s, label: t("state." + s) })) }]}
      columns=${[
        { label: t("accounts.name"), cell: (a) => a.name || html`<code>${a.customerId}</code>` },
        { label: t("accounts.id"), cell: (a) => html`<code>${a.customerId}</code>` },
        { label: t("calls.number"), cell: (a) => (a.withheld ? a.phoneNumber : html`<a href=${`${base}/calls?phone=${encodeURIComponent(a.phoneNumber)}`}>${a.phoneNumber}</a>`) },
        { label: t("accounts.status"), cell: (a) => html`<${Badge} value=${a.status} />` },
        { label: t("accounts.lock"), cell: (a) => html`<${Lock} a=${a} />` },
        { label: t("accounts.twins"), cell: (a) => (a.twins === "ready" ? html`<a href=${twinHref(a.did)}><${Badge} value=${a.twins} /></a>` : html`<${Badge} value=${a.twins} />`) },
        { label: t("accounts.since"), cell: (a) => html`<${Time} at=${a.createdAt} />` },
        { label: "", cell: (a) => html`<${Actions} a=${a} done=${done} fail=${fail} />` },
      ]}
      empty=${{ icon: "people", title: t("accounts.empty"), text: t("accounts.emptyText") }} />`;
}

const Messages = () => html`<${List} path="/v1/ussd/messages" id=${(m) => m.id}
  filters=${[{ key: "status", label: t("accounts.status"), options: ["queued", "sent", "failed"].map((s) => ({ value: s, label: t("state." + s) })) }]}
  columns=${[
    { label: t("accounts.status"), cell: (m) => html`<${Badge} value=${m.status} />` },
    { label: t("accounts.attempts"), num: true, cell: (m) => m.attempts },
    { label: t("accounts.error"), cell: (m) => m.error || "–" },
    { label: t("accounts.provider"), cell: (m) => (m.providerId ? html`<code>${m.providerId}</code>` : "–") },
    { label: t("calls.when"), cell: (m) => html`<${Time} at=${m.createdAt} />` },
  ]} empty=${{ icon: "send", title: t("accounts.noMessages"), text: t("accounts.noMessagesText") }} />`;

const Numbers = () => html`<${List} path="/v1/ussd/numbers" id=${(n) => n.phoneNumber}
  columns=${[
    { label: t("calls.number"), cell: (n) => n.phoneNumber }, { label: t("accounts.why"), cell: (n) => t(n.held ? "accounts.held" : "accounts.wrong") },
    { label: t("accounts.wrongPins"), num: true, cell: (n) => n.wrongPins }, { label: t("accounts.until"), cell: (n) => (n.until ? n.until.slice(0, 16).replace("T", " ") : t("accounts.byHand")) },
  ]} empty=${{ icon: "lock", title: t("accounts.noNumbers") }} />`;

const tabs = { customers: Customers, numbers: Numbers, messages: Messages };

export default function Accounts() {
  const tab = tabs[route.value.query.tab] ? route.value.query.tab : "customers", View = tabs[tab];
  return html`<${Page} title=${t("page.accounts")} about=${t("accounts.about")}>
    <nav class="tabs" aria-label=${t("page.accounts")}>${Object.keys(tabs).map((k) => html`<a key=${k} href=${base + "/accounts" + (k === "customers" ? "" : "?tab=" + k)} aria-current=${k === tab ? "page" : undefined}>${t("accounts.tab." + k)}</a>`)}</nav>
    <${View} key=${tab} /></${Page}>`;
}
