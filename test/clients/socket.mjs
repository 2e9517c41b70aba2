// The published socket.io-client against the oracle's sockets, with the options
// that the SDK gives it. A run behind them is a message to the offline model.
import assert from "node:assert/strict";
import { io } from "socket.io-client";
import { newUser } from "./kit/tokens.mjs";
import { cleanup, next, patience, play, quiet, scenario, within } from "./kit/run.mjs";

const url = process.env.URL;

async function ask(user, path, method = "GET", body) {
  user.bearer ??= await user.invocation();
  const headers = { authorization: `Bearer ${user.bearer}`, "x-auth-type": "ucan", "content-type": "application/json" };
  const answer = await fetch(url + path, { method, headers, body: body && JSON.stringify(body) });
  return { status: answer.status, body: await answer.json() };
}

// newSession makes a user and a session of hers.
async function newSession(user) {
  user ??= await newUser();
  const { status, body } = await ask(user, "/sessions", "POST");
  assert.equal(status, 201);
  return { user, sessionId: body.sessionId };
}

async function connect({ user, sessionId }, { auth, ...options } = {}) {
  auth ??= { ucanDelegation: await user.delegation(), invocation: await user.invocation() };
  const query = { ...(sessionId && { sessionId }), userDid: "did:key:somebody-else" };
  const socket = io(url, { query, auth, transports: ["websocket"], forceNew: true, ...options });
  cleanup(() => socket.disconnect());
  return socket;
}

async function ready(session, options) {
  const socket = await connect(session, options);
  const [hello] = await next(socket, "connected");
  assert.equal(hello.message, "Connected successfully");
  assert.equal(hello.sessionId, session.sessionId);
  assert.ok(!Number.isNaN(Date.parse(hello.timestamp)));
  return socket;
}

// say sends a message and waits for the whole answer.
async function say({ user, sessionId }, message, more = {}) {
  const { status, body } = await ask(user, `/messages/${sessionId}`, "POST", { message, ...more });
  assert.equal(status, 200, JSON.stringify(body));
  return body.message.content;
}

const schema = { type: "object", properties: { n: { type: "number" } } };
const look = { name: "look", description: "Looks at the page", schema };
const buy = { name: "buy", description: "Buys a thing", schema };

async function refused(session, options) {
  const socket = await connect(session, options);
  const connected = next(socket, "connect");
  let welcome = 0;
  socket.on("connected", () => welcome++);
  const [reason] = await next(socket, "disconnect");
  await connected;
  assert.equal(reason, "io server disconnect");
  assert.equal(welcome, 0);
  assert.equal(socket.active, false, "it does not try again by itself");
}

for (const transports of [["websocket"], ["polling"], ["polling", "websocket"]]) {
  scenario(`${transports.join(" to ")}: handshake, ping, status, list-events, acknowledgements`, async () => {
    const session = await newSession();
    const socket = await ready(session, { transports });
    for (const [event, answer] of [["ping", "pong"], ["status", "status"], ["list-events", "available-events"]]) {
      const told = next(socket, answer);
      const acked = await socket.timeout(patience).emitWithAck(event, {});
      const [payload] = await told;
      assert.equal(payload.sessionId, session.sessionId, answer);
      assert.equal(acked.sessionId, session.sessionId, answer);
      if (event === "status") {
        assert.deepEqual([payload.connected, payload.activeSessions, payload.totalConnections], [true, 1, 1]);
      }
      if (event === "list-events") {
        assert.deepEqual(payload.clientEvents, ["ping", "status", "subscribe", "list-events", "tool_result", "action_call_result"]);
        for (const name of ["connected", "pong", "tool_call", "browser_tool_call", "action_call", "router_update", "message_cache_invalidation"]) {
          assert.ok(payload.serverEvents.includes(name), name);
        }
      }
    }
    if (transports.length === 2) {
      const { engine } = socket.io;
      if (engine.transport.name !== "websocket") await next(engine, "upgrade");
      assert.equal(engine.transport.name, "websocket");
    }
  });
}

