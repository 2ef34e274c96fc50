import assert from "node:assert/strict";
import { createServer } from "node:net";
import {
  AuthenticationError,
  Client,
  ConfigurationError,
  functionTool,
  generate,
  generateObject,
  InvalidRequestError,
  NetworkError,
  NoObjectGeneratedError,
  StreamError,
  stream,
  userMessage,
} from "@outrigger-inference/client";
import * as z from "zod";

const messages = [userMessage("What is the weather in Paris?")];

/** A tool whose function is `execute`. */
function weather(execute: () => unknown) {
  const parameters = z.object({ city: z.string() });
  return functionTool({ name: "get_weather", description: "The weather in a city", parameters, execute });
}

/** Checks by their names. */
export const checks: readonly (readonly [name: string, check: () => Promise<void>])[] = [
  ["error_class", errorClass],
  ["field_violations", fieldViolations],
  ["no_sidecar", noSidecar],
  ["wrong_address", wrongAddress],
  ["cut_stream", cutStream],
  ["leaving_a_stream", leavingAStream],
  ["many_calls_at_once", manyCallsAtOnce],
  ["failing_tool", failingTool],
  ["slow_tool", slowTool],
  ["rounds", rounds],
  ["retries", retries],
  ["no_object", noObject],
];

async function errorClass(): Promise<void> {
  await using client = new Client();
  const failed = client.complete({ model: "sim-text:status=401", messages });
  await assert.rejects(failed, (error) => {
    assert(error instanceof AuthenticationError);
    assert.equal(error.httpStatusCode, 401);
    assert.equal(error.retryable, false);
    return true;
  });
}

async function fieldViolations(): Promise<void> {
  await using client = new Client();
  const failed = client.complete({ model: "", messages });
  await assert.rejects(failed, (error) => {
    assert(error instanceof InvalidRequestError);
    assert.match(error.message, /^model: /);
    return true;
  });
}

async function noSidecar(): Promise<void> {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const address = server.address();
  assert(address !== null && typeof address === "object");
  await new Promise((resolve) => server.close(resolve));
  await using client = new Client({ address: `127.0.0.1:${address.port}` });
  await assert.rejects(client.complete({ model: "sim-text", messages }), NetworkError);
}

async function wrongAddress(): Promise<void> {
  assert.throws(() => new Client({ address: "http://localhost:6190/path" }), ConfigurationError);
}

async function cutStream(): Promise<void> {
  await using client = new Client();
  const cut = client.stream({ model: "sim-long:tokens=50,cut_events=8", messages });
  const kinds: (string | undefined)[] = [];
  await assert.rejects(async () => {
    for await (const { event } of cut) kinds.push(event.case);
  }, StreamError);
  assert.equal(kinds.at(-1), "error");
  assert.equal(kinds.includes("finish"), false);
}

async function leavingAStream(): Promise<void> {
  await using client = new Client();
  const slow = client.stream({ model: "sim-long:tokens=1000,rate=20", messages });
  for await (const text of slow.text()) {
    assert.notEqual(text, "");
    break;
  }
  await client.complete({ model: "sim-text", messages });
}

async function manyCallsAtOnce(): Promise<void> {
  await using client = new Client();
  const calls = Array.from({ length: 50 }, () => client.complete({ model: "sim-text", messages }));
  const answers = await Promise.all(calls);
  assert.equal(new Set(answers.map(({ inferenceId }) => inferenceId)).size, 50);
}

async function failingTool(): Promise<void> {
  await using client = new Client();
  const tool = weather(() => {
    throw new Error("the station does not answer");
  });
  const result = await generate({ client, model: "sim-tools", messages, tools: [tool] });
  assert.equal(result.steps.length, 2);
  assert.equal(result.steps[0]?.toolResults[0]?.isError, true);
}

async function slowTool(): Promise<void> {
  await using client = new Client();
  const tool = weather(() => new Promise(() => {}));
  const timeout = { perToolMs: 50 };
  const result = await generate({ client, model: "sim-tools", messages, tools: [tool], timeout });
  assert.equal(result.steps[0]?.toolResults[0]?.isError, true);
}

async function rounds(): Promise<void> {
  await using client = new Client();
  let runs = 0;
  const tool = weather(() => {
    runs += 1;
    return "21 degrees";
  });
  const options = { client, model: "sim-tools", messages, tools: [tool] };
  assert.equal((await generate({ ...options, maxToolRounds: 0 })).stopReason, "TOOL_CALLS");
  assert.equal(runs, 0);
  const once = stream({ ...options, maxToolRounds: 1 });
  assert.equal((await once.result()).stopReason, "COMPLETED");
  assert.equal(runs, 1);
}

async function retries(): Promise<void> {
  await using client = new Client();
  const retry = { baseDelay: 0.01 };
  const model = `sim-text:status=503,times=1,delay_ms=${process.pid % 500}`;
  const result = await generate({ client, model, prompt: "hi", retry });
  assert.equal(result.attempts.length, 2);
}

async function noObject(): Promise<void> {
  await using client = new Client();
  const schema = z.object({ name: z.string().refine(() => false, "is not right") });
  await assert.rejects(generateObject({ client, model: "sim-text", prompt: "Ann", schema }), (error) => {
    assert(error instanceof NoObjectGeneratedError);
    assert.match(error.text, /^\{/);
    assert.match(error.schemaViolations.join(), /is not right/);
    return true;
  });
}
