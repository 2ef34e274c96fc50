/**
 * Runs the checks of a framework at each wire API, and prints their results. A program defines one function for each
 * check, which takes a target, and passes them to `main`. The wire APIs are checked at the same time, and the checks of
 * one in turn.
 */
import assert from "node:assert/strict";

export const baseURL = process.env.OUTRIGGER_BASE_URL;
/** Base URL for clients of other APIs than OpenAI's. */
export const { origin } = new URL(baseURL);
export const apiKey = "any";

export const question = "How is the weather in Oslo?";
export const nextQuestion = "And in Paris?";
const result = "11 degrees and rain";

/** Longest time for one check, in milliseconds; on a busy machine too. */
const CHECK_TIMEOUT = 60_000;

/** The same for a check that starts programs. */
const PROGRAM_CHECK_TIMEOUT = 210_000;

/** The function of a tool. It counts its calls. */
export function createWeather() {
  const weather = {
    calls: 0,
    getWeather({ city }) {
      assert.ok(typeof city === "string" && city !== "", `the city is ${JSON.stringify(city)}`);
      weather.calls += 1;
      return result;
    },
  };
  return weather;
}

/** The tool was called, and the model has read what it returned. */
export function checkAnswer(text, weather, calls = 1) {
  assert.equal(weather.calls, calls, `the tool was called ${weather.calls} times, want ${calls}`);
  assert.ok(typeof text === "string" && text.includes(result), `the answer is ${JSON.stringify(text)}`);
}

/** The text arrived in pieces, and no piece is missing. */
export function checkDeltas(deltas, text) {
  assert.ok(deltas.length > 2, `there are ${deltas.length} deltas`);
  assert.equal(deltas.join(""), text);
}

/** The city of a structured output. */
export function checkCity(city) {
  assert.equal(typeof city?.name, "string", `the city is ${JSON.stringify(city)}`);
  assert.equal(typeof city.people, "number", `the city is ${JSON.stringify(city)}`);
}

/** Words of the messages of failures that a provider reports: told by the sidecar, or relayed as the simulator wrote them. */
const FAILURE =
  /reported a failure|The server had an error|Internal server error|An internal error has occurred/;

/** The failure reaches the program as an exception, after the part of the text that came before it. */
export async function checkFailure(deltas) {
  let count = 0;
  try {
    for await (const _ of deltas) count += 1;
  } catch (error) {
    assert.match(toText(error), FAILURE, "the exception is another one");
    assert.ok(count > 0, "the exception came before the text");
    return;
  }
  assert.fail("the stream ended as if it were complete");
}

/** Some frameworks throw the provider's error object. */
function toText(error) {
  return error instanceof Error ? `${error.message}` : JSON.stringify(error);
}

/**
 * @param checks Functions by the names of the checks.
 * @param options `inTurn`: the wire APIs are checked in turn, since a check starts programs that need a whole core.
 */
export async function main(checks, { inTurn = false } = {}) {
  const targets = JSON.parse(process.env.OUTRIGGER_TARGETS);
  const passed = [];
  for (const group of inTurn ? targets.map((target) => [target]) : [targets])
    passed.push(...(await Promise.all(group.map((target) => runChecks(target, checks, inTurn)))));
  // Some frameworks leave timers or sockets behind that would keep the program alive.
  process.exit(passed.every(Boolean) ? 0 : 1);
}

async function runChecks(target, checks, startsPrograms) {
  let passed = true;
  for (const [name, check] of Object.entries(checks)) {
    const limit = startsPrograms ? PROGRAM_CHECK_TIMEOUT : CHECK_TIMEOUT;
    if (!(await run(`${target.api}/${name}`, () => check(target), limit))) passed = false;
  }
  return passed;
}

async function run(name, check, timeout) {
  const { promise: late, reject } = Promise.withResolvers();
  const timer = setTimeout(() => reject(new Error(`no result within ${timeout} ms`)), timeout);
  try {
    await Promise.race([check(), late]);
    process.stdout.write(`ok ${name}\n`);
    return true;
  } catch (error) {
    process.stderr.write(`${error?.stack ?? error}\n`);
    process.stdout.write(`FAIL ${name}: ${String(error).replaceAll(/\s+/g, " ").slice(0, 1000)}\n`);
    return false;
  } finally {
    clearTimeout(timer);
  }
}
