// The published React SDK in a page, against the server: what a user of an
// existing oracle client does.
import assert from "node:assert/strict";
import { createElement } from "react";
import { z } from "zod";
import { z as z3 } from "zod/v3";
import { open, requests, sdk } from "./kit/browser.mjs";
import { newProxy } from "./kit/proxy.mjs";
import { newUser, oracle } from "./kit/tokens.mjs";
import { play, scenario } from "./kit/run.mjs";

const url = process.env.URL;
const { useAgAction, useChat, useModels, useOraclesContext, useOracleSessions, renderMessageContent } = sdk;
const ignore = () => {};

// ask calls the server with what the SDK gives apps for that. An error is the
// SDK's, with the status that the body names.
async function ask(page, path, method = "GET", body) {
  try {
    return await page.now.context.authedRequest(url + path, method, body && { body: JSON.stringify(body) }, oracle);
  } catch (error) {
    return { failed: error.status ?? String(error), message: error.message };
  }
}

const openPlain = (user, options) => open(user, () => ({ context: useOraclesContext() }), options);

async function newSession(user) {
  const page = await openPlain(user);
  const { sessionId } = await ask(page, "/sessions", "POST");
  assert.match(sessionId, /^\$/);
  page.close();
  return sessionId;
}

// openChat shows a session. What is shown is what an app would show.
async function openChat(user, sessionId, { hooks = ignore, invocations, ...options } = {}) {
  const page = await open(
    user,
    () => {
      hooks();
      const context = useOraclesContext();
      const chat = useChat({ oracleDid: oracle, sessionId, onPaymentRequiredError: ignore, ...options });
      const shown = chat.messages.map((m) => createElement("p", { key: m.id, "data-type": m.type }, renderMessageContent(m.content, options.uiComponents)));
      return { context, chat, shown };
    },
    { invocations },
  );
  await page.until(({ chat }) => chat.isConfigReady && !chat.isLoading, "history");
  return page;
}

const online = (page) => page.until(({ chat }) => chat.isRealTimeConnected, "socket");
const idle = (page) => page.until(({ chat }) => chat.status === "ready" && !chat.isSending, "end of the run");

// talk is what was said: [type, text] of each message but the thoughts.
const talk = ({ chat }) => chat.messages.filter((m) => !m.isReasoning).map((m) => [m.type, m.content]);

const words = (n) => Array.from({ length: n }, (_, i) => `word${i + 1}`).join(" ");

// spoken waits until the answer has so many words while it still comes.
const spoken = (page, n) => page.until(({ chat }) => chat.messages.some((m) => m.type === "ai" && String(m.content).includes(`word${n}`)), `word${n}`);

scenario("sessions: create, list in pages, delete", async () => {
  const page = await open(await newUser(), () => ({ list: useOracleSessions(oracle, { limit: 2 }) }));
  await page.until(({ list }) => list.isConfigReady && !list.isLoading, "empty list");
  assert.deepEqual([page.now.list.sessions, page.now.list.total, page.now.list.error], [[], 0, null]);
  const made = [];
  for (let i = 0; i < 3; i++) {
    const one = await page.now.list.createSession();
    for (const name of ["sessionId", "title", "createdAt", "lastUpdatedAt", "oracleName"]) assert.equal(typeof one[name], "string", name);
    made.unshift(one.sessionId);
  }
  const ids = ({ list }) => list.sessions.map((s) => s.sessionId);
  await page.until(({ list }) => list.total === 3 && list.sessions.length === 2 && list.hasNextPage, "first page of three");
  await page.now.list.fetchNextPage();
  await page.until(({ list }) => list.sessions.length === 3 && !list.hasNextPage, "second page");
  assert.deepEqual(ids(page.now), made);
  await page.now.list.deleteSession(made[1]);
  await page.until(({ list }) => list.total === 2, "one less");
  assert.deepEqual(ids(page.now), [made[0], made[2]]);
  await assert.rejects(page.now.list.deleteSession(made[1]), (error) => error.status === 404);
});

