// @ts-check
// A conversation with the oracle: what was said, and the answer that is being
// made. An answer belongs to the server: a page that was cut off or loaded anew
// joins it from the last frame it has.
import { useEffect, useRef, useState } from "../vendor/preact.js";
import { call, drop, isStale, newId, Problem, send } from "./api.js";

const streamName = "talk stream"; // a page has one

const confirmName = "confirm_tool_call"; // the action by which the oracle asks whether a tool may run

const at = (id) => encodeURIComponent(id);

/** Answers the question whether a tool may run. */
export const decide = (q, confirmed, forSession = false) => call(`/runs/${at(q.runId)}/confirmations/${at(q.callId)}`, { method: "POST", body: forSession ? { confirmed, forSession } : { confirmed } });

/** The frames of a stream of server-sent events. */
async function* framesOf(answer) {
  const read = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let held = "";
  for (;;) {
    const { value, done } = await read.read();
    if (done) return;
    held += value;
    for (let end; (end = held.indexOf("\n\n")) >= 0; held = held.slice(end + 2)) {
      const f = { id: 0, event: "message", data: "" };
      for (const line of held.slice(0, end).split("\n")) {
        const colon = line.indexOf(":"), text = line.slice(colon + 1).trimStart();
        if (colon < 1) continue;
        if (line.startsWith("data:")) f.data += text;
        else if (line.startsWith("event:")) f.event = text;
        else if (line.startsWith("id:")) f.id = Number(text);
      }
      if (f.data) yield { ...f, data: JSON.parse(f.data) };
    }
  }
}

/** Messages of the history as turns: what somebody said, and one answer with its steps. */
export function turnsOf(messages) {
  const out = [];
  for (const m of messages) {
    if (m.type === "human") {
      out.push({ key: m.id, you: m.content, files: m.attachments || (m.attachment ? [m.attachment] : []), at: m.createdAt, text: "", calls: [] });
      continue;
    }
    const turn = out[out.length - 1];
    if (!turn) continue;
    turn.text += (turn.text && m.content ? "\n\n" : "") + m.content;
    turn.calls.push(...(m.toolCalls || []));
    turn.status = m.aborted ? "aborted" : m.interrupted ? "interrupted" : turn.status;
  }
  return out;
}

const mainStep = "main_agent";

/** An answer that goes on in a sub-agent, or in the oracle itself again. */
function enter(turn, step) {
  const calls = turn.calls.map((c) => (c.router ? { ...c, status: "done" } : c));
  if (step === mainStep || !step) return { ...turn, calls };
  return { ...turn, calls: [...calls, { id: `step ${calls.length} ${step}`, name: step, router: true, status: "isRunning" }] };
}

/** What an answer looks like after a frame. */
function after(turn, f) {
  const d = f.data;
  switch (f.event) {
    case "run": return { ...turn, run: d.runId };
    case "message": return { ...turn, text: turn.text + d.content };
    case "reasoning": return d.reasoning && !d.reasoningDetails ? { ...turn, thought: (turn.thought || "") + d.reasoning } : turn; // the first says only that work has begun
    case "error": return { ...turn, error: d.error };
    case "done": return { ...turn, live: false, status: d.status };
    case "router.update": return enter(turn, d.step);
    case "tool_call":
    case "action_call": {
      if (d.toolName === confirmName) return { ...turn, questions: { ...turn.questions, [d.toolCallId]: { ...d.args, open: d.status === "isRunning" } } };
      const id = d.eventId || d.toolCallId, old = turn.calls.some((c) => c.id === id);
      const one = { id, name: d.toolName, args: d.args, status: d.status, output: d.output ?? d.error, agent: d.agent, failed: d.failed || d.status === "error" };
      return { ...turn, calls: old ? turn.calls.map((c) => (c.id === id ? one : c)) : [...turn.calls, one] };
    }
  }
  return turn;
}

/** Reads a stream into an answer, in steps of 40 ms. It gives the last frame's number, and whether it was the end. */
async function follow(answer, seen, change) {
  let held = [], timer = 0, last = seen, ended = false;
  const flush = () => {
    const now = held;
    held = [];
    timer = 0;
    if (now.length) change((turn) => now.reduce(after, turn));
  };
  try {
    for await (const f of framesOf(answer)) {
      if (f.id && f.id <= last) continue;
      if (f.id) last = f.id;
      held.push(f);
      ended = f.event === "done";
      if (!timer) timer = setTimeout(flush, 40);
    }
  } catch (e) {
    if (isStale(e)) throw e; // cut off otherwise: whoever called joins again
  } finally {
    clearTimeout(timer);
    flush();
  }
  return { last, ended };
}

const pause = (ms) => new Promise((done) => setTimeout(done, ms));