scenario("refused: connected, then told to go, and it stays away", async () => {
  const hers = await newSession();
  const other = await newUser();
  await refused({ user: hers.user });
  await refused({ user: hers.user, sessionId: "$nobody" });
  await refused({ user: other, sessionId: hers.sessionId });
  await refused(hers, { auth: {} });
  await refused(hers, { auth: { invocation: "bm9uc2Vuc2U=", ucanDelegation: await hers.user.delegation() } });
  await refused(hers, { auth: { invocation: await hers.user.invocation({ ttl: -10 }) } });
  await refused(hers, { auth: { ucanDelegation: await other.delegation(), invocation: await other.invocation() } });
  await ready(hers, { auth: { ucanDelegation: await hers.user.delegation() } });
  await ready(hers, { auth: { invocation: await hers.user.invocation() } });
});

scenario("refused: a page of a foreign origin", async () => {
  const session = await newSession();
  for (const transports of [["websocket"], ["polling"]]) {
    const evil = await connect(session, { transports, reconnection: false, extraHeaders: { origin: "https://evil.example" } });
    await next(evil, "connect_error");
    await ready(session, { transports, extraHeaders: { origin: process.env.ORIGIN } });
  }
});

scenario("a run is told flat and in an envelope, to all tabs", async () => {
  const session = await newSession();
  const tabs = [await ready(session), await ready(session, { transports: ["polling"] })];
  const heard = tabs.map((tab) => {
    const list = [];
    const over = within(new Promise((resolve) => tab.on("tool_call", (p) => p.status === "done" && resolve(list))), "tool_call that is done");
    tab.onAny((name, payload) => list.push([name, payload]));
    return over;
  });
  await say(session, '/tool search_twins {"type":"device"}');
  for (const list of await Promise.all(heard)) {
    const flat = list.filter(([name]) => name === "tool_call").map(([, p]) => p);
    assert.deepEqual(flat.map((p) => p.status), ["isRunning", "done"]);
    assert.equal(flat[0].eventId, flat[1].eventId);
    assert.equal(flat[0].sessionId, session.sessionId);
    const wrapped = list.filter(([name, p]) => name === "event" && p.eventName === "tool_call");
    assert.deepEqual(wrapped[0][1].payload, flat[0]);
  }
});

scenario("tool_result: parallel calls, each with an id and an answer of its own", async () => {
  const session = await newSession();
  const socket = await ready(session);
  const ids = new Set();
  socket.on("browser_tool_call", ({ toolCallId, sessionId, toolName, args }) => {
    ids.add(toolCallId);
    assert.equal(sessionId, session.sessionId);
    setTimeout(() => socket.emit("tool_result", { toolCallId, sessionId, result: { seen: toolName, twice: args.n * 2 } }), 20 / args.n);
  });
  const text = await say(session, '/tools [{"name":"look","args":{"n":1}},{"name":"look","args":{"n":21}}]', { tools: [look] });
  assert.equal(ids.size, 2);
  assert.match(text, /"twice":2\b[^]*"twice":42/);
});

scenario("tool_result: an error, none at all, and nobody there", async () => {
  const session = await newSession();
  assert.match(await say(session, "/tool look {}", { tools: [look] }), /No browser is connected/);
  const socket = await ready(session);
  socket.on("browser_tool_call", ({ toolCallId, sessionId }) => {
    socket.emit("tool_result", { toolCallId, sessionId, result: null, error: "the page is blank" });
  });
  assert.match(await say(session, "/tool look {}", { tools: [look] }), /look failed: [^]*the page is blank/);
  socket.off("browser_tool_call");
  const asked = next(socket, "browser_tool_call");
  const answer = say(session, "/tool look {}", { tools: [look] });
  await asked;
  socket.disconnect();
  assert.match(await within(answer, "answer", 10_000), /The browser disconnected/);
});

