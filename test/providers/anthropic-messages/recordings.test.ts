import { toJson } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { defaultTraits } from "../../../src/catalog/model-traits.ts";
import { StreamAccumulator } from "../../../src/core/accumulator.ts";
import { ProviderError, StreamError } from "../../../src/core/errors.ts";
import { userMessage } from "../../../src/core/message.ts";
import { toolResult } from "../../../src/core/tools.ts";
import { ErrorKind } from "../../../src/gen/outrigger/v1/error_pb.ts";
import { FinishReason_Reason as Reason, type Response } from "../../../src/gen/outrigger/v1/response_pb.ts";
import { type StreamEvent, StreamEventSchema } from "../../../src/gen/outrigger/v1/stream_event_pb.ts";
import { LossReport } from "../../../src/kit/call/loss-report.ts";
import { createHeaders } from "../../../src/kit/http/transport.ts";
import { stringifyJson } from "../../../src/kit/json/json-source.ts";
import { SchemaBudget } from "../../../src/kit/json-schema/limits.ts";
import { SseDecoder } from "../../../src/kit/stream/sse.ts";
import { StreamWriter } from "../../../src/kit/stream/stream-writer.ts";
import { toError } from "../../../src/providers/anthropic-messages/error.ts";
import { toConversation } from "../../../src/providers/anthropic-messages/input.ts";
import { readOptions } from "../../../src/providers/anthropic-messages/options.ts";
import { toResponse } from "../../../src/providers/anthropic-messages/response.ts";
import { MessagesDecoder } from "../../../src/providers/anthropic-messages/stream.ts";
import { decode, factsFor } from "../../support/decode.ts";
import { createRandom, hashName, splitAtRandom } from "../../support/random.ts";
import { getRecordings, type Recording, toBytes } from "../../support/recordings.ts";
import { shippedModels } from "../../support/shipped-models.ts";
import { list, readContent, readParts, readStream } from "./independent-reader.ts";

const PROVIDER = "anthropic";
const FOLDER = "anthropic-messages";
const streams = getRecordings(FOLDER, ".sse");
const wholes = getRecordings(FOLDER, ".json");

/** A recording that holds two answers in one stream; the first one is cut off. */
const SPLICED = `${FOLDER}/spliced-message-start.sse`;

/** Ends in the middle of a tool call, at the limit of tokens. */
const CUT_ARGUMENTS = `${FOLDER}/sdk-incomplete-partial-json-response.sse`;

const decodeBytes = (chunks: Iterable<Uint8Array>, model = "claude-test") =>
  decode(chunks, factsFor(PROVIDER, { model }), (facts, writer) => new MessagesDecoder(facts, writer));

