// @ts-check
import { html, useEffect, useRef, useState } from "../vendor/preact.js";
import { call, newId } from "../lib/api.js";
import { base, route, setQuery } from "../lib/router.js";
import { Badge, Empty, Failure, Icon, Loading, Page, Time, useKeys, useLoad } from "../lib/ui.js";
import { Markdown } from "../lib/markdown.js";
import { decide, useTalk } from "../lib/talk.js";
import { number, t } from "../lib/words.js";
import { lasted } from "./runs.js";

const at = (id) => encodeURIComponent(id);

const plain = (text) => {
  try {
    const v = JSON.parse(text);
    return typeof v === "string" ? v : JSON.stringify(v, null, 1);
  } catch {
    return String(text ?? "");
  }
};

const agentName = (step) => step.replace(/_agent$/, "");

/** One step: a call of a tool, or a sub-agent that takes over. */
function Step({ c }) {
  const { toolName, ...args } = c.args || {}, state = html`<${Badge} value=${c.failed ? "failed" : c.status === "isRunning" ? "running" : "done"} />`;
  if (c.router) return html`<div class="step agent"><p>${t("chat.agent")} <code>${agentName(c.name)}</code> ${state}</p></div>`;
  return html`<div class=${"step" + (c.agent ? " nested" : "")}><p><code>${c.name}</code> ${state}${c.agent ? html` <span class="mute small">${t("chat.byAgent", { agent: agentName(c.agent) })}</span>` : null}${Object.keys(args).length ? html` <code class="mute">${JSON.stringify(args)}</code>` : null}</p>
    ${c.output !== undefined && html`<pre tabindex="0">${plain(c.output).slice(0, 4000)}</pre>`}</div>`;
}

/** What the oracle did for an answer: one line, open while it works and where something failed. */
function Steps({ calls, live }) {
  if (!calls.length) return null;
  const failed = calls.filter((c) => c.failed).length, names = [...new Set(calls.map((c) => (c.router ? agentName(c.name) : c.name)))].join(", ");
  return html`<details class=${"steps" + (failed ? " failed" : "")} open=${failed > 0}>
    <summary>${live ? t("chat.using", { names }) : t("chat.used", { names })} <span class="mute">${t("chat.steps", { n: calls.length })}${failed ? " · " + t("chat.failed", { n: failed }) : ""}</span></summary>
    ${calls.map((c) => html`<${Step} key=${c.id} c=${c} />`)}</details>`;
}

/** The question whether a tool that changes something may run, with exactly what it would be given. */
function Question({ q }) {
  const [failed, fail] = useState(/** @type {any} */ (null)), [sent, mark] = useState(false);
  const say = async (yes, keep = false) => {
    mark(true);
    fail(null);
    try {
      await decide(q, yes, keep);
    } catch (e) {
      mark(false);
      fail(e);
    }
  };
  return html`<div class="card ask" role="group" aria-label=${t("chat.asks", { tool: q.tool })}><p><strong>${t("chat.asks", { tool: q.tool })}</strong></p>
    ${q.description && html`<p class="mute">${q.description}</p>`}<pre tabindex="0">${JSON.stringify(q.arguments, null, 1)}</pre>
    <div class="actions"><button type="button" class="primary" disabled=${sent} onClick=${() => say(true)}>${t("chat.permit")}</button><button type="button" disabled=${sent} onClick=${() => say(true, true)}>${t("chat.permitAll")}</button><button type="button" disabled=${sent} onClick=${() => say(false)}>${t("chat.refuse")}</button>
      <span class="mute">${t("chat.until")} <${Time} at=${q.expiresAt} /></span></div><${Failure} error=${failed} /></div>`;
}

function Usage({ run }) {
  if (!run?.tokens) return null;
  const parts = run.tokens.input || run.tokens.output ? [t("chat.tokens", { input: number(run.tokens.input), output: number(run.tokens.output) })] : []; // an answer that was stopped may not be counted
  if (run.durationMs) parts.push(lasted(run.durationMs));
  if (run.model) parts.push(run.model);
  if (run.cost) parts.push(t("chat.cost", { cost: run.cost }));
  return html`<p class="usage mute">${parts.join(" · ")}</p>`;
}

