// The published client of AG-UI against POST /ag-ui. It checks the form and the
// order of every event by itself and fails a run that breaks them; what it says of
// a deviation that it mends is a failure here, too.
import assert from "node:assert/strict";
import { HttpAgent } from "@ag-ui/client";
import { newProxy } from "./kit/proxy.mjs";
import { cleanup, play, scenario, until, within } from "./kit/run.mjs";

const url = process.env.URL;
const credentials = JSON.parse(process.env.CREDENTIALS); // headers of two users
const { say: sayTool, name: toolName } = JSON.parse(process.env.TOOL); // what has a tool of the server called, and its name
const { CONFIRM: sayConfirm } = process.env; // the same of one that changes something; nothing without one

let threads = 0;
const newThread = () => `thread ${process.pid} ${++threads}`;
const user = (content) => ({ id: crypto.randomUUID(), role: "user", content });
const tool = (toolCallId, content) => ({ id: crypto.randomUUID(), role: "tool", toolCallId, content });

// talk opens a thread. What the client grumbles about fails the scenario.
function talk({ threadId = newThread(), who = 0, base = url, messages = [] } = {}) {
  const agent = new HttpAgent({ url: `${base}/ag-ui`, headers: credentials[who], threadId, initialMessages: messages });
  const warn = console.warn;
  const grumbles = [];
  console.warn = (...args) => grumbles.push(args.join(" "));
  cleanup(() => {
    console.warn = warn;
    assert.deepEqual(grumbles, []);
  });
  return agent;
}

// run runs an agent and gives what happened.
async function run(agent, parameters = {}) {
  const told = { events: [], text: "" };
  const running = agent.runAgent(parameters, {
    onEvent: ({ event }) => void told.events.push(event),
    onTextMessageContentEvent: ({ event }) => void (told.text += event.delta),
    onRunFinishedEvent: ({ outcome, pendingToolCallIds }) => void Object.assign(told, { outcome, pending: pendingToolCallIds }),
    onRunErrorEvent: ({ event }) => void (told.error = event),
    onRunStartedEvent: ({ event }) => void (told.started = event),
    onMessagesSnapshotEvent: ({ event }) => void (told.snapshot = event.messages),
  });
  told.over = within(running, "end of the run");
  return told;
}

async function whole(agent, parameters) {
  const told = await run(agent, parameters);
  Object.assign(told, await told.over);
  return told;
}

const types = (told) => told.events.map((e) => e.type).filter((type, i, all) => type !== all[i - 1]);
const roles = (agent) => agent.messages.map((m) => m.role);

async function ask(path, { method = "GET", body, who = 0 } = {}) {
  const answer = await fetch(url + path, {
    method,
    headers: { ...credentials[who], "Content-Type": "application/json" },
    body: body && JSON.stringify(body),
  });
  return { status: answer.status, body: await answer.json() };
}

scenario("an answer, and the next one in the same thread", async () => {
  const agent = talk();
  agent.addMessage(user("/echo jambo dunia"));
  const first = await whole(agent);
  assert.equal(first.text, "jambo dunia");
  assert.equal(first.outcome, "success");
  assert.deepEqual(types(first), ["RUN_STARTED", "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END", "RUN_FINISHED"]);
  assert.equal(first.started.threadId, agent.threadId);
  assert.equal(first.newMessages[0].content, "jambo dunia");
  agent.addMessage(user("/echo asante"));
  const second = await whole(agent);
  assert.equal(second.text, "asante");
  const { sessionId } = second.started.metadata.hearth;
  assert.equal(sessionId, first.started.metadata.hearth.sessionId);
  const { body } = await ask(`/messages/${sessionId}`);
  assert.deepEqual(body.messages.map((m) => m.content), ["/echo jambo dunia", "jambo dunia", "/echo asante", "asante"]);
});

scenario("reasoning is told apart from the answer", async () => {
  const agent = talk();
  agent.addMessage(user("/think of a stove"));
  const told = await whole(agent);
  assert.equal(told.outcome, "success");
  assert.deepEqual(roles(agent), ["user", "reasoning", "assistant"]);
});