describe("a recorded stream of the Messages API", () => {
  it("has enough recordings", () => expect(streams.length).toBeGreaterThan(80));

  const finished = streams.filter((recording) => ends(recording));
  describe.each(finished)("$file", (recording) => {
    const bytes = toBytes(recording);
    const { message = {}, events: native } = readStream(bytes);

    it("is read completely", async () => {
      const { events, error } = await decodeBytes([bytes]);
      expect(error).toBeUndefined();
      const response = getFinal(events);
      const contents = readContent(message);
      expect(readParts(response.message?.content ?? [], contents)).toEqual(contents);
      expectEnvelope(response, message);
      expect(accumulated(events)).toEqual(response);
    });

    it("gives the same events for every split of its bytes", async () => {
      const whole = await decodeBytes([bytes]);
      const random = createRandom(hashName(recording.file));
      for (const largest of [7, 64, 5000]) {
        const split = await decodeBytes(splitAtRandom(bytes, random, largest));
        expect(toComparable(split.events)).toEqual(toComparable(whole.events));
      }
    });

    it("is never finished if it is cut between two events", async () => {
      const last = bytes.lastIndexOf("event: message_stop");
      expect(expectUnfinished(bytes.subarray(0, last))).toBe(native.length - 1);
      for (const end of sample(eventEnds(bytes.subarray(0, last)), 30))
        await expectCut(bytes.subarray(0, end));
    });

    it("is never finished if it is cut at any byte", async () => {
      const random = createRandom(hashName(`cut ${recording.file}`));
      const last = bytes.lastIndexOf("message_stop");
      for (let round = 0; round < 12; round += 1)
        await expectCut(bytes.subarray(0, Math.floor(random() * last)));
    });

    it("is sent back block by block unchanged", async () => {
      const response = getFinal((await decodeBytes([bytes])).events);
      expect(await sentBack(response)).toEqual(sendable(message.content));
    });

    it("has the message that its events add up to as raw_json", async () => {
      const facts = factsFor(PROVIDER, { model: "claude-test", includeRaw: true });
      const { events } = await decode([bytes], facts, (call, writer) => new MessagesDecoder(call, writer));
      const raw = JSON.parse(getFinal(events).rawJson);
      expect(withoutNulls(raw)).toEqual(
        withoutNulls({ ...message, content: list(message.content).map(withInput) }),
      );
    });

    // A whole answer has no form for arguments that were cut off.
    if (recording.file === CUT_ARGUMENTS) return;
    it("equals a whole answer of the same content", async () => {
      const streamed = getFinal((await decodeBytes([bytes])).events);
      const whole = respond(JSON.stringify({ ...message, content: list(message.content).map(withInput) }));
      const contents = readContent({ ...message, content: list(message.content).map(withInput) });
      expect(readParts(streamed.message?.content ?? [], contents)).toEqual(
        readParts(whole.message?.content ?? [], contents),
      );
      const envelope = { message: undefined, rawJson: "" };
      expect({ ...streamed, ...envelope }).toEqual({ ...whole, ...envelope });
    });
  });
});

describe("a recorded stream with a failure", () => {
  it("ends in the provider's error if that is the first event", async () => {
    const { events, error } = await decodeBytes([toFile("overloaded-error-first-event.sse")]);
    expect(events).toEqual([]);
    expect(error).toMatchObject({ kind: ErrorKind.SERVER, retryable: true, outputStarted: false });
    expect((error as ProviderError).errorCode).toBe("overloaded_error");
  });

  it("ends in the provider's error with the usage so far", async () => {
    const { events, error } = await decodeBytes([toFile("overloaded-error-mid-stream.sse")]);
    expect(events.map(({ event }) => event.case)).toEqual(["streamStart", "textStart", "textDelta", "error"]);
    expect(error).toMatchObject({ kind: ErrorKind.SERVER, retryable: true, outputStarted: true });
    expect((error as ProviderError).usage).toMatchObject({ inputTokens: 17, outputTokens: 1 });
  });

  it("is a STREAM error if another message begins in it", async () => {
    const { events, error } = await decodeBytes([toFile("spliced-message-start.sse")]);
    expect(error).toBeInstanceOf(StreamError);
    expect(events.at(-1)?.event.case).toBe("error");
    expect(events.filter(({ event }) => event.case === "toolCallEnd")).toEqual([]);
  });

  it("keeps arguments that were cut off and marks them as invalid", async () => {
    const { events } = await decodeBytes([toFile("sdk-incomplete-partial-json-response.sse")]);
    const response = getFinal(events);
    const part = response.message?.content.at(-1)?.part;
    expect(part?.case === "toolCall" && part.value.argumentsInvalid).toBe(true);
    expect(part?.case === "toolCall" && part.value.input.value).toMatch(/Filing taxes$/);
    expect(response.finishReason).toMatchObject({ reason: Reason.LENGTH, raw: "max_tokens" });
  });
});