scenario("models: the catalogue, without a token", async () => {
  const page = await open(await newUser(), () => ({ models: useModels(oracle) }));
  const found = await page.until(({ models }) => models.defaultModel, "default model");
  for (const name of ["id", "label", "family", "tier", "costLabel", "badge", "blurb"]) assert.equal(typeof found[name], "string", name);
  assert.equal(page.now.models.error, null);
  assert.equal(requests.findLast((r) => r.url.endsWith("/models")).headers.get("authorization"), null);
  const user = await newUser();
  const chat = await openChat(user, await newSession(user), { model: found.id });
  await chat.now.chat.sendMessage("/echo with a model");
  await chat.until((now) => talk(now).length === 2, "answer");
  assert.deepEqual(talk(chat.now)[1], ["ai", "with a model"]);
});

scenario("chat: an answer streams, then stands in the history", async () => {
  const user = await newUser();
  const sessionId = await newSession(user);
  const page = await openChat(user, sessionId);
  assert.deepEqual(page.now.chat.messages, []);
  const sent = page.now.chat.sendMessage("/slow 15ms 60", { spaceId: "!space:matrix.example" });
  await page.until(({ chat }) => chat.messages.some((m) => m.isReasoning), "thought at once");
  await spoken(page, 5);
  assert.equal(page.now.chat.status, "streaming");
  assert.equal(page.now.chat.isSending, true);
  assert.ok(!talk(page.now).at(-1)[1].includes("word60"), "it comes in parts");
  assert.match(page.now.chat.run.runId, /./);
  await sent;
  await idle(page);
  assert.deepEqual([page.now.chat.run.ended, page.now.chat.run.resumed, page.now.chat.error], ["done", 0, null]);
  await page.until((now) => now.chat.messages.length === 2, "history");
  assert.deepEqual(talk(page.now), [["human", "/slow 15ms 60"], ["ai", words(60)]]);
  const again = await openChat(user, sessionId);
  await again.until(({ chat }) => chat.messages.length > 0, "history of another page");
  assert.deepEqual(again.now.chat.messages, page.now.chat.messages, "another page shows the same");
  const { sessions } = await ask(page, "/sessions");
  assert.notEqual(sessions[0].title, "Untitled");
});

scenario("chat: thoughts, failures and attachments reach the page", async () => {
  const user = await newUser();
  const uiComponents = {
    ToolCall: ({ toolName, status }) => createElement("b", null, `${toolName} ${status}`),
    Error: ({ output, payload }) => createElement("i", null, `${payload.kind}: ${output}`),
  };
  const page = await openChat(user, await newSession(user), { uiComponents });
  let thought = "";
  const sent = page.now.chat.sendMessage("/think deep thoughts");
  await page.until(({ chat }) => {
    thought = chat.messages.find((m) => m.isReasoning)?.content ?? thought;
    return thought.includes("deep thoughts");
  }, "the thoughts of the model");
  await sent;
  let failure = "";
  const failed = page.now.chat.sendMessage("/fail rate_limit");
  await page.until(() => (failure = page.place.querySelector("i")?.textContent), "the failure");
  assert.match(failure, /^rate_limit: ./);
  await failed;
  await idle(page);
  assert.equal(page.now.chat.run.ended, "failed");
  const attachments = [{ eventId: "$file", filename: "field.jpg", mimetype: "image/jpeg", size: 3 }];
  await page.now.chat.sendMessage("/echo all good", undefined, attachments);
  await page.until((now) => talk(now).at(-1)[1] === "all good" && now.chat.messages.at(-2).attachments?.length === 1, "the next answer");
  assert.equal(page.now.chat.messages.at(-2).attachments[0].filename, "field.jpg");
});

