import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createServer as createHttp2Server } from "node:http2";
import { createServer } from "node:net";
import { join } from "node:path";
import { ReadableStream } from "node:stream/web";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { createClient, createRouterTransport } from "@connectrpc/connect";
import {
  AbortError,
  AuthenticationError,
  Client,
  ConfigurationError,
  FinishReason_Reason,
  functionTool,
  generate,
  generateObject,
  InvalidRequestError,
  type ModelClient,
  NetworkError,
  NoObjectGeneratedError,
  Role,
  StreamError,
  stream,
  textOf,
  userMessage,
} from "outrigger-client";
import * as z from "zod";
import {
  GenerationService,
  type RunToolsRequest,
  type RunToolsResponseSchema,
} from "../../../src/gen/outrigger/v1/generation_service_pb.ts";
import { runRemoteLoop } from "../src/tool-loop.ts";
import { failedGenerationChecks } from "./failed-generations.ts";
import { reconnectChecks } from "./reconnect.ts";
import { runChecks } from "./runs.ts";
import { threadChecks } from "./threads.ts";

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
  ...reconnectChecks,
  ...runChecks,
  ...threadChecks,
  ["wrong_address", wrongAddress],
  ["closed_client", closedClient],
  ["access_key", accessKey],
  ["tls", certificates],
  ["cut_stream", cutStream],
  ["leaving_a_stream", leavingAStream],
  ["many_calls_at_once", manyCallsAtOnce],
  ["failing_tool", failingTool],
  ["slow_tool", slowTool],
  ["rounds", rounds],
  ["loop_on_the_sidecar", loopOnTheSidecar],
  ["loop_in_the_program", loopInTheProgram],
  ["repaired_call", repairedCall],
  ["cancelled_tool", cancelledTool],
  ["closing_a_silent_stream", closingASilentStream],
  ["closing_while_a_tool_runs", closingWhileAToolRuns],
  ["loop_violations", loopViolations],
  ["retries", retries],
  ["no_object", noObject],
  ...failedGenerationChecks,
];

