/** Checks of GenerationService, without the tool loop. */
import assert from "node:assert/strict";
import { LawChecker } from "../../src/core/laws.ts";
import { textOf } from "../../src/core/message.ts";
import {
  type GenerateResult,
  GenerateResult_StopReason as StopReason,
} from "../../src/gen/outrigger/v1/generation_pb.ts";
import type {
  ObjectFormat_Strategy as Strategy,
  StreamGenerateResponse,
  StreamObjectResponse,
} from "../../src/gen/outrigger/v1/generation_service_pb.ts";
import { FinishReason_Reason } from "../../src/gen/outrigger/v1/response_pb.ts";
import { kindName } from "../../src/server/status/status-code.ts";
import { growsInto } from "../kit/json/json-texts.ts";
import {
  checkCity,
  checkEnd,
  checkUsage,
  citySchema,
  getErrorOptions,
  MODEL,
  type Target,
  toFailure,
} from "./target.ts";

/** A whole generation. */
export async function checkGenerate(target: Target): Promise<void> {
  const options = {
    ...getErrorOptions(target, "Name three colours.", { maxTokens: 24 }),
    system: "You are a painter.",
  };
  const { result } = await target.generation.generate({ options });
  checkCompleted(result, target);
}

/** A streamed generation: the deltas are the text of the result. */
export async function checkStreamGenerate(target: Target): Promise<void> {
  await streamedText(target, "What is the capital of Norway?");
}

/** More generations than the server has slots, each with a different answer. */
export async function checkEightGenerations(target: Target): Promise<void> {
  const prompts = Array.from({ length: 8 }, (_, index) => `Count from ${index} to ${index + 3}.`);
  const results = await Promise.all(prompts.map((prompt) => streamedText(target, prompt)));
  const ids = results.flatMap(({ attempts }) => attempts.map(({ inferenceId }) => inferenceId));
  assert.equal(new Set(ids).size, prompts.length);
}

/** Runs a streamed generation, and checks the order of its messages. */
async function streamedText(target: Target, prompt: string): Promise<GenerateResult> {
  const options = getErrorOptions(target, prompt, { maxTokens: 16 });
  const messages = await collected(target.generation.streamGenerate({ options }));
  const result = checkOrder(messages);
  const deltas = messages.map(({ message }) =>
    message.case === "event" && message.value.event.case === "textDelta"
      ? message.value.event.value.delta
      : "",
  );
  assert.equal(deltas.join(""), textOf(result.response));
  checkCompleted(result, target);
  return result;
}

/** Events under the laws of a stream, then the step, then the result. Partial objects may stand among the events. */
function checkOrder(messages: readonly (StreamGenerateResponse | StreamObjectResponse)[]): GenerateResult {
  const laws = new LawChecker();
  for (const [index, { sequence, step, message }] of messages.entries()) {
    assert.deepEqual({ sequence, step }, { sequence: index, step: 1 });
    if (message.case === "event") laws.check(message.value);
  }
  laws.end();
  const [finish, last] = messages.slice(-2).map(({ message }) => message);
  assert.ok(finish?.case === "stepFinish", `${finish?.case} before the end, expected step_finish`);
  assert.ok(last?.case === "result", `${last?.case} at the end, expected result`);
  assert.deepEqual(finish.value.result, last.value.steps[0]);
  return last.value;
}

function checkCompleted(result: GenerateResult | undefined, { provider }: Target): void {
  const { steps, attempts, response, totalUsage, stopReason } = result ?? assert.fail("no result");
  assert.equal(stopReason, StopReason.COMPLETED);
  assert.ok(steps.length === 1 && response !== undefined, `${steps.length} steps, expected one`);
  assert.notEqual(textOf(response), "", "the answer has no text");
  checkEnd(response, [FinishReason_Reason.STOP, FinishReason_Reason.LENGTH]);
  assert.deepEqual(steps[0]?.response, response);
  assert.deepEqual(totalUsage, response.usage);
  assert.deepEqual(
    attempts.map((each) => [each.provider, each.model, each.step, each.inferenceId, each.error]),
    [[provider, MODEL, 1, response.inferenceId, undefined]],
  );
}

/** An object of which the server enforces the schema. */
export async function checkObject(target: Target, strategy: Strategy): Promise<void> {
  const { result } = await target.generation.generateObject(objectRequest(target, strategy));
  checkCity(result?.outputJson ?? "");
  checkUsage(result?.totalUsage);
  assert.equal(result?.attempts.length, 1);
}

/** The same as a stream: each partial object is a part of the next, and the last one of the result. */
export async function checkStreamObject(target: Target, strategy: Strategy): Promise<void> {
  const request = { ...objectRequest(target, strategy), includeEvents: true };
  const messages = await collected(target.generation.streamObject(request));
  const { outputJson } = checkOrder(messages);
  checkCity(outputJson);
  const partials = messages.flatMap(({ message }) =>
    message.case === "partialObject" ? [message.value.objectJson] : [],
  );
  assert.ok(partials.length > 1, `${partials.length} partial objects, expected several`);
  const values = [...partials, outputJson].map((json): unknown => JSON.parse(json));
  for (const [index, later] of values.entries()) {
    assert.ok(growsInto(values[index - 1], later), `${partials[index - 1]} does not grow into the next`);
  }
}

/**
 * An object without enforcement: it matches the schema, or the error has the text and the problem.
 */
export async function checkObjectOrText(target: Target, strategy: Strategy): Promise<void> {
  try {
    await checkObject(target, strategy);
  } catch (thrown) {
    if (thrown instanceof assert.AssertionError) throw thrown;
    const { error } = toFailure(thrown);
    assert.equal(kindName(error.kind), "NO_OBJECT_GENERATED", error.message);
    assert.equal(error.retryable, false);
    assert.ok(error.noObject !== undefined && error.noObject.text !== "", "the error has no text");
    assert.notEqual(error.noObject.violations.length, 0, "the error does not say what is wrong");
    checkUsage(error.usage);
  }
}

function objectRequest(target: Target, strategy: Strategy) {
  const object = { schemaJson: JSON.stringify(citySchema), name: "city", strategy };
  return { options: getErrorOptions(target, "Describe the city of Oslo.", { maxTokens: 100 }), object };
}

async function collected<Message>(stream: AsyncIterable<Message>): Promise<Message[]> {
  const messages: Message[] = [];
  for await (const message of stream) messages.push(message);
  return messages;
}
