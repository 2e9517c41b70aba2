// A conversation of ten turns with the example oracle, by the published React SDK
// with a socket.io-client beside it: tools, a sub-agent, questions that are
// answered in the stream and by the page, and an abort.
import assert from "node:assert/strict";
import { io } from "socket.io-client";
import { z } from "zod";
import { open, sdk } from "./kit/browser.mjs";
import { newUser, oracle } from "./kit/tokens.mjs";
import { cleanup, next, play, scenario } from "./kit/run.mjs";

const url = process.env.URL;
const { useAgAction, useChat, useOraclesContext } = sdk;

// openChat shows a session in a page; hooks are those of the app.
async function openChat(user, sessionId, hooks = () => {}) {
  const page = await open(user, () => {
    hooks();
    return { context: useOraclesContext(), chat: useChat({ oracleDid: oracle, sessionId, onPaymentRequiredError: () => {} }) };
  });
  await page.until(({ chat }) => chat.isConfigReady && !chat.isLoading && chat.isRealTimeConnected, "page");
  return page;
}

const ask = (page, path, method = "GET", body) => page.now.context.authedRequest(url + path, method, body && { body: JSON.stringify(body) }, oracle);

const idle = (page) => page.until(({ chat }) => chat.status === "ready" && !chat.isSending, "end of the run");

const texts = ({ chat }) => chat.messages.filter((m) => m.type === "ai" && !m.isReasoning).flatMap((m) => m.content).filter((part) => typeof part === "string");

// say sends a message and waits until the answer stands in the history.
async function say(page, text, want) {
  await page.now.chat.sendMessage(text);
  await idle(page);
  await page.until((now) => want.test(texts(now).join("\n")), () => `${want} in ${texts(page.now)}`);
}

// agent is a message that has the sub-agent do something.
const agent = (task) => `/tool call_stove-care_agent ${JSON.stringify({ task })}`;
const callBack = (phone) => agent(`/tool ask_for_call ${JSON.stringify({ phone })}`);

// question is the one that the run of a page waits for.
async function question(page) {
  for (;;) {
    const { runId } = page.now.chat.run ?? {};
    if (runId) {
      const { confirmations } = await ask(page, `/runs/${runId}/confirmations`);
      if (confirmations.length > 0) return confirmations[0];
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

// decide sends a message whose tool asks, and answers.
async function decide(page, text, confirmed, want) {
  const answered = say(page, text, want);
  const q = await question(page);
  assert.equal(q.tool, "ask_for_call");
  await ask(page, `/runs/${q.runId}/confirmations/${q.callId}`, "POST", { confirmed });
  await answered;
  return q;
}

scenario("ten turns with tools, a sub-agent, questions and an abort", async () => {
  const user = await newUser();
  const plain = await open(user, () => ({ context: useOraclesContext() }));
  const { sessionId } = await ask(plain, "/sessions", "POST");
  const socket = io(url, { query: { sessionId }, auth: { invocation: await user.invocation() }, transports: ["websocket"], forceNew: true });
  cleanup(() => socket.disconnect());
  await next(socket, "connected");
  const heard = [];
  socket.on("router_update", ({ step }) => heard.push(step));
  socket.on("tool_call", ({ toolName, status, agent: by }) => heard.push(`${toolName} ${status} ${by ?? "-"}`));

  const page = await openChat(user, sessionId);
  await say(page, "/echo one", /^one$/m); // 1
  await say(page, "/tool list_capabilities {}", /help-desk/); // 2
  await say(page, '/tool load_capability {"names":["help-desk"]}', /call_stove-care_agent/); // 3
  await say(page, "/tool help_desk_hours {}", /\+254700000009/); // 4
  heard.length = 0;
  await say(page, agent("/tool help_desk_hours {}"), /call_stove-care_agent answered:[^]*\+254700000009/); // 5
  assert.deepEqual(heard, [
    "stove-care_agent", "call_stove-care_agent isRunning -", "help_desk_hours isRunning stove-care_agent", "help_desk_hours done stove-care_agent",
    "call_stove-care_agent done -", "main_agent",
  ]);
  await decide(page, callBack("+254 700 000 001"), false, /The user refused this call/); // 6
  const q = await decide(page, callBack("+254 700 000 002"), true, /will call \+254700000002/); // 7
  assert.deepEqual(q.arguments, { phone: "+254700000002" }, "the user is asked about what is really called");
  page.close();

  // From here on the page asks by itself, over its socket.
  const asked = [];
  const second = await openChat(user, sessionId, () =>
    useAgAction({
      name: "confirm_tool_call",
      description: "Asks whether a tool may run",
      parameters: z.object({ tool: z.string(), arguments: z.object({ phone: z.string() }) }),
      handler: async (args) => (asked.push(args.arguments.phone), args.arguments.phone.endsWith("4") ? new Promise(() => {}) : { confirmed: true }),
      render: () => null,
    }),
  );
  await second.until(({ context }) => context.agActions.length === 1, "action");
  await say(second, callBack("+254700000003"), /will call \+254700000003/); // 8
  const sent = second.now.chat.sendMessage(callBack("+254700000004")); // 9
  const open9 = await question(second);
  await second.now.chat.abortStream().catch((error) => assert.match(error.message, /reading 'abort'/));
  await sent;
  await idle(second);
  await assert.rejects(ask(second, `/runs/${open9.runId}/confirmations/${open9.callId}`, "POST", { confirmed: true }), (error) => error.status === 409);
  await say(second, "/echo ten", /^ten$/m); // 10
  assert.deepEqual(asked, ["+254700000003", "+254700000004"]);
  const { messages } = await ask(second, `/messages/${sessionId}`);
  assert.equal(messages.filter((m) => m.type === "human").length, 10);
  const calls = messages.flatMap((m) => m.toolCalls ?? []);
  assert.ok(calls.every((c) => c.status === "done" && c.name !== "ask_for_call"), "every call has an end, and those of the sub-agent are its own");
  assert.doesNotMatch(JSON.stringify(messages), /will call \+254700000001|will call \+254700000004/);
});

await play();