scenario("chat: a delegation alone is enough", async () => {
  const user = await newUser();
  const sessionId = (await ask(await openPlain(user, { invocations: false }), "/sessions", "POST")).sessionId;
  const page = await openChat(user, sessionId, { invocations: false });
  await online(page);
  await page.now.chat.sendMessage("/echo hello");
  await page.until((now) => talk(now).length === 2, "answer");
  const sent = requests.findLast((r) => r.method === "POST" && r.url.includes("/messages/"));
  assert.deepEqual([sent.headers.has("x-ucan-delegation"), sent.headers.has("authorization")], [true, false]);
});

scenario("history: pages of turns, oldest first, and the newest appended", async () => {
  const user = await newUser();
  const sessionId = await newSession(user);
  const plain = await openPlain(user);
  for (let i = 1; i <= 5; i++) await ask(plain, `/messages/${sessionId}`, "POST", { message: `/echo turn ${i}` });
  const turns = (from, to) => Array.from({ length: to - from + 1 }, (_, i) => [["human", `/echo turn ${from + i}`], ["ai", `turn ${from + i}`]]).flat();
  const page = await openChat(user, sessionId, { historyPageSize: 2 });
  await page.until((now) => talk(now).length === 4, "newest page");
  assert.deepEqual(talk(page.now), turns(4, 5));
  assert.equal(page.now.chat.hasEarlier, true);
  await page.now.chat.loadEarlier();
  await page.until((now) => talk(now).length === 8, "second page");
  assert.deepEqual(talk(page.now), turns(2, 5));
  await page.now.chat.sendMessage("/echo turn 6");
  await page.until((now) => talk(now).length === 10 && now.chat.status === "ready", "the new turn");
  assert.deepEqual(talk(page.now), turns(2, 6));
  await page.now.chat.loadEarlier();
  await page.until((now) => talk(now).length === 12, "all pages");
  assert.deepEqual(talk(page.now), turns(1, 6));
  assert.equal(page.now.chat.hasEarlier, false);
  assert.equal(new Set(page.now.chat.messages.map((m) => m.id)).size, 12);
  const whole = await ask(plain, `/messages/${sessionId}`);
  assert.deepEqual(whole.messages.map((m) => m.id), page.now.chat.messages.map((m) => m.id), "the older route shows the same");
});

scenario("abort: the answer stops for all pages and its part is kept", async () => {
  const user = await newUser();
  const sessionId = await newSession(user);
  const page = await openChat(user, sessionId);
  const sent = page.now.chat.sendMessage("/slow 20ms 2000");
  await spoken(page, 5);
  const second = await openChat(user, sessionId);
  await spoken(second, 6);
  // The SDK trips when the end of the stream overtakes the answer to its abort.
  await page.now.chat.abortStream().catch((error) => assert.match(error.message, /reading 'abort'/));
  await sent;
  await Promise.all([idle(page), idle(second)]);
  assert.equal(second.now.chat.run.ended, "aborted");
  assert.deepEqual(await ask(page, `/sessions/${sessionId}/run`), { run: null });
  await page.until(({ chat }) => chat.messages.length === 2, "history");
  const part = talk(page.now)[1][1].trim();
  assert.ok(part.startsWith(words(6)) && words(2000).startsWith(part) && part.length < words(1000).length, part);
  await second.until(({ chat }) => chat.messages.length === 2 && !chat.messages[1].isReasoning, "history of the second");
  assert.deepEqual(talk(second.now), talk(page.now));
  assert.deepEqual(await ask(page, "/messages/abort", "POST", { sessionId }), { success: false });
});

