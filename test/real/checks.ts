/** What must work against a real server, whichever of its APIs carries a call. */
import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { type Client, Code, ConnectError } from "@connectrpc/connect";
import { LawChecker } from "../../src/core/laws.ts";
import { textOf, toolCallsOf, userMessage } from "../../src/core/message.ts";
import { toolChoice, toolInputOf, toolResult } from "../../src/core/tools.ts";
import { InferenceErrorSchema } from "../../src/gen/outrigger/v1/error_pb.ts";
import type { InferenceService } from "../../src/gen/outrigger/v1/inference_service_pb.ts";
import { type Request, RequestSchema, ResponseFormat_Type } from "../../src/gen/outrigger/v1/request_pb.ts";
import { FinishReason_Reason, type Response } from "../../src/gen/outrigger/v1/response_pb.ts";
import type { StreamEvent } from "../../src/gen/outrigger/v1/stream_event_pb.ts";
import { kindName } from "../../src/server/status/status-code.ts";
import type { LlamaServer } from "./llama-server.ts";

/** What a check runs against. */
export interface Target {
  readonly inference: Client<typeof InferenceService>;
  /** Name of the provider, one for each API of the server. */
  readonly provider: string;
  readonly server: LlamaServer;
}

type RequestInit = MessageInitShape<typeof RequestSchema>;

/** Every call gets a deadline: minutes, for a machine that is busy with other things. */
const timeoutMs = 120_000;

/** A whole answer. */
export async function checkText(target: Target): Promise<void> {
  const response = await complete(target, ask("What is the capital of France?", { maxTokens: 24 }));
  assert.notEqual(textOf(response), "", "the answer has no text");
  checkEnd(response, [FinishReason_Reason.STOP, FinishReason_Reason.LENGTH]);
}

/** A streamed answer that obeys the laws. */
export async function checkStream(target: Target): Promise<void> {
  const request = ask("Name three colours.", { maxTokens: 24 });
  const response = await streamed(target, request);
  assert.notEqual(textOf(response), "", "the answer has no text");
  checkEnd(response, [FinishReason_Reason.STOP, FinishReason_Reason.LENGTH]);
}

/** A schema that the server enforces: without it, this model does not write such an object. */
export async function checkJsonSchema(target: Target, settings: RequestInit = {}): Promise<void> {
  const request = ask("Describe the city of Oslo.", { maxTokens: 100, ...settings });
  for (const response of [await complete(target, request), await streamed(target, request)]) {
    const { name, size } = JSON.parse(textOf(response));
    assert.equal(typeof name, "string");
    assert.ok(["small", "large"].includes(size), `size is ${JSON.stringify(size)}`);
  }
}

const schemaJson = JSON.stringify({
  type: "object",
  properties: { name: { type: "string", maxLength: 20 }, size: { enum: ["small", "large"] } },
  required: ["name", "size"],
  additionalProperties: false,
});

/** A response format for `checkJsonSchema`. */
export const jsonSchemaFormat: RequestInit = {
  responseFormat: { type: ResponseFormat_Type.JSON_SCHEMA, name: "city", schemaJson, strict: true },
};

/** The same for a server that reads it in its own field only. */
export function jsonSchemaOption(provider: string): RequestInit {
  return { providerOptionsJson: { [provider]: `{"json_schema":${schemaJson}}` } };
}

/** A call of a tool, whole and streamed, and an answer that continues after its result. */
export async function checkTools(target: Target): Promise<void> {
  const request = ask("How is the weather in Oslo?", {
    maxTokens: 100,
    toolChoice: toolChoice("required"),
    tools: [{ tool: { case: "function", value: weatherTool } }],
  });
  for (const response of [await complete(target, request), await streamed(target, request)]) {
    checkEnd(response, [FinishReason_Reason.TOOL_CALLS]);
    const [call, ...others] = toolCallsOf(response);
    assert.ok(call !== undefined && response.message !== undefined, "the model called no tool");
    assert.equal(others.length, 0, "the model called several tools");
    assert.equal(call.name, "get_weather");
    assert.equal(typeof JSON.parse(toolInputOf(call)).city, "string");
    const answer = await complete(target, {
      ...ask("", { maxTokens: 24 }),
      messages: [...request.messages, response.message, toolResult(call, "sunny")],
      tools: request.tools,
    });
    assert.notEqual(textOf(answer), "", "the answer has no text");
  }
}

const weatherTool = {
  name: "get_weather",
  description: "Current weather of a city.",
  parametersJson:
    '{"type":"object","properties":{"city":{"type":"string","maxLength":20}},"required":["city"]}',
};

