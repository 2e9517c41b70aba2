// The OData client o.js against the feed of a survey.
import assert from "node:assert/strict";
import odata from "odata";
import { play, scenario } from "./kit/run.mjs";

const { URL: url, KEY: key } = process.env;
const headers = { Authorization: `Bearer ${key}`, "Content-Type": "application/json" };

async function send(path, body) {
  const answer = await fetch(url + path, { method: "POST", headers, body: JSON.stringify(body) });
  assert.ok(answer.ok, `${path}: ${answer.status} ${await answer.clone().text()}`);
}

const n = 25;

async function filled() {
  await send("/v1/templates", {
    templateId: "feed",
    sections: [
      { id: "consent", questions: [{ id: "ok", type: "consent", required: true }] },
      { id: "home", questions: [
        { id: "size", type: "integer", dontKnow: true }, { id: "fuel", type: "multiple_choice", options: ["wood", "gas"] }, { id: "phone", type: "text", pii: "direct" },
        { id: "people", type: "repeat", questions: [{ id: "age", type: "integer" }] },
      ] },
    ],
  });
  await send("/v1/templates/feed/publish", {});
  await send("/v1/surveys", { surveyId: "feed", type: "BaselineSurvey", projectId: "did:ixo:project/feed", templateId: "feed", sampling: { method: "census" }, collectors: ["did:key:feed"] });
  await send("/v1/surveys/feed/activate", { reason: "test" });
  for (let i = 0; i < n; i++) {
    await send("/v1/surveys/feed/responses", {
      responseId: `r${i}`, householdId: `did:ixo:household/${i}`, timestamp: "2026-02-20T10:00:00Z",
      responses: { consent: { ok: true }, home: { size: i ? i : { noAnswer: "dont_know" }, fuel: ["wood"], phone: "+254700", people: [{ age: i }, { age: 40 }] } },
    });
  }
}

const feed = (query = {}) => odata.o(`${url}/v1/surveys/feed/odata/`, { headers, query });

scenario("an OData client reads the feed", async () => {
  await filled();
  const tables = await odata.o(`${url}/v1/surveys/feed/`, { headers }).get("odata").query();
  assert.deepEqual(tables.map((t) => t.name), ["Submissions", "Submissions_home_people"]);
  const all = await feed().get("Submissions").query();
  assert.equal(all.length, n);
  assert.equal(all[3].home_size, 3);
  assert.equal(all[0].home_size, null);
  assert.equal(all[0].home_size_noAnswer, "dont_know");
  assert.equal(all[3].home_fuel_wood, true);
  assert.ok(!("home_phone" in all[3]), "a telephone number without pii=full");
  assert.ok(all[3].__system.submissionDate > "2024");
});

scenario("it pages, filters, selects and expands", async () => {
  const some = await feed().get("Submissions").query({ $top: 10, $select: "home_size", $filter: "__system/submissionDate ge 2024-01-01T00:00:00Z" });
  assert.equal(some.length, 10);
  assert.deepEqual(Object.keys(some[0]).sort(), ["__id", "home_size", "home_size_noAnswer"]);
  assert.equal((await feed().get("Submissions").query({ $filter: "__system/submissionDate lt 2024-01-01T00:00:00Z" })).length, 0);
  const whole = await feed().get("Submissions").query({ $expand: "*", $top: 2, pii: "full" });
  assert.equal(whole[1].__id, "r1");
  assert.equal(whole[1].home_phone, "+254700");
  assert.deepEqual(whole[1].Submissions_home_people.map((p) => p.home_people_age), [1, 40]);
  assert.equal((await feed().get("Submissions_home_people").query()).length, 2 * n);
});

await play();
