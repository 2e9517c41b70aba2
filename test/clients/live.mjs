// Scenarios with the real socket.io-client against the oracle's socket gateway
// alone. TestRealClient of internal/oracle/live starts both sides; a POST to
// /control does what a run would do.
import assert from "node:assert/strict";
import { io } from "socket.io-client";
import { cleanup, next, patience, play, scenario, within } from "./kit/run.mjs";

const url = process.env.URL;
const hers = "$alice-1";
const hers2 = "$alice-2";
const his = "$bob-1";

// connect does what the published client does, whose options these are.
function connect(sessionId, invocation, options = {}) {
  const socket = io(url, {
    query: { sessionId, userDid: "did:key:somebody-else" },
    auth: { ucanDelegation: invocation, invocation },
    transports: ["websocket"],
    forceNew: true,
    reconnectionDelay: 50,
    reconnectionDelayMax: 200,
    ...options,
  });
  cleanup(() => socket.disconnect());
  return socket;
}

async function ready(sessionId, invocation, options) {
  const socket = connect(sessionId, invocation, options);
  const [hello] = await next(socket, "connected");
  assert.equal(hello.sessionId, sessionId);
  assert.equal(hello.message, "Connected successfully");
  return socket;
}

async function control(order) {
  const answer = await fetch(`${url}/control`, { method: "POST", body: JSON.stringify(order) });
  assert.equal(answer.status, 200, await answer.clone().text());
  return answer.json();
}

const call = (order) => control({ do: "call", user: "did:key:alice", session: hers, args: { n: 1 }, ...order });
const emit = (event, payload) => control({ do: "emit", user: "did:key:alice", session: hers, event, payload });

for (const transports of [["websocket"], ["polling"], ["polling", "websocket"]]) {
  scenario(`${transports.join(" to ")}: handshake, acknowledgements, events`, async () => {
    const socket = await ready(hers, "alice", { transports });
    const pong = await socket.timeout(patience).emitWithAck("ping");
    assert.equal(pong.sessionId, hers);
    const status = await socket.timeout(patience).emitWithAck("status", {});
    assert.deepEqual([status.connected, status.activeSessions, status.totalConnections], [true, 1, 1]);
    const list = await socket.timeout(patience).emitWithAck("list-events");
    assert.ok(list.serverEvents.includes("weather.changed"));
    assert.deepEqual(list.clientEvents, ["ping", "status", "subscribe", "list-events", "tool_result", "action_call_result"]);
    const flat = next(socket, "tool_call");
    const envelope = next(socket, "event");
    await emit("tool_call", { requestId: "r", toolName: "search", status: "isRunning" });
    const [payload] = await flat;
    assert.deepEqual(payload, { sessionId: hers, requestId: "r", toolName: "search", status: "isRunning" });
    assert.deepEqual((await envelope)[0], { eventName: "tool_call", payload });
  });
}

scenario("refused clients connect, hear why, and stay away", async () => {
  for (const [session, token, why] of [
    ["", "alice", /sessionId/],
    [hers, "mallory", /Invalid UCAN invocation/],
    [hers, "bob", /Session not found/],
    ["$nobody", "alice", /Session not found/],
  ]) {
    const socket = connect(session, token);
    const told = next(socket, "exception");
    const connected = next(socket, "connect");
    const [reason] = await next(socket, "disconnect");
    await connected;
    assert.equal(reason, "io server disconnect");
    assert.match((await told)[0].message, why);
    assert.equal(socket.active, false);
  }
});

scenario("a browser tool is run by all tabs, the first answer wins", async () => {
  const tabs = [await ready(hers, "alice"), await ready(hers, "alice")];
  const stranger = await ready(his, "bob");
  let overheard = 0;
  stranger.onAny(() => overheard++);
  for (const tab of tabs) {
    tab.on("browser_tool_call", ({ toolCallId, sessionId, toolName, args }) => {
      tab.emit("tool_result", { toolCallId, sessionId, result: { toolName, doubled: args.n * 2 } });
    });
  }
  const [one, two] = await Promise.all([call({ kind: "browser", name: "one" }), call({ kind: "browser", name: "two", args: { n: 21 } })]);
  assert.deepEqual(one.data, { toolName: "one", doubled: 2 });
  assert.deepEqual(two.data, { toolName: "two", doubled: 42 });
  assert.equal(overheard, 0);
});