scenario("resume: after cuts the answer goes on where it was", async () => {
  const proxy = await newProxy(url);
  const user = await newUser();
  const sessionId = await newSession(user);
  const page = await openChat(user, sessionId, { overrides: { baseUrl: proxy.url, wsUrl: url } });
  const sent = page.now.chat.sendMessage("/slow 20ms 180");
  await spoken(page, 10);
  proxy.cut();
  await page.until(({ chat }) => chat.run.reconnecting, "a cut that is noticed");
  await page.until(({ chat }) => !chat.run.reconnecting, "a connection made again");
  await spoken(page, 60);
  proxy.fail();
  await page.until(({ chat }) => chat.run.reconnecting, "a second cut");
  setTimeout(proxy.heal, 1300); // the SDK tries after 1 s, in vain, and after 2 s more
  let whole = "";
  await page.until((now) => {
    whole = talk(now).findLast(([type]) => type === "ai")?.[1] ?? "";
    return whole.includes("word180");
  }, "the last word");
  assert.equal(whole.trim(), words(180), "nothing lost, nothing twice");
  await sent;
  await idle(page);
  assert.equal(page.now.chat.run.ended, "done");
  await page.until(({ chat }) => chat.messages.length === 2, "history");
  assert.deepEqual(talk(page.now)[1], ["ai", words(180)]);
  const joins = requests.filter((r) => r.url.startsWith(`${proxy.url}/runs/`)).map((r) => Number(new URL(r.url).searchParams.get("after")));
  assert.ok(joins.length >= 3 && joins[0] > 5 && joins.at(-1) > joins[0], `joined after ${joins}`);
});

scenario("resume: a page that is loaded while an answer comes joins it", async () => {
  const user = await newUser();
  const sessionId = await newSession(user);
  const first = await openChat(user, sessionId);
  const sent = first.now.chat.sendMessage("/slow 20ms 150");
  await spoken(first, 10);
  const second = await openChat(user, sessionId);
  await spoken(second, 20);
  assert.equal(second.now.chat.status, "streaming");
  assert.equal(second.now.chat.run.runId, first.now.chat.run.runId);
  await spoken(second, 150);
  assert.equal(talk(second.now).findLast(([type]) => type === "ai")[1].trim(), words(150));
  await sent;
  await idle(second);
  assert.equal(second.now.chat.run.ended, "done");
  await second.until((now) => now.chat.messages.length === 2, "history");
  assert.deepEqual(talk(second.now), [["human", "/slow 20ms 150"], ["ai", words(150)]]);
});

scenario("resume: a page that is closed does not stop the answer", async () => {
  const proxy = await newProxy(url);
  const user = await newUser();
  const sessionId = await newSession(user);
  const page = await openChat(user, sessionId, { overrides: { baseUrl: proxy.url, wsUrl: proxy.url } });
  page.now.chat.sendMessage("/slow 10ms 60").catch(ignore);
  await spoken(page, 3);
  proxy.fail();
  page.close();
  const later = await openChat(user, sessionId);
  await later.until(({ chat }) => chat.status === "ready" && chat.messages.length === 2, "the whole answer");
  assert.deepEqual(talk(later.now)[1], ["ai", words(60)]);
});

