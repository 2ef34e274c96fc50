import {
  Client,
  createFallback,
  createRateLimit,
  createRetry,
  functionTool,
  generate,
  ServerError,
} from "outrigger";
import { expect, it } from "vitest";
import type { MiddlewareMethods } from "../../src/client/middleware.ts";
import { ScriptedModel, type Turn } from "./support/scripted-model.ts";

const down = new ServerError("the model is overloaded", { retryable: true });
const NO_WAIT = { maxRetries: 10, baseDelay: 0, jitter: false };

function createClient(turns: readonly Turn[], middleware: readonly MiddlewareMethods[] = []) {
  const one = new ScriptedModel(turns, "one");
  const two = new ScriptedModel([down], "two");
  const client = new Client({ providers: { one, two }, defaultProvider: "one", middleware });
  return { client, one, two };
}

it("repeats a call at most 100 times, by fallbacks, retries of middleware and retries of the step together", async () => {
  const fallback = createFallback({ targets: [{ provider: "two" }, { provider: "two", model: "other" }] });
  const retry = createRetry({ ...NO_WAIT, budget: false });
  const { client, one, two } = createClient([down], [fallback, retry]);
  await expect(generate({ client, model: "m", prompt: "hi", retry: NO_WAIT })).rejects.toThrow(/overloaded/);
  expect(one.requests.length + two.requests.length).toBe(101);
});

it("repeats the calls of all steps at most 100 times together", async () => {
  let calls = 0;
  const work = { name: "work" };
  // Each step fails nine times before it calls the tool.
  const turn = (): Turn => {
    calls += 1;
    return calls % 10 === 0 ? [work] : down;
  };
  const { client, one } = createClient([turn]);
  const tools = [functionTool({ name: "work", execute: () => "done" })];
  const options = { client, model: "m", prompt: "hi", tools, maxToolRounds: 90, retry: NO_WAIT };
  await expect(generate(options)).rejects.toThrow(/overloaded/);
  // Eleven steps with 99 repeats, and the twelfth with one.
  expect(one.requests).toHaveLength(11 + 100 + 1);
});

it("counts each retry in a rate limit", async () => {
  const limit = createRateLimit({ requestsPerMinute: 4, maxWait: 0 });
  const { client, one } = createClient([down], [createRetry({ ...NO_WAIT, budget: false }), limit]);
  const retry = { ...NO_WAIT, maxDelay: 1 };
  await expect(generate({ client, model: "m", prompt: "hi", retry })).rejects.toThrow(
    "the limit of 4 requests per minute",
  );
  expect(one.requests).toHaveLength(4);
});