describe("a recorded whole answer of the Messages API", () => {
  it("has enough recordings", () => expect(wholes.length).toBeGreaterThan(90));

  const answers = wholes.filter(({ status }) => status < 400);
  it.each(answers)("of $file is read completely", (recording) => {
    const body = getBody(recording);
    const response = respond(toBytes(recording).toString("utf8"));
    const contents = readContent(body);
    expect(readParts(response.message?.content ?? [], contents)).toEqual(contents);
    expectEnvelope(response, body);
  });

  it.each(answers)("of $file is sent back block by block unchanged", async (recording) => {
    const response = respond(toBytes(recording).toString("utf8"));
    expect(await sentBack(response)).toEqual(sendable(getBody(recording).content));
  });

  it.each(wholes.filter(({ status }) => status >= 400))(
    "of $file gives the error that it reports",
    (recording) => {
      const body = getBody(recording) as { error: { type: string }; request_id: string | null };
      const error = toError({
        provider: PROVIDER,
        status: recording.status,
        headers: createHeaders({}),
        body: toBytes(recording).toString("utf8"),
        request: factsFor(PROVIDER, { model: "claude-test" }).request,
      });
      expect(error).toBeInstanceOf(ProviderError);
      expect(error.kind).toBe(KIND_OF_STATUS[recording.status]);
      expect(error).toMatchObject({
        httpStatusCode: recording.status,
        errorCode: body.error.type,
        retryable: false,
      });
      expect((error as ProviderError).requestId).toBe(body.request_id ?? "");
    },
  );
});

const KIND_OF_STATUS: Record<number, ErrorKind> = {
  400: ErrorKind.INVALID_REQUEST,
  401: ErrorKind.AUTHENTICATION,
  404: ErrorKind.NOT_FOUND,
};

/** Usage as the API's documentation defines it, independent of the adapter. */
const REASONS: Record<string, Reason> = {
  end_turn: Reason.STOP,
  stop_sequence: Reason.STOP,
  max_tokens: Reason.LENGTH,
  tool_use: Reason.TOOL_CALLS,
  refusal: Reason.CONTENT_FILTER,
};

function expectEnvelope(response: Response, message: Record<string, unknown>): void {
  expect(response.id).toBe(message.id);
  expect(response.model).toBe(message.model);
  expect(response.finishReason).toMatchObject({
    reason: REASONS[String(message.stop_reason)],
    raw: message.stop_reason,
    stopSequence: message.stop_sequence ?? "",
  });
  const usage = message.usage as Record<string, number> & { output_tokens_details?: Record<string, number> };
  const cacheRead = usage.cache_read_input_tokens;
  const cacheWrite = usage.cache_creation_input_tokens;
  const input = (usage.input_tokens ?? 0) + (cacheRead ?? 0) + (cacheWrite ?? 0);
  expect(response.usage).toMatchObject({
    inputTokens: input,
    outputTokens: usage.output_tokens,
    totalTokens: input + (usage.output_tokens ?? 0),
  });
  expect(response.usage?.cacheReadTokens).toBe(cacheRead);
  expect(response.usage?.cacheWriteTokens).toBe(cacheWrite);
  expect(response.usage?.reasoningTokens).toBe(usage.output_tokens_details?.thinking_tokens);
}

function ends(recording: Recording): boolean {
  return recording.file !== SPLICED && readStream(toBytes(recording)).error === undefined;
}

function toFile(name: string): Buffer {
  const recording = streams.find(({ file }) => file === `${FOLDER}/${name}`);
  if (recording === undefined) throw new Error(`no recording ${name}`);
  return toBytes(recording);
}

function getFinal(events: readonly StreamEvent[]): Response {
  const last = events.at(-1)?.event;
  if (last?.case !== "finish" || last.value.response === undefined)
    throw new Error(`the stream ended with ${last?.case}`);
  return last.value.response;
}

function accumulated(events: readonly StreamEvent[]): Response {
  const accumulator = new StreamAccumulator();
  for (const event of events) accumulator.process(event);
  return accumulator.response();
}

/** Decodes event by event and checks that the stream is finished after no event: it may be cut after each. */
function expectUnfinished(bytes: Uint8Array): number {
  const facts = factsFor(PROVIDER, { model: "claude-test" });
  const writer = new StreamWriter(facts);
  const decoder = new MessagesDecoder(facts, writer);
  let count = 0;
  const sse = new SseDecoder((event) => {
    count += 1;
    decoder.push(event);
    decoder.end("");
    expect(writer.ended).toBe(false);
  });
  sse.push(bytes);
  return count;
}

