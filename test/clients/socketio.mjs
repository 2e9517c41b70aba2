// Scenarios with the real socket.io-client against the playground of
// test/suiteserver. Each one makes its own connections.
import assert from "node:assert/strict";
import { io } from "socket.io-client";
import { cleanup, next, patience, play, quiet, scenario, within } from "./kit/run.mjs";

const url = process.env.URL ?? "http://localhost:3000";
const path = "/play/";

function connect(options = {}) {
  const socket = io(url, { path, forceNew: true, reconnectionDelay: 100, reconnectionDelayMax: 200, ...options });
  cleanup(() => socket.disconnect());
  return socket;
}

async function ready(options) {
  const socket = connect(options);
  await next(socket, "connected");
  return socket;
}

const ws = { transports: ["websocket"] };
const polling = { transports: ["polling"] };

for (const [name, options] of [["websocket", ws], ["polling", polling]]) {
  scenario(`${name}: connected event with the query`, async () => {
    const socket = connect({ ...options, query: { sessionId: "s-1", userDid: "did:x" } });
    const [session] = await next(socket, "connected");
    assert.equal(session, "s-1");
    assert.equal(socket.io.engine.transport.name, name);
  });

  scenario(`${name}: acknowledgement with and without arguments`, async () => {
    const socket = await ready(options);
    assert.deepEqual(await socket.timeout(patience).emitWithAck("echo", { a: [1, null, "ü<&>"] }), { a: [1, null, "ü<&>"] });
    assert.equal(await socket.timeout(patience).emitWithAck("silent"), undefined);
  });

  scenario(`${name}: the server asks and gets an answer`, async () => {
    const socket = await ready(options);
    socket.on("question", (text, answer) => answer(text.length, { ok: true }));
    socket.emit("ask-me");
    assert.deepEqual(await next(socket, "answer"), [15, { ok: true }]);
  });

  scenario(`${name}: the server asks in vain and says so`, async () => {
    const socket = await ready(options);
    socket.on("question", () => {});
    socket.emit("ask-me");
    assert.match((await next(socket, "no-answer"))[0], /deadline/);
  });

  scenario(`${name}: nested binary both ways`, async () => {
    const socket = await ready(options);
    const sent = { list: [Buffer.from([1, 2, 3]), "x"], raw: Buffer.alloc(70000, 7), n: 1.5 };
    const echoed = next(socket, "echo");
    const acked = await socket.timeout(patience).emitWithAck("echo", sent);
    assert.deepEqual(acked, sent);
    assert.deepEqual((await echoed)[0], sent);
  });

  scenario(`${name}: 200 KB of unicode`, async () => {
    const socket = await ready(options);
    const text = "żółć 🦊 ".repeat(20000);
    assert.equal(await socket.timeout(patience).emitWithAck("echo", text), text);
  });

  scenario(`${name}: order of many events`, async () => {
    const socket = await ready(options);
    const n = name === "websocket" ? 1000 : 300;
    const seen = [];
    const all = within(new Promise((done) => socket.on("tick", (i) => seen.push(i) === n && done())), `${n} ticks`);
    socket.emit("burst", n);
    await all;
    assert.deepEqual(seen, [...Array(n).keys()]);
  });

  scenario(`${name}: order of many events to the server`, async () => {
    const socket = await ready(options);
    const seen = [];
    const all = within(new Promise((done) => socket.on("echo", (i) => seen.push(i) === 500 && done())), "500 echoes");
    for (let i = 0; i < 500; i++) socket.emit("echo", i);
    await all;
    assert.deepEqual(seen, [...Array(500).keys()]);
  });

  scenario(`${name}: the server disconnects, the client stays away`, async () => {
    for (const event of ["leave-me", "close-me"]) {
      const socket = await ready(options);
      const reason = next(socket, "disconnect");
      socket.emit(event);
      assert.equal((await reason)[0], "io server disconnect", event);
      await quiet(socket, "connect");
    }
  });

  scenario(`${name}: refused after connect, the client stays away`, async () => {
    const socket = connect({ ...options, auth: { refuse: true, slow: 50 } });
    const reason = next(socket, "disconnect");
    await next(socket, "connect");
    socket.emit("echo", "too early");
    assert.equal((await reason)[0], "io server disconnect");
    await quiet(socket, "connect");
  });

  scenario(`${name}: events wait for a slow validation`, async () => {
    const socket = connect({ ...options, auth: { slow: 200 } });
    await next(socket, "connect");
    const order = [];
    socket.onAny((event) => order.push(event));
    await socket.timeout(patience).emitWithAck("echo", 1);
    assert.deepEqual(order, ["connected", "echo"]);
  });

  scenario(`${name}: comes back after a restart of the server`, async () => {
    const socket = await ready(options);
    const reason = next(socket, "disconnect");
    const again = reason.then(() => next(socket, "connected"));
    await fetch(`${url}/restart`, { method: "POST" });
    assert.match((await reason)[0], /^transport (close|error)$/);
    await again;
    assert.equal(await socket.timeout(patience).emitWithAck("echo", "back"), "back");
  });

  scenario(`${name}: too large a message ends the connection`, async () => {
    const socket = await ready({ ...options, reconnection: false });
    const reason = next(socket, "disconnect");
    socket.emit("echo", "x".repeat(1_000_001));
    assert.match((await reason)[0], /^transport (close|error)$/);
  });
}