/** Tries again what did not reach the server. It may have all the same: a message has a key, so that it is said once. */
async function patiently(f) {
  for (let tries = 0; ; tries++) {
    try {
      return await f();
    } catch (e) {
      if (isStale(e) || e.status || tries === 3) throw e;
    }
    await pause(500 * 2 ** tries);
  }
}

/** Joins a run until its end, again and again when it is cut off. */
async function join(run, seen, change) {
  for (let last = seen, tries = 0; tries < 8; tries++) {
    try {
      const answer = await send(`/runs/${at(run)}?after=${last}`, { name: streamName });
      if (!answer.ok) throw new Problem(answer.status, await answer.json());
      const got = await follow(answer, last, change);
      if (got.ended) return;
      if (got.last > last) tries = 0;
      last = got.last;
    } catch (e) {
      if (isStale(e) || e.status) throw e; // refused; what is not reached is tried again
    }
    await pause(Math.min(5000, 250 * 2 ** tries));
  }
}

/** The conversation of a session, "" for one that is yet to begin. */
export function useTalk(session, began) {
  const [state, set] = useState(/** @type {any} */ ({ turns: [], loading: !!session }));
  const here = useRef(session), busy = useRef(false);
  const mine = (id, f) => { if (here.current === id) set(f); };
  const change = (id) => (f) => mine(id, (s) => ({ ...s, turns: s.turns.map((x, i) => (i === s.turns.length - 1 ? f(x) : x)) }));

  const watch = async (id, work) => {
    busy.current = true;
    try {
      await work();
    } catch (error) {
      if (isStale(error)) return;
      mine(id, (s) => ({ ...s, error }));
    }
    busy.current = false;
    change(id)((turn) => ({ ...turn, live: false }));
    addUsage(id);
  };
  const addUsage = async (id) => {
    const runs = await call(`/v1/oracle/runs?session=${at(id)}&limit=50`).catch(() => null); // an answer without figures is one
    if (runs) mine(id, (s) => ({ ...s, runs: runs.items }));
  };
  const load = async (id) => {
    const page = await call(`/sessions/${at(id)}/messages?limit=50`, { name: "talk history" });
    const turns = turnsOf(page.messages);
    const { run } = await call(`/sessions/${at(id)}/run`);
    const live = run && (run.status === "running" || run.status === "recovering");
    if (live && turns.length) turns[turns.length - 1] = { ...turns[turns.length - 1], text: "", calls: [], run: run.runId, live: true };
    mine(id, () => ({ turns, older: page.hasOlder ? page.prevCursor : null, loading: false }));
    addUsage(id);
    if (live) watch(id, () => join(run.runId, 0, change(id)));
  };
  useEffect(() => {
    here.current = session;
    if (busy.current && state.id === session) return undefined; // it began here
    busy.current = false;
    drop(streamName); // the run goes on; its connection is needed
    set({ turns: [], loading: !!session });
    if (session) load(session).catch((error) => isStale(error) || mine(session, () => ({ turns: [], error })));
    return undefined;
  }, [session]);
  useEffect(() => () => { here.current = null; drop(streamName); }, []);

  const earlier = async () => {
    const page = await call(`/sessions/${at(session)}/messages?limit=50&before=${at(state.older)}`);
    mine(session, (s) => ({ ...s, turns: [...turnsOf(page.messages), ...s.turns], older: page.hasOlder ? page.prevCursor : null }));
  };
  /** Says something, and gives whether it stands in the conversation. The same key twice is one message. */
  const say = async (message, files = [], key = newId()) => {
    if (busy.current) return false;
    busy.current = true;
    let id = session;
    try {
      if (!id) {
        id = (await call("/sessions", { method: "POST" })).sessionId;
        here.current = id;
        set((s) => ({ ...s, id }));
        began(id);
      }
      mine(id, (s) => ({ ...s, id, error: null, loading: false, turns: [...s.turns, { key, you: message, files, text: "", calls: [], live: true, at: new Date().toISOString() }] }));
      await watch(id, async () => {
        const body = { message, stream: true, ...(files.length ? { attachments: files } : {}) };
        const answer = await patiently(() => send(`/messages/${at(id)}`, { method: "POST", body, headers: { "Idempotency-Key": key }, name: streamName }));
        if (!answer.ok) throw new Problem(answer.status, await answer.json());
        const got = await follow(answer, 0, change(id));
        if (!got.ended) await join(answer.headers.get("X-Run-Id"), got.last, change(id));
      });
      return true;
    } catch (error) {
      busy.current = false;
      set((s) => ({ ...s, error }));
      return false;
    }
  };
  const stop = () => call("/messages/abort", { method: "POST", body: { sessionId: session } });
  return { ...state, busy: !!state.turns[state.turns.length - 1]?.live, say, stop, earlier };
}
