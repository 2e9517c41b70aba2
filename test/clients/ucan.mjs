// Tokens made by the JavaScript libraries at our server, and ours at both.
import assert from "node:assert/strict";
import { Delegation } from "@ucanto/core";
import { Verifier } from "@ucanto/principal";
import { access, capability, URI } from "@ucanto/validator";
import { newUser, oracle } from "./kit/tokens.mjs";
import { play, scenario } from "./kit/run.mjs";

const url = process.env.URL;

// ask lists the sessions with the given headers.
async function ask(headers, path = "/sessions", options = {}) {
  const answer = await fetch(url + path, { ...options, headers: { "content-type": "application/json", ...headers } });
  return { status: answer.status, body: await answer.json() };
}

const bearer = (invocation) => ({ authorization: `Bearer ${invocation}`, "x-auth-type": "ucan" });

async function accepts(headers, why) {
  const { status, body } = await ask(headers);
  assert.equal(status, 200, `${why}: ${JSON.stringify(body)}`);
}

async function refuses(headers, message, why) {
  const { status, body } = await ask(headers);
  assert.equal(status, 401, why);
  assert.equal(body.statusCode, 401, why);
  assert.match(body.message, message, why);
}

const invalid = /^Invalid UCAN invocation$/;
const missing = /^Missing UCAN authentication: provide Authorization: Bearer/;

scenario("an invocation of @ucanto is good until it expires, in every spelling", async () => {
  const user = await newUser();
  const token = await user.invocation();
  await accepts(bearer(token), "as minted");
  await accepts(bearer(token), "again");
  await accepts(bearer(token.replace(/=+$/, "")), "without padding");
  await accepts(bearer(token.replaceAll("+", "-").replaceAll("/", "_")), "URL alphabet");
  await accepts({ ...bearer(token), "x-did": "did:key:somebody-else" }, "x-did says nothing");
});

scenario("an invocation with a proof of @ucanto speaks for who signed it", async () => {
  const [root, helper, thief] = [await newUser(), await newUser(), await newUser()];
  const grant = await root.grant(helper);
  const granted = bearer(await helper.invocation({ proofs: [grant] }));
  await accepts(granted, "granted");
  const { body } = await ask(granted, "/sessions", { method: "POST" });
  const seen = async (token) => (await ask(bearer(token))).body.sessions.map((s) => s.sessionId);
  assert.deepEqual(await seen(await helper.invocation()), [body.sessionId], "who signed");
  assert.deepEqual(await seen(await root.invocation()), [], "who granted");
  assert.deepEqual(await seen(await thief.invocation({ proofs: [grant] })), [], "who stole the grant");
});

scenario("bad invocations of @ucanto", async () => {
  const user = await newUser();
  for (const [why, options] of [
    ["expired", { ttl: -10 }],
    ["too long", { ttl: 3600 }],
    ["for another oracle", { audience: user.did }],
    ["for another resource", { resource: "ixo:memory" }],
  ]) {
    await refuses(bearer(await user.invocation(options)), invalid, why);
  }
  const token = Buffer.from(await user.invocation(), "base64");
  for (const at of [80, 150, 200, token.length - 1]) {
    const broken = Buffer.from(token);
    broken[at] ^= 1;
    await refuses(bearer(broken.toString("base64")), invalid, `bit changed at ${at}`);
  }
  await refuses({}, missing, "nothing");
});

scenario("a delegation of @ucanto alone, and beside an invocation", async () => {
  const [user, other] = [await newUser(), await newUser()];
  const delegation = await user.delegation();
  await accepts({ "x-ucan-delegation": delegation }, "alone");
  await refuses({ "x-ucan-delegation": delegation, ...bearer("bm9uc2Vuc2U=") }, invalid, "a bad invocation is not made good");
  await refuses({ "x-ucan-delegation": await user.delegation({ ttl: -10 }) }, missing, "expired");
  await refuses({ "x-ucan-delegation": await user.delegation({ ttl: null }) }, missing, "never expires");
  await refuses({ "x-ucan-delegation": await user.delegation({ ttl: 366 * 86400 }) }, missing, "too long");
  await refuses({ "x-ucan-delegation": await user.delegation({ audience: other.did }) }, missing, "for somebody else");
  await refuses({ "x-ucan-delegation": await user.delegation({ notBefore: Math.floor(Date.now() / 1000) + 600 }) }, missing, "not yet");
  await accepts({ "x-ucan-delegation": await other.delegation(), ...bearer(await user.invocation()) }, "the delegation of another is ignored");
});

scenario("tokens of the command line at the server", async () => {
  await accepts(bearer(process.env.OUR_INVOCATION), "hearth ucan invoke");
  await accepts({ "x-ucan-delegation": process.env.OUR_DELEGATION }, "hearth ucan delegate");
  const body = JSON.stringify({ raw: process.env.OUR_DELEGATION });
  const stored = await ask(bearer(process.env.OUR_INVOCATION), "/delegation", { method: "POST", body });
  assert.equal(stored.status, 200, JSON.stringify(stored.body));
  assert.equal(stored.body.ok, true);
  const one = await ask(bearer(process.env.OUR_INVOCATION), "/sessions", { method: "POST" });
  const list = await ask({ "x-ucan-delegation": process.env.OUR_DELEGATION });
  assert.ok(list.body.sessions.some((s) => s.sessionId === one.body.sessionId), "both tokens are the same user");
});

scenario("a token of the command line at the JavaScript validator", async () => {
  const all = capability({ can: "*", with: URI.match({ protocol: "ixo:" }), derives: () => ({ ok: {} }) });
  const authority = (await newUser()).signer.verifier;
  const rules = { capability: all, authority, principal: Verifier, canIssue: () => true, validateAuthorization: () => ({ ok: {} }) };
  const token = await Delegation.extract(Buffer.from(process.env.OUR_INVOCATION, "base64"));
  assert.ok(token.ok, token.error?.message);
  assert.equal(token.ok.issuer.did(), process.env.OUR_DID);
  assert.equal(token.ok.audience.did(), oracle);
  const verdict = await access(token.ok, rules);
  assert.ok(verdict.ok, verdict.error?.message);
  token.ok.data.signature[token.ok.data.signature.length - 20] ^= 1;
  assert.match((await access(token.ok, rules)).error.message, /signature/);
});

await play();