scenario("polling, then websocket, and nothing is lost", async () => {
  const socket = connect();
  const seen = [];
  socket.on("echo", (i) => seen.push(i));
  await next(socket, "connected");
  const upgraded = socket.io.engine.transport.name === "websocket" ? Promise.resolve() : next(socket.io.engine, "upgrade");
  for (let i = 0; i < 100; i++) {
    socket.emit("echo", i);
    if (i % 10 === 0) await new Promise((r) => setTimeout(r, 2));
  }
  await upgraded;
  assert.equal(socket.io.engine.transport.name, "websocket");
  await socket.timeout(patience).emitWithAck("silent");
  assert.deepEqual(seen, [...Array(100).keys()]);
});

scenario("rooms with mixed transports", async () => {
  const [a, b, c] = await Promise.all([ready(ws), ready(polling), ready(ws)]);
  await a.timeout(patience).emitWithAck("join", "red");
  await b.timeout(patience).emitWithAck("join", "red");
  await c.timeout(patience).emitWithAck("join", "blue");
  const heard = Promise.all([next(a, "said"), next(b, "said")]);
  const not = quiet(c, "said");
  c.emit("say", "red", "hello");
  assert.deepEqual(await heard, [["hello"], ["hello"]]);
  await not;
});

scenario("unknown namespace is a connect_error", async () => {
  const socket = io(`${url}/nowhere`, { path, forceNew: true });
  cleanup(() => socket.disconnect());
  assert.equal((await next(socket, "connect_error"))[0].message, "Invalid namespace");
});

scenario("a client that disconnects and connects again", async () => {
  const socket = await ready(ws);
  const first = socket.id;
  socket.disconnect();
  const again = next(socket, "connected");
  socket.connect();
  await again;
  assert.notEqual(socket.id, first);
});

scenario("a cut connection is made again", async () => {
  const socket = await ready(ws);
  const again = next(socket, "connected");
  socket.io.engine.close();
  await again;
});

scenario("CORS on polling, preflight, and a bad origin", async () => {
  const target = `${url}${path}?EIO=4&transport=polling`;
  const origin = "https://app.example";
  const answer = await fetch(target, { headers: { origin } });
  assert.equal(answer.status, 200);
  assert.equal(answer.headers.get("access-control-allow-origin"), origin);
  const asked = { origin, "access-control-request-method": "POST", "access-control-request-headers": "content-type" };
  const preflight = await fetch(target, { method: "OPTIONS", headers: asked });
  assert.equal(preflight.status, 204);
  assert.match(preflight.headers.get("access-control-allow-methods"), /POST/);
  const evil = await fetch(target, { headers: { origin: "https://evil.example" } });
  assert.equal(evil.status, 403);
  assert.deepEqual(await evil.json(), { code: 4, message: "Forbidden" });
  const bad = connect({ ...ws, reconnection: false, extraHeaders: { origin: "https://evil.example" } });
  await next(bad, "connect_error");
});

await play();