/** Evenly chosen entries, including the last. */
function sample(entries: readonly number[], most: number): number[] {
  const step = Math.max(1, entries.length / most);
  return Array.from(
    { length: Math.min(most, entries.length) },
    (_, index) => entries[entries.length - 1 - Math.floor(index * step)] ?? 0,
  );
}

async function expectCut(bytes: Uint8Array): Promise<void> {
  const { events, error } = await decodeBytes([bytes]);
  expect(error).toBeInstanceOf(StreamError);
  expect((error as StreamError).kind).toBe(ErrorKind.STREAM);
  if (events.length > 0) expect(events.at(-1)?.event.case).toBe("error");
}

/** Returns the offsets after each event, at which a cut leaves whole events. */
function eventEnds(bytes: Buffer): number[] {
  const ends: number[] = [];
  for (let at = bytes.indexOf("\n\n"); at >= 0; at = bytes.indexOf("\n\n", at + 2)) ends.push(at + 2);
  return ends;
}

function getBody(recording: Recording): Record<string, unknown> {
  return JSON.parse(toBytes(recording).toString("utf8"));
}

function respond(body: string): Response {
  const facts = factsFor(PROVIDER, { model: "claude-test" });
  return toResponse(body, facts);
}

/** The blocks of an answer as the next request has them, its tool calls answered. */
async function sentBack(response: Response): Promise<unknown> {
  const calls = (response.message?.content ?? []).flatMap(({ part }) =>
    part.case === "toolCall" ? [part.value.id] : [],
  );
  const { request } = factsFor(PROVIDER, {
    model: response.model,
    messages: [
      userMessage("hi"),
      response.message ?? {},
      ...calls.map((toolCallId) => toolResult(toolCallId, "done")),
      userMessage("go on"),
    ],
  });
  const conversation = await toConversation({
    provider: PROVIDER,
    apiVersion: "2023-06-01",
    request,
    traits: defaultTraits,
    models: shippedModels("anthropic"),
    options: readOptions(request, PROVIDER),
    loss: new LossReport(),
    budget: new SchemaBudget(),
    media: () => Promise.reject(new Error("no media in these histories")),
  });
  const answers = conversation.messages.filter(({ role }) => role === "assistant");
  return JSON.parse(stringifyJson(answers.flatMap(({ content }) => content)));
}

/**
 * The blocks of an answer that the API takes back: no blank text, no thinking without a signature, input that is an
 * object.
 */
function sendable(content: unknown): unknown {
  return list(content)
    .map(withInput)
    .filter(({ type, text }) => type !== "text" || String(text).trim() !== "")
    .filter(({ type, signature }) => type !== "thinking" || Boolean(signature))
    .map((block) => {
      if (block.type !== "text") return block;
      const { citations, ...rest } = block;
      return list(citations).length === 0 ? rest : block;
    });
}

/** A block whose input was streamed, with the input parsed; invalid JSON is wrapped in an object. */
function withInput(block: Record<string, unknown>): Record<string, unknown> {
  const { json, ...rest } = (block.input ?? {}) as Record<string, unknown>;
  if (block.type !== "tool_use" || typeof json !== "string" || Object.keys(rest).length > 0) return block;
  try {
    return { ...block, input: JSON.parse(json) };
  } catch {
    return { ...block, input: { invalid_arguments: json } };
  }
}

/** Returns a value without nulls, which later events leave out. */
function withoutNulls(wire: unknown): unknown {
  return JSON.parse(JSON.stringify(wire, (_, value) => (value === null ? undefined : value)));
}

function toComparable(events: readonly StreamEvent[]): unknown {
  return events.map((event) => {
    const json = toJson(StreamEventSchema, event) as { streamStart?: { startedAt?: string } };
    delete json.streamStart?.startedAt;
    return json;
  });
}