/** A prompt that is longer than the context. */
export async function checkOverflow(target: Target): Promise<void> {
  const request = ask("word ".repeat(4000), { maxTokens: 24 });
  for (const run of [complete, streamed]) {
    const { code, error } = await failureOf(() => run(target, request));
    assert.equal(code, Code.InvalidArgument);
    assert.equal(kindName(error.kind), "CONTEXT_LENGTH", error.message);
    assert.equal(error.retryable, false);
    assert.equal(error.providerFailure?.httpStatusCode, 400);
  }
}

/** A caller that leaves: the server stops, and its slot is free again. */
export async function checkCancellation(target: Target): Promise<void> {
  await idle(target.server);
  const leave = new AbortController();
  let busy: readonly number[] = [];
  await assert.rejects(async () => {
    const request = ask("Write a long story about a ship and its crew.", { maxTokens: LONG_TOKENS });
    for await (const { event } of target.inference.stream(route(target, request), { signal: leave.signal })) {
      if (event.case !== "textDelta" || leave.signal.aborted) continue;
      busy = (await target.server.slots()).filter((slot) => slot.is_processing).map(({ id }) => id);
      leave.abort();
    }
  }, /abort/i);
  assert.equal(busy.length, 1, `slots ${busy} were busy, expected one`);
  await idle(target.server);
  const slot = (await target.server.slots()).find(({ id }) => id === busy[0]);
  const tokens = slot?.n_prompt_tokens ?? Number.NaN;
  assert.ok(tokens < LONG_TOKENS / 2, `the server went on to ${tokens} tokens`);
}

/** Tokens of an answer that takes seconds on any machine. */
const LONG_TOKENS = 800;

/** More calls than the server has slots, each with an answer of its own. */
export async function checkEightAtOnce(target: Target): Promise<void> {
  const requests = Array.from({ length: 8 }, (_, index) =>
    ask(`Count from ${index} to ${index + 3}.`, { maxTokens: 16 }),
  );
  const responses = await Promise.all(requests.map((request) => streamed(target, request)));
  for (const response of responses) assert.notEqual(textOf(response), "", "an answer has no text");
  assert.equal(new Set(responses.map(({ inferenceId }) => inferenceId)).size, requests.length);
}

function ask(text: string, settings: RequestInit): Request {
  return create(RequestSchema, { model: "smollm2", messages: [userMessage(text)], ...settings });
}

function route({ provider }: Target, request: Request): Request {
  // Without a temperature the answer is the same in each run.
  return { ...request, provider, temperature: 0 };
}

function complete(target: Target, request: Request): Promise<Response> {
  return target.inference.complete(route(target, request), { timeoutMs });
}

/** Runs a call as a stream, checks the laws, and returns the response at its end. */
async function streamed(target: Target, request: Request): Promise<Response> {
  const laws = new LawChecker();
  let last: StreamEvent["event"] | undefined;
  for await (const event of target.inference.stream(route(target, request), { timeoutMs })) {
    laws.check(event);
    last = event.event;
  }
  laws.end();
  assert.equal(last?.case, "finish", "the last event is finish");
  const response = last?.case === "finish" ? last.value.response : undefined;
  return response ?? assert.fail("finish has no response");
}

function checkEnd({ finishReason, usage }: Response, expected: readonly FinishReason_Reason[]): void {
  const { reason, raw } = finishReason ?? assert.fail("no finish reason");
  assert.ok(expected.includes(reason), `finish reason ${reason} ("${raw}")`);
  assert.ok(usage !== undefined && usage.inputTokens > 0 && usage.outputTokens > 0, "no usage");
  assert.equal(usage.totalTokens, usage.inputTokens + usage.outputTokens);
}

async function failureOf(call: () => Promise<unknown>) {
  const thrown = await call().then(
    () => assert.fail("the call succeeded"),
    (reason: unknown) => reason,
  );
  const failure = ConnectError.from(thrown);
  const [error] = failure.findDetails(InferenceErrorSchema);
  return { code: failure.code, error: error ?? assert.fail(`no InferenceError: ${failure.message}`) };
}

/** Waits until no slot is busy. A test before may have left one that is being released. */
async function idle(server: LlamaServer): Promise<void> {
  const giveUp = performance.now() + timeoutMs;
  while ((await server.slots()).some((slot) => slot.is_processing)) {
    if (performance.now() > giveUp) assert.fail(`a slot is still busy after ${timeoutMs} ms`);
    await sleep(20);
  }
}
