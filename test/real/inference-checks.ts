/** Checks against a real server, for each of its APIs. */
import assert from "node:assert/strict";
import { Code } from "@connectrpc/connect";
import { LawChecker } from "../../src/core/laws.ts";
import { textOf, toolCallsOf } from "../../src/core/message.ts";
import { toolChoice, toolInputOf, toolResult } from "../../src/core/tools.ts";
import { type Request, ResponseFormat_Type } from "../../src/gen/outrigger/v1/request_pb.ts";
import { FinishReason_Reason, type Response } from "../../src/gen/outrigger/v1/response_pb.ts";
import type { StreamEvent } from "../../src/gen/outrigger/v1/stream_event_pb.ts";
import { kindName } from "../../src/server/status/status-code.ts";
import {
  ask,
  checkCity,
  checkEnd,
  checkLeaving,
  citySchema,
  LONG_TOKENS,
  type RequestInit,
  route,
  type Target,
  toFailure,
  weatherTool,
} from "./target.ts";

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
    checkCity(textOf(response));
  }
}

const schemaJson = JSON.stringify(citySchema);

/** A response format for `checkJsonSchema`. */
export const jsonSchemaFormat: RequestInit = {
  responseFormat: { type: ResponseFormat_Type.JSON_SCHEMA, name: "city", schemaJson, strict: true },
};

/** The same for a server that reads it in its proprietary field only. */
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

/** A prompt that is longer than the context. */
export async function checkOverflow(target: Target): Promise<void> {
  const request = ask("word ".repeat(4000), { maxTokens: 24 });
  for (const run of [complete, streamed]) {
    const thrown = await run(target, request).then(
      () => assert.fail("the call succeeded"),
      (reason: unknown) => reason,
    );
    const { code, error } = toFailure(thrown);
    assert.equal(code, Code.InvalidArgument);
    assert.equal(kindName(error.kind), "CONTEXT_LENGTH", error.message);
    assert.equal(error.retryable, false);
    assert.equal(error.providerFailure?.httpStatusCode, 400);
  }
}

/** If a caller disconnects, the server stops and its slot is free again. */
export function checkCancellation(target: Target): Promise<void> {
  const request = ask("Write a long story about a ship and its crew.", { maxTokens: LONG_TOKENS });
  return checkLeaving(target.server, ({ signal, leave }) =>
    assert.rejects(async () => {
      for await (const { event } of target.inference.stream(route(target, request), { signal })) {
        if (event.case === "textDelta" && !signal.aborted) await leave();
      }
    }, /abort/i),
  );
}

/** More calls than the server has slots, each with a different answer. */
export async function checkEightAtOnce(target: Target): Promise<void> {
  const requests = Array.from({ length: 8 }, (_, index) =>
    ask(`Count from ${index} to ${index + 3}.`, { maxTokens: 16 }),
  );
  const responses = await Promise.all(requests.map((request) => streamed(target, request)));
  for (const response of responses) assert.notEqual(textOf(response), "", "an answer has no text");
  assert.equal(new Set(responses.map(({ inferenceId }) => inferenceId)).size, requests.length);
}

function complete(target: Target, request: Request): Promise<Response> {
  return target.inference.complete(route(target, request));
}

/** Runs a call as a stream, checks the laws, and returns the response at its end. */
async function streamed(target: Target, request: Request): Promise<Response> {
  const laws = new LawChecker();
  let last: StreamEvent["event"] | undefined;
  for await (const event of target.inference.stream(route(target, request))) {
    laws.check(event);
    last = event.event;
  }
  laws.end();
  assert.equal(last?.case, "finish", "the last event is finish");
  const response = last?.case === "finish" ? last.value.response : undefined;
  return response ?? assert.fail("finish has no response");
}
