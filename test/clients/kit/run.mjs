// The scenarios of one script and how they are told: a line "# text" for what
// helps to understand a failure, then "ok NAME" or "not ok NAME", and at the
// end "1..N". internal/socketio/clienttest reads it.

import { format } from "node:util";

// patience is how long anything may take on a busy machine, in milliseconds,
// before it counts as not happening.
export const patience = 20_000;

const scenarios = [];
const cleaners = [];
let grumbles = [];

// What clients write is of use only when a scenario fails.
for (const level of ["debug", "warn", "error"]) console[level] = (...args) => grumbles.push(format(...args));

// scenario adds one. Only those whose name contains the ONLY of the environment
// run.
export function scenario(name, run) {
  if (name.includes(process.env.ONLY ?? "")) scenarios.push({ name, run });
}

// cleanup has f called when the scenario that runs now has ended.
export const cleanup = (f) => cleaners.push(f);

// play runs all scenarios, one after the other, and ends the process.
export async function play({ after = async () => {} } = {}) {
  let failed = 0;
  for (const { name, run } of scenarios) {
    const started = Date.now();
    let problem;
    try {
      await run();
    } catch (error) {
      problem = error;
    }
    try {
      for (const f of cleaners.splice(0).reverse()) await f();
      await after();
    } catch (error) {
      problem ??= error;
    }
    console.log(`# ${Date.now() - started} ms`);
    if (problem) {
      failed++;
      for (const line of [problem?.stack ?? problem, ...grumbles].join("\n").split("\n")) console.log(`# ${line}`);
    }
    grumbles = [];
    console.log(`${problem ? "not ok" : "ok"} ${name}`);
  }
  console.log(`1..${scenarios.length}`);
  process.exit(failed === 0 ? 0 : 1);
}

// within fails when the promise takes too long.
export function within(promise, what, limit = patience) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no ${typeof what === "function" ? what() : what} within ${limit} ms`)), limit);
  });
  const first = Promise.race([promise, late]).finally(() => clearTimeout(timer));
  first.catch(() => {}); // a scenario that failed before may never look at it
  return first;
}

// next gives the arguments of the next event of that name.
export function next(emitter, name) {
  return within(new Promise((resolve) => emitter.once(name, (...args) => resolve(args))), name);
}

// quiet fails if the event comes within a short time.
export function quiet(emitter, name, ms = 300) {
  return new Promise((resolve, reject) => {
    emitter.once(name, (...args) => reject(new Error(`unwanted ${name}: ${JSON.stringify(args)}`)));
    setTimeout(resolve, ms);
  });
}

// until looks at something again and again until it holds.
export function until(holds, what) {
  let timer;
  return within(
    new Promise((resolve, reject) => {
      const look = () => {
        try {
          const value = holds();
          if (value) return resolve(value);
          timer = setTimeout(look, 5);
        } catch (error) {
          reject(error);
        }
      };
      look();
    }),
    what,
  ).finally(() => clearTimeout(timer));
}