function Turn({ turn, run }) {
  const at = turn.calls.find((c) => c.router && c.status === "isRunning");
  return html`<article class="turn" aria-busy=${!!turn.live}>
    <div class="said"><p>${turn.you}</p>${turn.files.map((f) => html`<p class="file"><${Icon} name="file" />${f.filename}</p>`)}</div>
    <div class="answer">
      <${Steps} calls=${turn.calls} live=${turn.live} />
      ${turn.thought && html`<details class="steps"><summary>${t("chat.thought")}</summary><p>${turn.thought}</p></details>`}
      ${turn.text ? html`<${Markdown} text=${turn.text} />` : null}
      ${Object.values(turn.questions || {}).filter((q) => turn.live && q.open).map((q) => html`<${Question} key=${q.callId} q=${q} />`)}
      ${turn.live && html`<p class="dots mute" role="status">${at ? t("chat.inAgent", { agent: agentName(at.name) }) : t("chat.thinking")}</p>`}
      ${turn.error && html`<${Failure} error=${{ message: turn.error, status: 500 }} />`}
      ${!turn.live && turn.status && turn.status !== "finished" && html`<p class="note">${t("chat.ended." + turn.status)}</p>`}
      ${!turn.live && html`<${Usage} run=${run} />`}
    </div></article>`;
}

/** A conversation as a file of Markdown. */
function asMarkdown(title, turns) {
  const steps = (x) => (x.calls.length ? x.calls.map((c) => `> ${c.name}${c.failed ? " (" + t("state.failed") + ")" : ""}`).join("\n") + "\n\n" : "");
  return `# ${title}\n\n` + turns.map((x) => `**${t("chat.you")}** · ${x.at}\n\n${x.you}\n\n**${t("chat.oracle")}**\n\n${steps(x)}${x.text}\n`).join("\n---\n\n");
}

function save(name, text) {
  const a = document.createElement("a");
  a.href = URL.createObjectURL(new Blob([text], { type: "text/markdown" }));
  a.download = name.replace(/[^\p{L}\d -]+/gu, "_").slice(0, 60) + ".md";
  a.click();
  setTimeout(() => URL.revokeObjectURL(a.href), 1000);
}

function Sessions({ list, session, search, remove }) {
  const all = list.data?.sessions || [], word = search.toLowerCase();
  const found = all.filter((s) => s.title.toLowerCase().includes(word));
  return html`<aside class="talks"><a class="button" href=${base + "/chat"}>${t("chat.new")}</a>
    <label><span class="sr">${t("chat.search")}</span><input type="search" value=${search} placeholder=${t("chat.search")} onInput=${(e) => setQuery({ q: e.target.value }, { replace: true })} /></label>
    <${Failure} error=${list.error} again=${list.reload} />
    ${!list.data ? (list.error?.status ? null : html`<${Loading} rows=${4} />`) : html`<nav aria-label=${t("chat.talks")}>
      ${found.map((s) => html`<div key=${s.sessionId} class="talk"><a href=${`${base}/chat?session=${at(s.sessionId)}${search ? "&q=" + at(search) : ""}`} aria-current=${s.sessionId === session ? "page" : undefined}><span>${s.title === "Untitled" ? t("chat.untitled") : s.title}</span><small><${Time} at=${s.lastUpdatedAt} /></small></a>
        <button type="button" class="link small" aria-label=${t("chat.delete", { title: s.title })} title=${t("chat.delete", { title: s.title })} onClick=${() => remove(s)}>×</button></div>`)}
      ${found.length ? null : html`<p class="mute">${t(word ? "list.nothing" : "chat.none")}</p>`}
      ${all.length < (list.data.total || 0) ? html`<p class="mute small">${t("chat.newest", { n: all.length })}</p>` : null}</nav>`}</aside>`;
}

