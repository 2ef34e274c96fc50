/** The server under test, and the requests of the checks. */
import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { type Client, ConnectError, type Transport } from "@connectrpc/connect";
import { userMessage } from "../../src/core/message.ts";
import { InferenceErrorSchema } from "../../src/gen/outrigger/v1/error_pb.ts";
import type { GenerationService } from "../../src/gen/outrigger/v1/generation_service_pb.ts";
import type { InferenceService } from "../../src/gen/outrigger/v1/inference_service_pb.ts";
import { type Request, RequestSchema } from "../../src/gen/outrigger/v1/request_pb.ts";
import type { FinishReason_Reason, Response } from "../../src/gen/outrigger/v1/response_pb.ts";
import type { Usage } from "../../src/gen/outrigger/v1/usage_pb.ts";
import type { LlamaServer } from "./llama-server.ts";

/** The clients, the provider and the server that a check uses. */
export interface Target {
  readonly inference: Client<typeof InferenceService>;
  readonly generation: Client<typeof GenerationService>;
  /** Carries the calls of both. Gives each call a deadline. */
  readonly transport: Transport;
  /** Name of the provider, one for each API of the server. */
  readonly provider: string;
  readonly server: LlamaServer;
}

export type RequestInit = MessageInitShape<typeof RequestSchema>;

/** Longest duration of a call: minutes, for a machine that is busy with other things. */
export const TIMEOUT_MS = 120_000;

/** Tokens of an answer that takes seconds on any machine. */
export const LONG_TOKENS = 800;

/** The model, as all APIs of the server name it. */
export const MODEL = "smollm2";

export function ask(text: string, settings: RequestInit): Request {
  return create(RequestSchema, { model: MODEL, messages: [userMessage(text)], ...settings });
}

export function route({ provider }: Target, request: Request): Request {
  // Without a temperature the answer is the same in each run.
  return { ...request, provider, temperature: 0 };
}

/** Options of a generation. Calls are not repeated: a retry would hide that one failed. */
export function getErrorOptions({ provider }: Target, prompt: string, settings: RequestInit) {
  const request = { model: MODEL, provider, temperature: 0, ...settings };
  return { prompt, request, retry: { maxRetries: 0 } };
}

/** Arguments of the tool. Of limited length, like the properties of the object. */
export const weatherSchema = {
  type: "object",
  properties: { city: { type: "string", maxLength: 20 } },
  required: ["city"],
};

export const weatherTool = {
  name: "get_weather",
  description: "Current weather of a city.",
  parametersJson: JSON.stringify(weatherSchema),
};

/** The schema of an object, of limited length, so that a model that is held to the schema comes to its end. */
export const citySchema = {
  type: "object",
  properties: { name: { type: "string", maxLength: 20 }, size: { enum: ["small", "large"] } },
  required: ["name", "size"],
  additionalProperties: false,
};

export function checkCity(json: string): void {
  const { name, size } = JSON.parse(json);
  assert.equal(typeof name, "string");
  assert.ok(["small", "large"].includes(size), `size is ${JSON.stringify(size)}`);
}

export function checkEnd({ finishReason, usage }: Response, expected: readonly FinishReason_Reason[]): void {
  const { reason, raw } = finishReason ?? assert.fail("no finish reason");
  assert.ok(expected.includes(reason), `finish reason ${reason} ("${raw}")`);
  checkUsage(usage);
}

export function checkUsage(usage: Usage | undefined): void {
  assert.ok(usage !== undefined && usage.inputTokens > 0 && usage.outputTokens > 0, "no usage");
  assert.equal(usage.totalTokens, usage.inputTokens + usage.outputTokens);
}

/** The code and the error of a failed call. */
export function toFailure(thrown: unknown) {
  const failure = ConnectError.from(thrown);
  const [error] = failure.findDetails(InferenceErrorSchema);
  return { code: failure.code, error: error ?? assert.fail(`no InferenceError: ${failure.message}`) };
}

/** A caller that disconnects while the model writes. */
export interface Leaver {
  /** Of the call. */
  readonly signal: AbortSignal;
  /** Disconnects. To be called at the first output. */
  leave(): Promise<void>;
}

/**
 * Checks that the server stops when a caller disconnects, and that its slot is free again.
 * @param run Makes a call whose answer has `LONG_TOKENS`, and ends when the call has ended.
 */
export async function checkLeaving(
  server: LlamaServer,
  run: (caller: Leaver) => Promise<void>,
): Promise<void> {
  await idle(server);
  const controller = new AbortController();
  let busy: readonly number[] = [];
  const leave = async () => {
    busy = (await server.slots()).filter((slot) => slot.is_processing).map(({ id }) => id);
    controller.abort();
  };
  await run({ signal: controller.signal, leave });
  assert.equal(busy.length, 1, `slots ${busy} were busy, expected one`);
  await idle(server);
  const slot = (await server.slots()).find(({ id }) => id === busy[0]);
  const tokens = slot?.n_prompt_tokens ?? Number.NaN;
  assert.ok(tokens < LONG_TOKENS / 2, `the server went on to ${tokens} tokens`);
}

/** Waits until no slot is busy. An earlier check may have left a slot that is being released. */
async function idle(server: LlamaServer): Promise<void> {
  const giveUp = performance.now() + TIMEOUT_MS;
  while ((await server.slots()).some((slot) => slot.is_processing)) {
    if (performance.now() > giveUp) assert.fail(`a slot is still busy after ${TIMEOUT_MS} ms`);
    await sleep(20);
  }
}