scenario("browser tools: called in the page, answers go back to the model", async () => {
  const user = await newUser();
  const calls = [];
  const tool = (toolName, schema, fn) => ({ toolName, description: `Does ${toolName}`, schema, fn });
  const browserTools = {
    double: tool("double", z3.object({ n: z3.number() }), async ({ n }) => (calls.push(n), { doubled: n * 2 })),
    typeless: tool("typeless", z.object({ who: z.string() }), async ({ who }) => `hello ${who}`),
    broken: tool("broken", z.object({}), async () => {
      throw new Error("the page is blank");
    }),
  };
  const uiComponents = { ToolCall: ({ toolName, status, output }) => createElement("b", null, `${toolName} ${status} ${output ?? ""}`), Error: () => null };
  const page = await openChat(user, await newSession(user), { browserTools, uiComponents });
  await online(page);
  const say = async (text, answer) => {
    const turns = page.now.chat.messages.filter((m) => m.type === "human").length;
    await page.now.chat.sendMessage(text);
    await idle(page);
    const last = ({ chat }) => [chat.messages.at(-1).content].flat().filter((part) => typeof part === "string").join("");
    await page.until((now) => now.chat.messages.filter((m) => m.type === "human").length === turns + 1 && answer.test(last(now)), `answer like ${answer}`);
  };
  await say('/tool double {"n":21}', /double answered:[^]*"doubled":42/);
  assert.deepEqual(calls, [21]);
  assert.match(page.place.textContent, /double done/);
  await say('/tool typeless {"who":"world"}', /hello world/);
  await say("/tool broken {}", /broken failed: [^]*the page is blank/);
  await say('/tools [{"name":"double","args":{"n":1}},{"name":"double","args":{"n":2}},{"name":"typeless","args":{"who":"two"}}]', /"doubled":2\b[^]*"doubled":4\b[^]*hello two/);
  await say('/tool double {"n":"many"}', /double failed/);
  assert.deepEqual(calls.sort(), [1, 2, 21], "arguments that do not fit the schema never reach the page");
  const history = page.now.chat.messages.flatMap((m) => m.toolCalls ?? []);
  assert.ok(history.some((c) => c.name === "double" && c.status === "done" && /42/.test(c.output)), JSON.stringify(history));
});

scenario("actions: handled in the page, with a component", async () => {
  const user = await newUser();
  const seen = { args: [], renders: [] };
  const hooks = () => {
    useAgAction({
      name: "show_table",
      description: "Shows a table",
      parameters: z.object({ title: z.string(), rows: z.array(z.number()) }),
      handler: async (args) => (seen.args.push(args), { success: true, rowCount: args.rows.length }),
      render: (props) => (seen.renders.push(props), null),
    });
    useAgAction({ name: "refuse", description: "Refuses", parameters: z.object({}), handler: async () => Promise.reject(new Error("not today")) });
  };
  const uiComponents = {
    ToolCall: () => null,
    Error: () => null,
    AgActionToolCall: ({ actionName, status }) => createElement("u", null, `${actionName} ${status}`),
    show_table: ({ title, rows, status }) => createElement("em", null, `${title} ${rows} ${status}`),
  };
  const page = await openChat(user, await newSession(user), { hooks, uiComponents });
  await online(page);
  await page.until(({ context }) => context.agActions.length === 2, "actions");
  const components = new Set();
  const marks = new Set();
  const watch = page.until(() => {
    for (const c of page.place.querySelectorAll("em")) components.add(c.textContent);
    for (const u of page.place.querySelectorAll("u")) marks.add(u.textContent);
    return components.has("Trees 1,2,3 done") && marks.has("show_table done");
  }, () => `component; components ${[...components]}, marks ${[...marks]}`);
  await page.now.chat.sendMessage('/tool show_table {"title":"Trees","rows":[1,2,3]}');
  await idle(page);
  await watch;
  assert.deepEqual(seen.args, [{ title: "Trees", rows: [1, 2, 3] }], "handled once");
  assert.deepEqual(seen.renders.at(-1), { status: "done", args: { title: "Trees", rows: [1, 2, 3] } });
  const answers = ({ chat }) => chat.messages.filter((m) => m.type === "ai").flatMap((m) => m.content).filter((part) => typeof part === "string").join("\n");
  await page.until((now) => /show_table answered:[^]*"rowCount":3/.test(answers(now)), "answer of the model");
  await page.now.chat.sendMessage("/tool refuse {}");
  await page.until((now) => /refuse failed: [^]*not today/.test(answers(now)), "failure told to the model");
});

scenario("two pages of a session: what one says the other shows", async () => {
  const user = await newUser();
  const sessionId = await newSession(user);
  const [one, two] = [await openChat(user, sessionId), await openChat(user, sessionId)];
  await Promise.all([online(one), online(two)]);
  await one.now.chat.sendMessage("/echo news");
  await two.until((now) => talk(now).length === 2, "the news");
  assert.deepEqual(talk(two.now), [["human", "/echo news"], ["ai", "news"]]);
  await two.now.chat.sendMessage("/echo more");
  await one.until((now) => talk(now).length === 4, "the rest");
});