function Say({ talk, session }) {
  const [text, set] = useState(""), [files, setFiles] = useState(/** @type {any[]} */ ([])), [adding, add] = useState(false);
  const key = useRef(newId()), box = useRef(/** @type {any} */ (null));
  useEffect(() => { box.current?.focus({ preventScroll: true }); }, [session]);
  useKeys({ m: () => setTimeout(() => box.current?.focus()) });
  const say = async () => {
    if (!text.trim() || talk.busy) return;
    const spent = key.current; // the same message sent twice is one
    key.current = newId();
    set("");
    setFiles([]);
    if (await talk.say(text, files, spent)) return;
    key.current = spent; // there was no conversation to say it in: it is not lost
    set((newer) => newer || text);
    setFiles(files);
  };
  const attach = (e) => {
    e.preventDefault();
    const address = new FormData(e.target).get("address")?.toString().trim() || "";
    if (!/^https?:\/\/./.test(address)) return;
    setFiles([...files, { mxcUri: address, filename: decodeURI(address.split(/[?#]/)[0].split("/").pop() || "file").slice(0, 255), mimetype: "text/plain" }]);
    add(false);
  };
  return html`<form class="say" onSubmit=${(e) => { e.preventDefault(); say(); }}>
      ${files.map((f, i) => html`<span class="chip" key=${i}>${f.filename} <button type="button" class="link" aria-label=${t("chat.detach", { name: f.filename })} onClick=${() => setFiles(files.filter((_, n) => n !== i))}>×</button></span>`)}
      <label class="sr" for="say">${t("chat.message")}</label>
      <textarea id="say" ref=${box} rows="2" value=${text} placeholder=${t("chat.placeholder")} onInput=${(e) => set(e.target.value)}
        onKeyDown=${(e) => { if (e.key === "Enter" && !e.shiftKey && !e.isComposing) { e.preventDefault(); say(); } }}></textarea>
      <button type="button" aria-expanded=${adding} onClick=${() => add(!adding)} disabled=${files.length >= 10}>${t("chat.attach")}</button>
      ${talk.busy ? html`<button type="button" class="stop" onClick=${talk.stop}>${t("chat.stop")}</button>` : html`<button class="primary" disabled=${!text.trim()}>${t("chat.send")}</button>`}
    </form>
    ${adding && html`<form class="attach" onSubmit=${attach}><label><span>${t("chat.address")}</span><input name="address" type="url" required placeholder="https://" /></label><button class="small">${t("chat.add")}</button></form>`}`;
}

const ideas = ["chat.idea1", "chat.idea2", "chat.idea3", "chat.idea4"];

export default function Chat() {
  const { session = "", q: search = "" } = route.value.query;
  const list = useLoad(() => call("/sessions?limit=100", { name: "talks" }), []), models = useLoad(() => call("/models"), []);
  const talk = useTalk(session, (id) => setQuery({ session: id }, { replace: true }));
  const [problem, fail] = useState(/** @type {any} */ (null)), end = useRef(/** @type {any} */ (null)), stuck = useRef(true);
  const title = list.data?.sessions.find((s) => s.sessionId === session)?.title || t("page.chat");
  // A title is made beside the answer, a moment after its end.
  useEffect(() => {
    if (talk.busy) return undefined;
    const timers = [0, 1500].map((ms) => setTimeout(list.reload, ms));
    return () => timers.forEach(clearTimeout);
  }, [talk.busy, session]);
  useEffect(() => {
    const note = () => { stuck.current = innerHeight + scrollY >= document.documentElement.scrollHeight - 120; };
    addEventListener("scroll", note, { passive: true });
    return () => removeEventListener("scroll", note);
  }, []);
  useEffect(() => { if (stuck.current && talk.turns.length) end.current?.scrollIntoView({ block: "end" }); }, [talk.turns, talk.runs]);
  const remove = async (s) => {
    if (!confirm(t("chat.sure", { title: s.title }))) return;
    fail(null);
    try {
      await call("/sessions/" + at(s.sessionId), { method: "DELETE" });
      if (s.sessionId === session) setQuery({ session: "" });
    } catch (e) {
      fail(e);
    }
    list.reload();
  };
  const runOf = (i) => talk.runs?.[talk.turns.length - 1 - i]; // the newest run comes first
  return html`<${Page} title=${title === "Untitled" ? t("chat.untitled") : title} about=${t("chat.about", { model: models.data?.models?.[0]?.label || "…" })} curl=${session ? `/sessions/${at(session)}/messages` : "/sessions"}
      actions=${talk.turns.length > 0 && html`<button type="button" class="small" onClick=${() => save(title, asMarkdown(title, talk.turns))}>${t("chat.export")}</button>`}>
    <div class=${"chat" + (session ? " talking" : "")}><${Sessions} list=${list} session=${session} search=${search} remove=${remove} />
      <section class="talk-main" aria-label=${title}>
        <${Failure} error=${problem} />
        ${talk.older && html`<button type="button" class="small" onClick=${talk.earlier}>${t("chat.older")}</button>`}
        ${talk.loading ? html`<${Loading} rows=${6} />` : talk.turns.length ? html`<div class="turns" role="log" aria-live="polite">${talk.turns.map((x, i) => html`<${Turn} key=${x.key} turn=${x} run=${runOf(i)} />`)}</div>`
          : talk.error ? null : html`<${Empty} icon="chat" title=${t("chat.empty")}><p>${t("chat.emptyText")}</p><div class="ideas">${ideas.map((x) => html`<button type="button" key=${x} onClick=${() => talk.say(t(x))}>${t(x)}</button>`)}</div></${Empty}>`}
        <${Failure} error=${talk.error} />
        <div class="end" ref=${end}></div>
        <${Say} talk=${talk} session=${session} /></section></div></${Page}>`;
}
