import { toJson } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { defaultCatalog } from "../../../src/catalog/catalog.ts";
import { StreamAccumulator } from "../../../src/core/accumulator.ts";
import { ProviderError, SDKError, StreamError } from "../../../src/core/errors.ts";
import { ErrorKind } from "../../../src/gen/outrigger/v1/error_pb.ts";
import { Role } from "../../../src/gen/outrigger/v1/message_pb.ts";
import type { Response } from "../../../src/gen/outrigger/v1/response_pb.ts";
import { type StreamEvent, StreamEventSchema } from "../../../src/gen/outrigger/v1/stream_event_pb.ts";
import { LossReport } from "../../../src/kit/call/loss-report.ts";
import { stringifyJson } from "../../../src/kit/json/json-source.ts";
import { SseDecoder } from "../../../src/kit/stream/sse.ts";
import { StreamWriter } from "../../../src/kit/stream/stream-writer.ts";
import { ToolCallIds } from "../../../src/providers/openai-responses/context.ts";
import { toError } from "../../../src/providers/openai-responses/error.ts";
import { toConversation } from "../../../src/providers/openai-responses/input.ts";
import { toResponse } from "../../../src/providers/openai-responses/response.ts";
import { ResponsesDecoder } from "../../../src/providers/openai-responses/stream.ts";
import { decode, factsFor } from "../../support/decode.ts";
import { createRandom, hashName, splitAtRandom } from "../../support/random.ts";
import { getRecordings, type Recording, toBytes } from "../../support/recordings.ts";
import { shippedModels } from "../../support/shipped-models.ts";
import { readOutput, readParts, readStream } from "./read-recorded-answer.ts";

const PROVIDER = "openai";
const FOLDER = "openai-responses";
const streams = getRecordings(FOLDER, ".sse");
const wholes = getRecordings(FOLDER, ".json");

const decodeBytes = (chunks: Iterable<Uint8Array>, model = "gpt-test") =>
  decode(chunks, factsFor(PROVIDER, { model }), (facts, writer) => new ResponsesDecoder(facts, writer));

describe("a recorded stream of the Responses API", () => {
  it("has recordings to decode", () => expect(streams.length).toBeGreaterThan(90));

  describe.each(streams)("$file", (recording) => {
    const bytes = toBytes(recording);
    const { parts, terminal, response: object, events: native } = readStream(bytes);
    const fails = terminal.type === "response.failed" || terminal.type === "error";

    it(fails ? "ends in the error that it reports" : "loses nothing", async () => {
      const { events, error } = await decodeBytes([bytes]);
      if (fails) return expectReported(events, error);
      const response = getFinal(events);
      expect(readParts(response.message?.content ?? [])).toEqual(parts);
      expectUsage(response, object.usage);
      expect(accumulated(events)).toEqual(response);
    });

    it("gives the same events for any split of its bytes", async () => {
      const whole = await decodeBytes([bytes]);
      const random = createRandom(hashName(recording.file));
      for (const largest of [7, 64, 5000]) {
        const split = await decodeBytes(splitAtRandom(bytes, random, largest));
        expect(toComparable(split.events)).toEqual(toComparable(whole.events));
      }
    });

    it("is a stream error when it is cut between two events", async () => {
      const ends = eventEnds(bytes).slice(0, -terminals(native));
      expectUnfinished(bytes.subarray(0, ends.at(-1)));
      for (const end of sample(ends, 100)) await expectCut(bytes.subarray(0, end));
    });

    it("is a stream error when it is cut inside an event", async () => {
      const random = createRandom(hashName(`cut ${recording.file}`));
      const limit = bytes.lastIndexOf(`data: {"type":"${String(terminal.type)}"`);
      const last = limit > 0 ? limit : bytes.length / 2;
      for (let round = 0; round < 12; round += 1)
        await expectCut(bytes.subarray(0, Math.floor(random() * last)));
    });
  });
});

describe("a recorded whole answer of the Responses API", () => {
  it("has recordings to decode", () => expect(wholes.length).toBeGreaterThan(100));

  const answers = wholes.filter(isAnswer);
  it.each(answers)("$file loses nothing", (recording) => {
    const body = getBody(recording);
    const response = respond(recording);
    expect(readParts(response.message?.content ?? [])).toEqual(readOutput(body));
    expectUsage(response, body.usage);
    expect(response.id).toBe(body.id);
  });

  it.each(answers)("$file is sent back item by item unchanged", async (recording) => {
    const response = respond(recording);
    const body = getBody(recording);
    // An item whose reasoning cannot go back has no id.
    const output = list(body.output).map(({ id, ...item }) =>
      typeof body.reasoning === "string" ? item : { ...item, id },
    );
    expect(await toInput(response)).toEqual(withoutUnfinished(output).map(withoutLogprobs));
  });

  it.each(wholes.filter(({ status }) => status >= 400))("$file is the error that it reports", (recording) => {
    const error = toError({
      provider: PROVIDER,
      status: recording.status,
      headers: { get: () => undefined } as never,
      body: toBytes(recording).toString("utf8"),
      request: factsFor(PROVIDER, { model: "gpt-test" }).request,
    });
    const code = (getBody(recording).error as Record<string, unknown> | undefined)?.code;
    expect(error).toBeInstanceOf(ProviderError);
    expect(error.kind).toBe(KIND_OF_CODE[String(code)] ?? KIND_OF_STATUS[recording.status]);
    expect((error as ProviderError).httpStatusCode).toBe(recording.status);
  });
});