scenario("delegation: given, looked at, taken back", async () => {
  const [user, other] = [await newUser(), await newUser()];
  const page = await openPlain(user);
  assert.deepEqual(await ask(page, "/delegation"), { authorized: false });
  const expiration = Math.floor(Date.now() / 1000) + 3600;
  const raw = await user.delegation({ ttl: 3600 });
  const given = await ask(page, "/delegation", "POST", { raw });
  assert.equal(given.ok, true);
  assert.ok(Math.abs(given.expiration - expiration) <= 2, `expiry comes from the token: ${given.expiration}`);
  assert.deepEqual(await ask(page, "/delegation"), { authorized: true, expiration: given.expiration });
  const stranger = await openPlain(other);
  assert.deepEqual(await ask(stranger, "/delegation"), { authorized: false }, "another user's");
  for (const bad of [{ raw: "not-a-ucan" }, { raw: await other.delegation() }, { raw: await user.delegation({ audience: other.did }) }, { raw: "" }, {}, { raw, issuer: other.did }, { raw, audience: other.did }]) {
    assert.equal((await ask(page, "/delegation", "POST", bad)).failed, 400, JSON.stringify(bad));
  }
  assert.deepEqual(await ask(page, "/delegation", "DELETE"), { ok: true });
  assert.deepEqual(await ask(page, "/delegation", "DELETE"), { ok: true });
  assert.deepEqual(await ask(page, "/delegation"), { authorized: false });
});

scenario("two users: nothing of one is the other's", async () => {
  const [alice, bob] = [await newUser(), await newUser()];
  const sessionId = await newSession(alice);
  const hers = await openChat(alice, sessionId);
  await hers.now.chat.sendMessage("/echo a secret");
  await hers.until((now) => talk(now).length === 2, "her history");
  const sent = hers.now.chat.sendMessage("/slow 20ms 120");
  await spoken(hers, 3);
  const { runId } = hers.now.chat.run;

  // What his page shows when it is given her session.
  const his = await openChat(bob, sessionId);
  assert.deepEqual(his.now.chat.messages, []);
  assert.equal(his.now.chat.hasEarlier, false);
  await assert.rejects(his.now.chat.sendMessage("/echo mine"), (error) => error.statusCode === 404);
  assert.equal(his.now.chat.status, "error");

  // What an app of his gets.
  for (const [method, path, body, want] of [
    ["GET", "/sessions", undefined, { sessions: [], total: 0 }],
    ["GET", `/messages/${sessionId}`, undefined, { messages: [] }],
    ["GET", `/sessions/${encodeURIComponent(sessionId)}/messages?limit=20`, undefined, 404],
    ["GET", `/sessions/${sessionId}/run`, undefined, 404],
    ["GET", `/runs/${runId}?after=0`, undefined, 404],
    ["POST", `/messages/${sessionId}`, { message: "/echo mine" }, 404],
    ["POST", "/messages/abort", { sessionId }, { success: false }],
    ["DELETE", `/sessions/${sessionId}`, undefined, 404],
  ]) {
    const answer = await ask(his, path, method, body);
    assert.deepEqual(answer.failed ?? answer, want, `${method} ${path}`);
  }
  await his.until(({ chat }) => !chat.isRealTimeConnected, "refused socket");

  // Hers went on.
  await sent;
  await idle(hers);
  assert.equal(hers.now.chat.run.ended, "done");
  await hers.until((now) => now.chat.messages.length === 4, "her history");
  assert.deepEqual(talk(hers.now).at(-1), ["ai", words(120)]);
  assert.equal(his.now.chat.isRealTimeConnected, false);
  assert.doesNotMatch(JSON.stringify(his.now.chat.messages), /secret|word/);
});

await play();