scenario("an action with a component", async () => {
  const socket = await ready(hers, "alice");
  const heard = [];
  socket.onAny((name, payload) => {
    if (name !== "event") heard.push([name, payload.status]);
  });
  socket.on("action_call", ({ toolCallId, sessionId }) => {
    socket.emit("action_call_result", { toolCallId, sessionId, result: { success: false, error: "sold out" }, error: "sold out" });
  });
  const done = within(new Promise((resolve) => socket.on("render_component", (c) => c.status === "done" && resolve(c))), "render_component");
  const out = await call({ kind: "action", name: "buy", hasRender: true });
  assert.equal(out.err, "sold out");
  assert.equal((await done).componentName, "buy");
  assert.deepEqual(heard, [["render_component", "isRunning"], ["action_call", "isRunning"], ["render_component", "done"]]);
});

scenario("nobody there, nobody answers, somebody leaves", async () => {
  assert.match((await call({ kind: "browser", name: "x" })).err, /^No browser is connected/);
  const socket = await ready(hers, "alice");
  assert.equal((await call({ kind: "browser", name: "x", timeoutMs: 30 })).err, "Browser tool timeout after 30ms: x");
  const asked = next(socket, "action_call");
  const out = call({ kind: "action", name: "x" });
  await asked;
  socket.disconnect();
  assert.match((await out).err, /^The browser disconnected/);
});

scenario("bad payloads are answered and the client stays", async () => {
  const socket = await ready(hers, "alice");
  const [problem] = await Promise.all([next(socket, "exception"), socket.emit("tool_result")]);
  assert.deepEqual(problem[0].cause, { pattern: "tool_result" });
  assert.equal((await socket.timeout(patience).emitWithAck("tool_result", { toolCallId: "tc-no" })).success, false);
  const raw = await socket.timeout(patience).emitWithAck("tool_result", { toolCallId: "tc-no", result: new Uint8Array([1, 2]) });
  assert.equal(raw.status, "error");
  assert.ok(socket.connected);
});

scenario("subscribe follows an own session and filters", async () => {
  const socket = await ready(hers2, "alice");
  const answer = await socket.timeout(patience).emitWithAck("subscribe", { sessionId: hers, events: ["router_update"] });
  assert.deepEqual([answer.sessionId, answer.events], [hers, ["router_update"]]);
  assert.equal((await socket.timeout(patience).emitWithAck("subscribe", { sessionId: his })).message, "Session not found");
  const both = [next(socket, "router_update"), next(socket, "router.update")];
  let unwanted = 0;
  socket.on("tool_call", () => unwanted++);
  await emit("tool_call", { requestId: "r" });
  await emit("router_update", { requestId: "r", step: "memory" });
  for (const [payload] of await Promise.all(both)) assert.equal(payload.step, "memory");
  assert.equal(unwanted, 0);
});

scenario("a deleted session disconnects for good", async () => {
  const socket = await ready(hers, "alice");
  const told = next(socket, "message_cache_invalidation");
  const left = next(socket, "disconnect");
  await control({ do: "drop", user: "did:key:alice", session: hers });
  await told;
  assert.equal((await left)[0], "io server disconnect");
  assert.equal(socket.active, false);
});

for (const transport of ["websocket", "polling"]) {
  scenario(`${transport}: clients of a server that stops come back by themselves`, async () => {
    const socket = await ready(hers, "alice", { transports: [transport] });
    const left = next(socket, "disconnect");
    const back = next(socket, "connected");
    await control({ do: "restart" });
    assert.notEqual((await left)[0], "io server disconnect");
    await back;
    assert.equal((await socket.timeout(patience).emitWithAck("status")).totalConnections, 1);
  });
}

// empty waits until the gateway has noticed that all have left.
async function empty() {
  while ((await control({ do: "count" })).sockets > 0) await new Promise((resolve) => setTimeout(resolve, 5));
}

await play({ after: () => within(empty(), "end of all sockets") });