const KIND_OF_CODE: Record<string, ErrorKind> = {
  model_not_found: ErrorKind.NOT_FOUND,
  invalid_api_key: ErrorKind.AUTHENTICATION,
  insufficient_quota: ErrorKind.QUOTA_EXCEEDED,
};
const KIND_OF_STATUS: Record<number, ErrorKind> = {
  400: ErrorKind.INVALID_REQUEST,
  401: ErrorKind.AUTHENTICATION,
};

describe("a stream and a whole answer of the same content", () => {
  it.each(streams)("$file agree", async (recording) => {
    const { terminal, response: object } = readStream(toBytes(recording));
    // The rest have no whole answer to compare with.
    if (terminal.type !== "response.completed" || list(object.output).length === 0) return;
    if (CONTRADICTS_ITSELF.has(recording.file)) return;
    const { events } = await decodeBytes([toBytes(recording)]);
    const streamed = getFinal(events);
    const facts = factsFor(PROVIDER, { model: streamed.model });
    const whole = toResponse(JSON.stringify(object), facts);
    expect(sealed(readParts(streamed.message?.content ?? []))).toEqual(
      sealed(readParts(whole.message?.content ?? [])),
    );
    expect({ ...streamed, message: undefined }).toEqual({ ...whole, message: undefined });
  });
});

/** Recordings whose last event has another text than their deltas and items. */
const CONTRADICTS_ITSELF = new Set(["openai-responses/shell-container.1.sse"]);

/** The API encrypts content again for each event that carries it, so equal content differs in its text. */
function sealed(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value), (key, value) =>
    /^(encrypted_content|fingerprint)$/.test(key) ? "sealed" : value,
  );
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

function expectReported(events: readonly StreamEvent[], error: unknown): void {
  expect(error).toBeInstanceOf(SDKError);
  expect(error).not.toBeInstanceOf(StreamError);
  expect(events.at(-1)?.event.case).toBe("error");
}

/** Reads event by event and checks that the stream is finished after no event: it may be cut after each. */
function expectUnfinished(bytes: Uint8Array): void {
  const facts = factsFor(PROVIDER, { model: "gpt-test" });
  const writer = new StreamWriter(facts);
  const decoder = new ResponsesDecoder(facts, writer);
  const sse = new SseDecoder((event) => {
    decoder.push(event);
    decoder.end("");
    expect(writer.ended).toBe(false);
  });
  sse.push(bytes);
}

/** Evenly chosen entries, the last among them. */
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

function expectUsage(response: Response, usage: unknown): void {
  if (usage === null || usage === undefined) return expect(response.usage).toBeUndefined();
  const native = usage as Record<string, Record<string, number> & number>;
  const input = native.input_tokens ?? native.prompt_tokens ?? 0;
  const output = native.output_tokens ?? native.completion_tokens ?? 0;
  expect(response.usage).toMatchObject({
    inputTokens: input,
    outputTokens: output,
    totalTokens: input + output,
  });
  expect(response.usage?.reasoningTokens).toBe(native.output_tokens_details?.reasoning_tokens);
  expect(response.usage?.cacheReadTokens).toBe(native.input_tokens_details?.cached_tokens);
}

/** Returns the offsets after each event, at which a cut leaves whole events. */
function eventEnds(bytes: Buffer): number[] {
  const ends: number[] = [];
  for (let at = bytes.indexOf("\n\n"); at >= 0; at = bytes.indexOf("\n\n", at + 2)) ends.push(at + 2);
  return ends;
}

/** The number of events of a recording from the terminal event on. */
function terminals(events: readonly Record<string, unknown>[]): number {
  const first = events.findIndex(({ type }) =>
    /^(response\.(completed|incomplete|failed)|error)$/.test(String(type)),
  );
  return events.length - first;
}

function isAnswer(recording: Recording): boolean {
  return recording.status < 400;
}

function getBody(recording: Recording): Record<string, unknown> {
  return JSON.parse(toBytes(recording).toString("utf8"));
}

function respond(recording: Recording): Response {
  const facts = factsFor(PROVIDER, { model: String(getBody(recording).model) });
  return toResponse(toBytes(recording).toString("utf8"), facts);
}

async function toInput(response: Response): Promise<unknown> {
  const { request } = factsFor(PROVIDER, {
    model: response.model,
    messages: [
      { role: Role.USER, content: [{ part: { case: "text", value: "hi" } }] },
      response.message ?? {},
    ],
  });
  const media = () => Promise.reject(new Error("no media in these histories"));
  const loss = new LossReport();
  const toolCallIds = new ToolCallIds(loss);
  const { input } = await toConversation({
    provider: PROVIDER,
    request,
    traits: defaultCatalog.traitsOf(PROVIDER, request.model),
    models: shippedModels("openai"),
    loss,
    store: true,
    media,
    getToolCallIds: () => toolCallIds,
  });
  return JSON.parse(stringifyJson(input.slice(1)));
}

/** The items up to the last that is not reasoning: reasoning that led to nothing is refused by the API. */
function withoutUnfinished(items: Record<string, unknown>[]): Record<string, unknown>[] {
  return items.slice(0, items.findLastIndex(({ type }) => type !== "reasoning") + 1);
}

function withoutLogprobs(item: Record<string, unknown>): unknown {
  if (item.type !== "message") return item;
  const content = list(item.content).map(({ logprobs: _, ...part }) => ({
    ...part,
    ...(part.type === "output_text" ? { annotations: part.annotations ?? [] } : {}),
  }));
  return { ...item, content };
}

function list(value: unknown): Record<string, unknown>[] {
  return Array.isArray(value) ? value : [];
}

function toComparable(events: readonly StreamEvent[]): unknown {
  return events.map((event) => {
    const json = toJson(StreamEventSchema, event) as { streamStart?: { startedAt?: string } };
    delete json.streamStart?.startedAt;
    return json;
  });
}
