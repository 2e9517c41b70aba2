// MCP both ways with the published SDK: its client at our server, over HTTP and over
// the command line, and its server as a source of tools for our oracle.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { once } from "node:events";
import { z } from "zod";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { cleanup, play, scenario } from "./kit/run.mjs";

const { URL: base, KEY: key, BINARY: binary, DIR: dir } = process.env;

// connect opens a session and closes it when the scenario is over.
async function connect(transport) {
  const client = new Client({ name: "published", version: "1.0.0" });
  await client.connect(transport);
  cleanup(() => client.close());
  return client;
}

const overHTTP = (headers) => new StreamableHTTPClientTransport(new URL(base + "/mcp"), { requestInit: { headers } });

// ask calls our API as the owner.
async function ask(method, path, body) {
  const answer = await fetch(base + path, {
    method, headers: { "X-API-Key": key, "Content-Type": "application/json" }, body: body && JSON.stringify(body),
  });
  const text = await answer.text();
  assert.ok(answer.ok, `${method} ${path} = ${answer.status} ${text}`);
  return text ? JSON.parse(text) : undefined;
}

// use has a client use everything there is.
async function use(client) {
  const { tools } = await client.listTools();
  const count = tools.find((t) => t.name === "count_twins");
  assert.ok(count?.outputSchema && count.annotations.readOnlyHint && count.annotations.destructiveHint === false, "count_twins says what it gives and that it only reads");
  const counted = await client.callTool({ name: "count_twins", arguments: { by: "type" } }); // the SDK holds it to its schema
  assert.equal(typeof counted.structuredContent.count, "number");
  const bad = await client.callTool({ name: "read_twin", arguments: { did: "did:ixo:entity:none" } });
  assert.equal(bad.isError, true);

  const { resourceTemplates } = await client.listResourceTemplates();
  assert.deepEqual(resourceTemplates.map((t) => t.name).sort(), ["survey", "survey_progress", "twin"]);
  const seen = [];
  for (let cursor; ;) {
    const page = await client.listResources(cursor ? { cursor } : {});
    seen.push(...page.resources.map((r) => r.uri));
    if (!(cursor = page.nextCursor)) break;
  }
  const twin = seen.find((uri) => uri.startsWith("hearth://twins/"));
  assert.ok(twin, "the oracle is a twin");
  const { contents } = await client.readResource({ uri: twin });
  assert.equal(JSON.parse(contents[0].text).did, twin.slice("hearth://twins/".length));
  const { completion } = await client.complete({ ref: { type: "ref/resource", uri: "hearth://twins/{+did}" }, argument: { name: "did", value: "did:" } });
  assert.ok(completion.values.includes(twin.slice("hearth://twins/".length)));

  const { prompts } = await client.listPrompts();
  assert.equal(prompts.length, 3);
  const prompt = await client.getPrompt({ name: "explain_twin", arguments: { did: "did:x:y" } });
  assert.ok(prompt.messages[0].content.text.includes("did:x:y"));
  await assert.rejects(client.readResource({ uri: "hearth://nothing/here" }));
}

scenario("the client over HTTP with a key", async () => {
  const client = await connect(overHTTP({ Authorization: "Bearer " + key }));
  assert.equal(client.getServerVersion().name, "hearth");
  await use(client);
});

scenario("the client over HTTP with a UCAN", async () => {
  const client = await connect(overHTTP({ Authorization: "Bearer " + process.env.OUR_INVOCATION, "X-Auth-Type": "ucan" }));
  assert.ok((await client.listTools()).tools.length > 0);
});

scenario("the client without a key", async () => {
  const client = new Client({ name: "published", version: "1.0.0" });
  await assert.rejects(client.connect(overHTTP({})));
});

scenario("the client over the command line", async () => {
  const env = { PATH: process.env.PATH, HOME: process.env.HOME ?? "", HEARTH_DATA_DIR: dir };
  const server = new URL(base);
  await use(await connect(new StdioClientTransport({ command: binary, args: ["mcp", "--port", server.port, "--host", server.hostname], env, stderr: "inherit" })));
});

// tools serves the published server, one for each request.
async function tools(heard) {
  const http = createServer(async (req, res) => {
    heard.push(req.headers["x-key"]);
    const server = new McpServer({ name: "node", version: "1.0.0" });
    server.registerTool("add", { description: "Adds two numbers.", inputSchema: { a: z.number(), b: z.number() }, outputSchema: { sum: z.number() } },
      async ({ a, b }) => ({ content: [{ type: "text", text: String(a + b) }], structuredContent: { sum: a + b } }));
    const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined });
    res.on("close", () => { transport.close(); server.close(); });
    await server.connect(transport);
    await transport.handleRequest(req, res);
  });
  http.listen(0, "127.0.0.1");
  await once(http, "listening");
  cleanup(() => new Promise((done) => { http.closeAllConnections(); http.close(done); }));
  return `http://127.0.0.1:${http.address().port}/mcp`;
}

scenario("the server as tools of the oracle", async () => {
  const heard = [];
  const path = "/v1/oracle/mcp-servers/node";
  await ask("PUT", path, { url: await tools(heard), headers: { "X-Key": "canary" } });
  cleanup(() => ask("DELETE", path));
  const { sessionId } = await ask("POST", "/sessions", {});
  const say = async () => (await ask("POST", "/messages/" + sessionId, { message: '/tool node__add {"a":20,"b":22}' })).message.content;
  const [add] = (await ask("GET", path + "/tools")).items;
  assert.deepEqual([add.name, add.original, add.state], ["node__add", "add", "needs_grant"]);
  assert.match(await say(), /not granted/);
  await ask("PUT", path + "/grants/node__add", { hash: add.hash });
  assert.match(await say(), /42/);
  assert.ok(heard.length > 0 && heard.every((k) => k === "canary"), "every request has the header");
});

await play();