scenario("tool_result: an answer from elsewhere does not count", async () => {
  const [hers, his] = [await newSession(), await newSession()];
  const [socket, stranger] = [await ready(hers), await ready(his)];
  const second = await ready(await newSession(hers.user));
  let overheard = 0;
  stranger.onAny(() => overheard++);
  const asked = next(socket, "browser_tool_call");
  const answer = say(hers, "/tool look {}", { tools: [look] });
  const [{ toolCallId }] = await asked;
  for (const other of [stranger, second]) {
    const verdict = await other.timeout(patience).emitWithAck("tool_result", { toolCallId, sessionId: hers.sessionId, result: "forged" });
    assert.equal(verdict.success, false);
  }
  socket.emit("tool_result", { toolCallId, sessionId: hers.sessionId, result: "true" });
  const text = await answer;
  assert.match(text, /true/);
  assert.doesNotMatch(text, /forged/);
  assert.equal(overheard, 0);
});

scenario("action_call: one call, a component while it runs, a failure that is told", async () => {
  const session = await newSession();
  const socket = await ready(session);
  const heard = [];
  socket.onAny((name, p) => {
    if (["action_call", "render_component"].includes(name)) heard.push(`${name} ${p.status}`);
  });
  let result = { success: true, id: 7 };
  socket.on("action_call", ({ toolCallId, sessionId }) => socket.emit("action_call_result", { toolCallId, sessionId, result }));
  const text = await say(session, '/tool buy {"n":1}', { agActions: [{ ...buy, hasRender: true }] });
  assert.match(text, /"id":7/);
  assert.deepEqual(heard, ["render_component isRunning", "action_call isRunning", "render_component done"]);
  result = { success: false, error: "sold out" };
  assert.match(await say(session, '/tool buy {"n":1}', { agActions: [buy] }), /buy failed: [^]*sold out/);
});

scenario("subscribe: an own session, a filter, and not that of another", async () => {
  const one = await newSession();
  const two = await newSession(one.user);
  const foreign = await newSession();
  const socket = await ready(one);
  const told = next(socket, "subscribed");
  const answer = await socket.timeout(patience).emitWithAck("subscribe", { sessionId: two.sessionId, events: ["tool_call"] });
  assert.deepEqual([answer.sessionId, answer.events], [two.sessionId, ["tool_call"]]);
  assert.equal((await told)[0].sessionId, two.sessionId);
  assert.match((await socket.timeout(patience).emitWithAck("subscribe", { sessionId: foreign.sessionId })).message, /Session not found/);
  const done = within(new Promise((resolve) => socket.on("tool_call", (p) => p.status === "done" && resolve(p))), "tool_call");
  let unwanted = 0;
  socket.on("reasoning", () => unwanted++);
  await say(foreign, '/tool search_twins {"type":"device"}');
  await say(two, '/tool search_twins {"type":"device"}');
  assert.equal((await done).sessionId, two.sessionId);
  assert.equal(unwanted, 0);
});

scenario("status counts the caller's connections only", async () => {
  const hers = await newSession();
  const tabs = [await ready(hers), await ready(hers), await ready(await newSession(hers.user))];
  await ready(await newSession());
  const status = await tabs[0].timeout(patience).emitWithAck("status");
  assert.deepEqual([status.activeSessions, status.totalConnections], [2, 3]);
});

scenario("a deleted session tells its sockets and disconnects them", async () => {
  const session = await newSession();
  const other = await newSession(session.user);
  const [socket, stays] = [await ready(session), await ready(other)];
  const left = next(socket, "disconnect");
  const kept = quiet(stays, "disconnect", 200);
  assert.equal((await ask(session.user, `/sessions/${session.sessionId}`, "DELETE")).status, 200);
  assert.equal((await left)[0], "io server disconnect");
  assert.equal(socket.active, false);
  await kept;
});

scenario("bad payloads are answered and the client stays", async () => {
  const socket = await ready(await newSession());
  const [problem] = await Promise.all([next(socket, "exception"), socket.emit("tool_result")]);
  assert.deepEqual(problem[0].cause, { pattern: "tool_result" });
  assert.equal((await socket.timeout(patience).emitWithAck("tool_result", { toolCallId: "tc-no", result: 1 })).success, false);
  assert.equal((await socket.timeout(patience).emitWithAck("action_call_result", { toolCallId: "tc-no", result: new Uint8Array(3) })).status, "error");
  assert.ok(socket.connected);
});

await play();