scenario("a tool of the server: call, arguments, result, answer", async () => {
  const agent = talk();
  agent.addMessage(user(sayTool));
  const told = await whole(agent);
  assert.equal(told.outcome, "success");
  assert.deepEqual(told.pending, []);
  const call = agent.messages.find((m) => m.toolCalls).toolCalls[0];
  assert.equal(call.function.name, toolName);
  assert.equal(typeof JSON.parse(call.function.arguments), "object");
  const result = agent.messages.find((m) => m.role === "tool");
  assert.equal(result.toolCallId, call.id);
  assert.notEqual(told.text, "");
});

const tools = [
  {
    name: "pick_color",
    description: "Lets the user pick a color.",
    parameters: { type: "object", properties: { shade: { type: "string" } } },
  },
];

scenario("a tool of the client ends the run, and the next run brings its result", async () => {
  const agent = talk();
  agent.addMessage(user('/tool pick_color {"shade":"dark"}'));
  const first = await whole(agent, { tools });
  assert.equal(first.outcome, "success");
  const call = agent.messages.at(-1).toolCalls[0];
  assert.deepEqual(first.pending, [call.id]);
  assert.deepEqual([call.function.name, JSON.parse(call.function.arguments)], ["pick_color", { shade: "dark" }]);
  agent.addMessage(tool(call.id, '{"color":"navy"}'));
  const second = await whole(agent, { tools });
  assert.match(second.text, /navy/);
  assert.deepEqual(second.pending, []);
  assert.deepEqual(roles(agent), ["user", "assistant", "tool", "assistant"]);
  // Another page that opens the thread sees the same.
  const again = talk({ threadId: agent.threadId });
  await whole(again);
  assert.deepEqual(roles(again), ["user", "assistant", "tool", "assistant"]);
  assert.equal(again.messages[2].content, '{"color":"navy"}');
});

scenario("a tool with the name of one of the server's is refused", async () => {
  const agent = talk();
  agent.addMessage(user("/echo hello"));
  const told = await run(agent, { tools: [{ name: toolName, description: "mine" }] });
  await assert.rejects(told.over, (error) => error.status === 400 && /tools\.0\.name is taken/.test(JSON.stringify(error.payload)));
});

scenario("an error of the run", async () => {
  const agent = talk();
  agent.addMessage(user("/fail rate_limit"));
  const told = await whole(agent);
  assert.equal(types(told).at(-1), "RUN_ERROR");
  assert.notEqual(told.error.message, "");
  assert.equal(told.error.code, "rate_limit");
  agent.addMessage(user("/echo and on"));
  assert.equal((await whole(agent)).text, "and on");
});

scenario("abort at the server: the stream ends as cancelled", async () => {
  const agent = talk();
  agent.addMessage(user("/slow 20ms 5000"));
  const told = await run(agent);
  await until(() => told.text.includes("word3"), "words");
  const { sessionId } = told.started.metadata.hearth;
  assert.deepEqual((await ask("/messages/abort", { method: "POST", body: { sessionId }, who: 1 })).body, { success: false });
  assert.deepEqual((await ask("/messages/abort", { method: "POST", body: { sessionId } })).body, { success: true });
  await told.over;
  assert.equal(told.outcome, "cancelled");
  assert.match(agent.messages.at(-1).content, /^word1 word2 word3/);
});

// gone waits until no run is at work in a session.
async function gone(sessionId) {
  let free = false;
  const look = async () => {
    free = (await ask(`/sessions/${sessionId}/run`)).body.run === null;
    if (!free) setTimeout(look, 20);
  };
  await look();
  await until(() => free, "end of the run");
}