/** The keys with which a call of a client arrives at a server, which refuses it. */
async function sentKeys(options: { accessKey?: string }): Promise<(string | undefined)[]> {
  const keys: (string | undefined)[] = [];
  const server = createHttp2Server();
  server.on("stream", (opened, headers) => {
    keys.push(headers.authorization);
    // A client that ends its connection at once may break the stream.
    opened.on("error", () => {});
    opened.respond({ "content-type": "application/grpc", "grpc-status": "16" }, { endStream: true });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const bound = server.address();
  const client = new Client({
    ...options,
    address: `127.0.0.1:${typeof bound === "object" ? bound?.port : ""}`,
  });
  await assert.rejects(client.complete({ model: "m", messages }), (error) => {
    assert(error instanceof AuthenticationError);
    return error.isAccessKey;
  });
  await client.close();
  server.close();
  return keys;
}

async function accessKey(): Promise<void> {
  process.env.OUTRIGGER_ACCESS_KEY = "";
  assert.deepEqual(await sentKeys({}), [undefined]);
  assert.deepEqual(await sentKeys({ accessKey: "of-the-option" }), ["Bearer of-the-option"]);
  process.env.OUTRIGGER_ACCESS_KEY = "of-the-environment";
  assert.deepEqual(await sentKeys({}), ["Bearer of-the-environment"]);
  delete process.env.OUTRIGGER_ACCESS_KEY;
}

/** The sidecar asks for certificates: `ca.crt`, `client.crt` and `client.key` in a folder. */
async function certificates(): Promise<void> {
  const { OUTRIGGER_TLS_ADDR: target, OUTRIGGER_TLS_FOLDER: folder = "" } = process.env;
  const [ca, cert, key] = await Promise.all(
    ["ca.crt", "client.crt", "client.key"].map((file) => readFile(join(folder, file))),
  );
  const address = `https://${target}`;
  const request = { model: "sim-text", messages };
  await using named = new Client({ address, ca, tls: { cert, key } });
  assert.notEqual(textOf(await named.complete(request)), "");
  await using nameless = new Client({ address, ca });
  await assert.rejects(nameless.complete(request), NetworkError);
}

async function errorClass(): Promise<void> {
  await using client = new Client();
  const failed = client.complete({ model: "sim-text:status=401", messages });
  await assert.rejects(failed, (error) => {
    assert(error instanceof AuthenticationError);
    assert.equal(error.httpStatusCode, 401);
    assert.equal(error.isAccessKey, false);
    assert.equal(error.retryable, false);
    return true;
  });
}

async function fieldViolations(): Promise<void> {
  await using client = new Client();
  const failed = client.complete({ model: " ", messages });
  await assert.rejects(failed, (error) => {
    assert(error instanceof InvalidRequestError);
    assert.match(error.message, /^model: /);
    return true;
  });
}

/** A client that was closed opens no connection again, whatever is called. */
async function closedClient(): Promise<void> {
  const client = new Client();
  const derived = client.with({ headers: { "x-team": "a" } });
  await client.complete({ model: "sim-echo", messages });
  await client.close();
  const calls = [
    () => client.complete({ model: "sim-echo", messages }),
    () => client.stream({ model: "sim-echo", messages }).final(),
    () => client.getModelInfo("sim-echo"),
    () => derived.complete({ model: "sim-echo", messages }),
  ];
  for (const call of calls)
    await assert.rejects(call, (error) => {
      assert(
        error instanceof ConfigurationError && /the client is closed/.test(error.message),
        String(error),
      );
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
  await assert.rejects(client.complete({ model: "sim-text", messages }), (error) => {
    assert(error instanceof NetworkError);
    assert.match(error.message, new RegExp(`is the sidecar running at 127.0.0.1:${address.port}\\?`));
    return true;
  });
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
  const [told] = result.steps[0]?.toolResults ?? [];
  assert.equal(told?.failed, true);
  assert.match(JSON.stringify(told), /the station does not answer/);
  await using discreet = new Client({ hideToolErrors: true });
  const hidden = await generate({ client: discreet, model: "sim-tools", messages, tools: [tool] });
  assert.doesNotMatch(JSON.stringify(hidden.steps[0]?.toolResults), /station/);
}

async function slowTool(): Promise<void> {
  await using client = new Client();
  const tool = weather(() => new Promise(() => {}));
  const timeout = { perToolMs: 50 };
  const result = await generate({ client, model: "sim-tools", messages, tools: [tool], timeout });
  assert.equal(result.steps[0]?.toolResults[0]?.failed, true);
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

/** Counts the loops that the sidecar runs. */
class CountingClient extends Client {
  loops = 0;

  override runToolLoop(...args: Parameters<Client["runToolLoop"]>): ReturnType<Client["runToolLoop"]> {
    const loop = super.runToolLoop(...args);
    if (loop !== undefined) this.loops += 1;
    return loop;
  }
}

async function loopOnTheSidecar(): Promise<void> {
  await using client = new CountingClient();
  const roles: number[] = [];
  const tool = functionTool({
    name: "get_weather",
    parameters: z.object({ city: z.string() }),
    execute({ city }, { messages, toolCallId }) {
      roles.push(...messages.map(({ role }) => role));
      assert.match(toolCallId, /./);
      return `Sunny in ${city}`;
    },
  });
  const options = { client, model: "sim-tools", messages, tools: [tool] };
  const whole = await generate(options);
  const streamed = await stream(options).result();
  assert.equal(client.loops, 2);
  for (const result of [whole, streamed]) {
    assert.equal(result.stopReason, "COMPLETED");
    assert.match(result.text, /Sunny in Paris/);
    assert.equal(result.attempts.length, 2);
  }
  assert.deepEqual(roles, [Role.USER, Role.ASSISTANT, Role.USER, Role.ASSISTANT]);
}

async function loopInTheProgram(): Promise<void> {
  await using client = new CountingClient();
  const options = { client, model: "sim-tools:rounds=9", messages, tools: [weather(() => "21 degrees")] };
  const result = await generate({ ...options, maxToolRounds: 9, stopWhen: (steps) => steps.length === 2 });
  assert.equal(client.loops, 0);
  assert.equal(result.stopReason, "STOP_WHEN");
  assert.equal(result.steps.length, 2);
}

/** A sidecar that asks for the repair of a call, and then for its execution. */
async function* askForRepair(
  requests: AsyncIterable<RunToolsRequest>,
): AsyncGenerator<MessageInitShape<typeof RunToolsResponseSchema>> {
  const reader = requests[Symbol.asyncIterator]();
  await reader.next();
  const call = { id: "c1", name: "get_weather" };
  const invalid = { ...call, input: { case: "argumentsJson", value: '{"city":5}' } } as const;
  yield {
    step: 1,
    message: { case: "execute", value: { toolCall: invalid, problem: "/city: expected a string" } },
  };
  const repair: RunToolsRequest = (await reader.next()).value;
  const output = repair.message.case === "output" ? repair.message.value.output : undefined;
  assert(output?.case === "repairedCall");
  yield { step: 1, message: { case: "execute", value: { toolCall: output.value } } };
  const answer: RunToolsRequest = (await reader.next()).value;
  const result = answer.message.case === "output" ? answer.message.value.output : undefined;
  assert(result?.case === "result");
  const step = { response: ANSWER, toolResults: [result.value], repairedCalls: [output.value] };
  yield { step: 1, message: { case: "stepFinish", value: { result: step } } };
  yield { step: 1, message: { case: "result", value: { steps: [step], response: ANSWER } } };
}

const ANSWER = { message: { role: Role.ASSISTANT }, finishReason: { reason: FinishReason_Reason.STOP } };

async function repairedCall(): Promise<void> {
  const transport = createRouterTransport(({ rpc }) => {
    rpc(GenerationService.method.runTools, askForRepair);
  });
  const client: ModelClient & Pick<Client, "runToolLoop"> = {
    complete: () => Promise.reject(new Error("no call of the model was expected")),
    stream: () => {
      throw new Error("no call of the model was expected");
    },
    runToolLoop: (options) => runRemoteLoop(createClient(GenerationService, transport), options),
  };
  let runs = 0;
  const tool = functionTool({
    name: "get_weather",
    parameters: z.object({ city: z.string() }),
    execute({ city }) {
      runs += 1;
      return `Sunny in ${city}`;
    },
  });
  const repairToolCall = () => ({ city: "Paris" });
  const result = await generate({ client, model: "m", messages, tools: [tool], repairToolCall });
  assert.equal(runs, 1);
  const [step] = result.steps;
  assert.equal(step?.repairedCalls.length, 1);
  assert.match(JSON.stringify(step?.toolResults), /Sunny in Paris/);
}

async function cancelledTool(): Promise<void> {
  await using client = new Client();
  const controller = new AbortController();
  const told = Promise.withResolvers<void>();
  const tool = functionTool({
    name: "get_weather",
    parameters: z.object({ city: z.string() }),
    execute(_args, { signal }) {
      signal.addEventListener("abort", () => told.resolve());
      controller.abort();
      return new Promise(() => {});
    },
  });
  const options = { client, model: "sim-tools", messages, tools: [tool], signal: controller.signal };
  await assert.rejects(generate(options), AbortError);
  await told.promise;
}

/** Closes streams that wait, in each way, and expects that closing does not wait for the provider. */
async function closeWhileSilent(
  open: (client: Client) => AsyncIterable<unknown> & { cancel(): void },
): Promise<void> {
  const ways: readonly ((items: AsyncIterable<unknown> & { cancel(): void }) => Promise<unknown>)[] = [
    async (items) => {
      const iterator = items[Symbol.asyncIterator]();
      await waitForSilence(iterator);
      return iterator.return?.();
    },
    async (items) => {
      const reader = ReadableStream.from(items).getReader();
      await waitForSilence({ next: () => reader.read() as never });
      return reader.cancel();
    },
    async (items) => {
      const iterator = items[Symbol.asyncIterator]();
      const { pending } = await waitForSilence(iterator);
      items.cancel();
      await assert.rejects(
        pending.then(() => iterator.next()),
        AbortError,
      );
    },
  ];
  for (const close of ways) {
    await using client = new Client();
    const startedAt = performance.now();
    await close(open(client));
    assert(performance.now() - startedAt < 5000, "closing waited for the provider");
  }
}

/** A read that waits, in an object: an async function would wait for it. */
async function waitForSilence(
  iterator: Pick<AsyncIterator<unknown>, "next">,
): Promise<{ pending: Promise<IteratorResult<unknown>> }> {
  for (;;) {
    const pending = iterator.next();
    pending.catch(() => {});
    const silence = new Promise<"silent">((resolve) => setTimeout(resolve, 150, "silent"));
    if ((await Promise.race([pending, silence])) === "silent") return { pending };
  }
}

async function closingASilentStream(): Promise<void> {
  const model = "sim-long:tokens=500,stall_after=6";
  await closeWhileSilent((client) => client.stream({ model, messages }));
  await closeWhileSilent((client) => stream({ client, model, messages }));
}

async function closingWhileAToolRuns(): Promise<void> {
  const told: Promise<void>[] = [];
  await closeWhileSilent((client) => {
    const aborted = Promise.withResolvers<void>();
    told.push(aborted.promise);
    const tool = functionTool({
      name: "get_weather",
      parameters: z.object({ city: z.string() }),
      execute(_args, { signal }) {
        signal.addEventListener("abort", () => aborted.resolve());
        return new Promise(() => {});
      },
    });
    return stream({ client, model: "sim-tools", messages, tools: [tool] });
  });
  assert.equal(told.length, 3);
  await Promise.all(told);
}

async function loopViolations(): Promise<void> {
  await using client = new Client();
  const options = { client, model: " ", messages, tools: [weather(() => "")], maxTokens: -1 };
  await assert.rejects(generate(options), (error) => {
    assert(error instanceof InvalidRequestError);
    assert.deepEqual(error.violations.map(({ field }) => field).sort(), ["maxTokens", "model"]);
    return true;
  });
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
