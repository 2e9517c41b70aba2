// What tools make of the API document, from a file as people keep it: a linter
// finds no error, two generators make clients that compile, and one of the
// clients makes calls.
import assert from "node:assert/strict";
import { mkdtemp, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { pathToFileURL } from "node:url";
import { createConfig, lint } from "@redocly/openapi-core";
import openapiTS, { astToString } from "openapi-typescript";
import { createClient } from "@hey-api/openapi-ts";
import { play, scenario } from "./kit/run.mjs";

const url = process.env.URL;
const folder = await mkdtemp(join(process.cwd(), "document-"));
const file = join(folder, "openapi.json");
await writeFile(file, Buffer.from(await (await fetch(url + "/docs-json")).arrayBuffer()));
await writeFile(join(folder, "package.json"), '{"type":"module"}');

// compile has TypeScript look at files, strictly.
async function compile(files, ...more) {
  const tsc = join(process.cwd(), "node_modules", "typescript", "bin", "tsc");
  const options = ["--strict", "--target", "es2022", "--lib", "es2022,dom,dom.iterable", "--module", "esnext", "--moduleResolution", "bundler", "--skipLibCheck"];
  try {
    await promisify(execFile)(process.execPath, [tsc, ...options, ...more, ...files], { cwd: folder, maxBuffer: 1 << 24 });
  } catch (error) {
    throw new Error(`tsc: ${error.stdout}`.slice(0, 4000));
  }
}

scenario("redocly finds no error", async () => {
  const config = await createConfig({ extends: ["recommended"] });
  const problems = await lint({ ref: file, config });
  const errors = problems.filter((p) => p.severity === "error").map((p) => `${p.ruleId}: ${p.message} ${p.location[0]?.pointer}`);
  assert.deepEqual(errors, []);
});

scenario("redocly finds no error in the older form", async () => {
  const older = join(folder, "openapi-3.0.json");
  await writeFile(older, Buffer.from(await (await fetch(url + "/docs-json?openapi=3.0")).arrayBuffer()));
  const problems = await lint({ ref: older, config: await createConfig({ extends: ["recommended"] }) });
  assert.deepEqual(problems.filter((p) => p.severity === "error").map((p) => `${p.message} ${p.location[0]?.pointer}`), []);
});

scenario("the types of openapi-typescript compile", async () => {
  const types = join(folder, "types.d.ts");
  await writeFile(types, astToString(await openapiTS(pathToFileURL(file))));
  await compile([types], "--noEmit");
});

scenario("the client of @hey-api/openapi-ts compiles and makes twelve calls", async () => {
  const output = join(folder, "client");
  await createClient({ input: file, output, plugins: ["@hey-api/client-fetch", "@hey-api/typescript", "@hey-api/sdk"], logs: { level: "silent" } });
  const built = join(folder, "built");
  await compile([join(output, "index.ts")], "--outDir", built);
  await addEndings(built);
  const sdk = await import(pathToFileURL(join(built, "sdk.gen.js")));
  const { client } = await import(pathToFileURL(join(built, "client.gen.js")));
  client.setConfig({ baseUrl: url, auth: () => process.env.KEY });

  let calls = 0;
  const ask = async (name, options = {}) => {
    const { data, error, response } = await sdk[name](options);
    assert.ok(response.ok, `${name}: ${response.status} ${JSON.stringify(error)}`);
    calls++;
    return data;
  };
  assert.equal((await ask("getHealth")).status, "ok");
  assert.ok((await ask("getV1Protocols")).items.length > 0);
  const twin = await ask("postV1Entities", { body: { type: "Device", protocol: "did:ixo:protocol/template", metadata: { name: "Stove" } } });
  const path = { did: twin.did };
  assert.equal((await ask("getV1EntitiesDid", { path })).did, twin.did);
  const named = await ask("patchV1EntitiesDid", { path, headers: { "If-Match": "*" }, body: { metadata: { name: "Stove 7" } } });
  assert.equal(named.metadata.name, "Stove 7");
  assert.ok((await ask("getV1Entities", { query: { type: "Device" } })).items.some((one) => one.did === twin.did));
  assert.equal((await ask("getV1EntitiesDidHistory", { path })).items.length, 2);
  const household = await ask("postV1Households", { body: { name: "Mwende", location: { lat: -1.3, lon: 36.8 } } });
  assert.ok(household.did);
  const key = await ask("postV1ApiKeys", { body: { name: "reader", scopes: ["entities:read"] } });
  await ask("deleteV1ApiKeysId", { path: { id: key.id } });
  assert.ok((await ask("getV1Changes", { query: { limit: 5 } })).items.length > 0);
  assert.ok(Array.isArray((await ask("getV1Templates")).items));
  assert.equal(calls, 12);
  const refused = await sdk.getV1EntitiesDid({ path: { did: "did:ixo:entity:nobody" } });
  assert.equal(refused.error.code, "ENTITY_NOT_FOUND");
});

// addEndings gives imports the endings that node wants and bundlers do not.
async function addEndings(dir) {
  const { readdir, readFile, stat } = await import("node:fs/promises");
  for (const name of await readdir(dir, { recursive: true })) {
    if (!name.endsWith(".js")) continue;
    const at = join(dir, name);
    let text = await readFile(at, "utf8");
    for (const [whole, to] of text.matchAll(/from ["'](\.[^"']*)["']/g)) {
      if (to.endsWith(".js")) continue;
      const target = join(at, "..", to);
      const ending = await stat(target + ".js").then(() => ".js", () => "/index.js");
      text = text.replaceAll(whole, `from "${to}${ending}"`);
    }
    await writeFile(at, text);
  }
}

await play();