scenario("abort by the client: the run goes on, or ends with it when it is told to", async () => {
  for (const abortOnDisconnect of [false, true]) {
    const agent = talk();
    agent.addMessage(user(abortOnDisconnect ? "/slow 20ms 5000" : "/slow 10ms 100"));
    const told = await run(agent, { forwardedProps: { abortOnDisconnect } });
    await until(() => told.text.includes("word3"), "words");
    agent.abortRun();
    await told.over;
    const { sessionId } = told.started.metadata.hearth;
    await gone(sessionId);
    const { body } = await ask(`/messages/${sessionId}`);
    assert.equal(body.messages[1].aborted === true, abortOnDisconnect);
    assert.equal(/word100$/.test(body.messages[1].content), !abortOnDisconnect);
  }
});

scenario("rejoin: after a cut the thread is read again, whole and once", async () => {
  const proxy = await newProxy(url);
  // The client cancels the reader of a broken connection and throws what that gives, where nobody can catch it.
  const ignore = (error) => assert.equal(error.message, "terminated");
  process.on("unhandledRejection", ignore);
  cleanup(() => process.off("unhandledRejection", ignore));
  const agent = talk({ base: proxy.url });
  const question = user("/slow 20ms 100");
  agent.addMessage(question);
  const told = await run(agent, { runId: "first" });
  await until(() => told.text.includes("word5"), "words");
  proxy.cut();
  await assert.rejects(told.over);
  assert.equal(roles(agent).at(-1), "assistant"); // a part of the answer is there
  const again = await whole(agent);
  assert.equal(again.snapshot[0].content, question.content);
  assert.equal(again.outcome, "success");
  const words = Array.from({ length: 100 }, (_, i) => `word${i + 1}`).join(" ");
  assert.deepEqual(agent.messages.map((m) => [m.role, m.content]), [["user", question.content], ["assistant", words]]);
  // The same run under its own name, by a page that has nothing of it.
  const other = talk({ threadId: agent.threadId, messages: [question] });
  await whole(other, { runId: "first" });
  assert.deepEqual(other.messages.map((m) => [m.role, m.content]), [["user", question.content], ["assistant", words]]);
});

scenario("a thread of somebody else is a new one", async () => {
  const mine = talk();
  mine.addMessage(user("/echo secret"));
  const { sessionId } = (await whole(mine)).started.metadata.hearth;
  for (const threadId of [mine.threadId, sessionId]) {
    const theirs = talk({ threadId, who: 1 });
    const told = await whole(theirs);
    assert.deepEqual(told.snapshot, []);
    assert.notEqual(told.started.metadata.hearth.sessionId, sessionId);
  }
});

if (sayConfirm) {
  const confirm = [{ name: "confirm_tool_call", description: "Asks the user whether a tool may run." }];

  for (const confirmed of [true, false]) {
    scenario(`a question to the user is a call of the client's tool: ${confirmed}`, async () => {
      const agent = talk();
      agent.addMessage(user(sayConfirm));
      const first = await whole(agent, { tools: confirm });
      const call = agent.messages.flatMap((m) => m.toolCalls ?? []).find((c) => c.function.name === "confirm_tool_call");
      assert.deepEqual(first.pending, [call.id]);
      assert.equal(JSON.parse(call.function.arguments).status, "waiting");
      agent.addMessage(tool(call.id, JSON.stringify({ confirmed })));
      const second = await whole(agent, { tools: confirm });
      assert.equal(second.outcome, "success");
      assert.deepEqual(second.pending, []);
      const result = agent.messages.findLast((m) => m.role === "tool");
      assert.match(result.content, confirmed ? /burnt/ : /refused/);
    });
  }

  scenario("a question to the user is an event for clients without the tool", async () => {
    const agent = talk();
    agent.addMessage(user(sayConfirm));
    const told = await run(agent);
    const question = await until(() => told.events.find((e) => e.type === "CUSTOM" && e.name === "confirm_tool_call"), "question");
    const { runId, callId } = question.value;
    const { status } = await ask(`/runs/${runId}/confirmations/${callId}`, { method: "POST", body: { confirmed: true } });
    assert.equal(status, 200);
    await told.over;
    assert.equal(told.outcome, "success");
    assert.match(agent.messages.find((m) => m.role === "tool").content, /burnt/);
  });
}

await play();
