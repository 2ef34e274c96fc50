import { describe, expect, it } from "vitest";
import { StreamAccumulator } from "../../../src/core/accumulator.ts";
import { ProviderError, StreamError } from "../../../src/core/errors.ts";
import { userMessage } from "../../../src/core/message.ts";
import { ErrorKind } from "../../../src/gen/outrigger/v1/error_pb.ts";
import { Role } from "../../../src/gen/outrigger/v1/message_pb.ts";
import type { Response } from "../../../src/gen/outrigger/v1/response_pb.ts";
import type { StreamEvent } from "../../../src/gen/outrigger/v1/stream_event_pb.ts";
import { SseDecoder } from "../../../src/kit/stream/sse.ts";
import { StreamWriter } from "../../../src/kit/stream/stream-writer.ts";
import { toError } from "../../../src/providers/openai-chat/error.ts";
import { ChatDecoder } from "../../../src/providers/openai-chat/stream.ts";
import { factsFor } from "../../support/decode.ts";
import { createRandom, hashName, splitAtRandom } from "../../support/random.ts";
import { getRecordings, type Recording, toBytes } from "../../support/recordings.ts";
import { list, readBody, readParts, readStream, toMessage, type Wire } from "./reading.ts";
import {
  decodeBytes,
  eventsJson,
  getFinal,
  PROVIDER,
  profile,
  respond,
  responseJson,
  sent,
  toMessages,
} from "./support.ts";

const FOLDER = "openai-chat";
const BROKEN = ["groq-error-mid-stream.sse", "unparsable-chunk.sse"].map((name) => `${FOLDER}/${name}`);
const allStreams = getRecordings(FOLDER, ".sse");
const streams = allStreams.filter(({ file }) => !BROKEN.includes(file));
const wholes = getRecordings(FOLDER, ".json").filter(({ status }) => status < 400);
const failures = getRecordings(FOLDER, ".json").filter(({ status }) => status >= 400);

/** The members of a stream come in another order. */
function toMetadata({ providerMetadataJson }: Response): unknown {
  return providerMetadataJson === "" ? {} : JSON.parse(providerMetadataJson);
}

function withoutMetadata(response: Response) {
  return responseJson({ ...response, providerMetadataJson: "" });
}

describe("a recorded stream of the Chat Completions API", () => {
  it("exists for every kind of server", () => expect(allStreams).toHaveLength(119));

  describe.each(streams)("$file", (recording) => {
    const bytes = toBytes(recording);
    const { body } = readStream(bytes);

    it("is decoded without loss", async () => {
      const { events, error } = await decodeBytes([bytes]);
      expect(error).toBeUndefined();
      const response = getFinal({ events, error });
      expect(readParts(response.message?.content ?? [])).toEqual(readBody(body));
      expect({ id: response.id, model: response.model }).toEqual({ id: body.id, model: body.model });
      expectUsage(response, body.usage);
      expect(response.warnings.map(({ code }) => code)).toEqual(WARNED[recording.file] ?? []);
      expect(accumulated(events)).toEqual(response);
    });

    it("gives the same events however its bytes are split", async () => {
      const whole = await decodeBytes([bytes]);
      const random = createRandom(hashName(recording.file));
      for (const largest of [7, 64, 5000]) {
        const split = await decodeBytes(splitAtRandom(bytes, random, largest));
        expect(eventsJson(split.events)).toEqual(eventsJson(whole.events));
      }
    });

    it("agrees with the same answer read as a whole", async () => {
      const streamed = getFinal(await decodeBytes([bytes]));
      const whole = respond(body);
      expect(toMetadata(streamed)).toEqual(toMetadata(whole));
      expect(withoutMetadata(streamed)).toEqual(withoutMetadata(whole));
    });

    it("is sent back unchanged", async () => {
      const streamed = getFinal(await decodeBytes([bytes]));
      expect(await sentBack(streamed)).toEqual(expectedBack(body));
    });

    it("never finishes when it is cut before its finish reason", async () => {
      const end = finishStart(bytes);
      expectUnfinished(bytes.subarray(0, end));
      for (const cut of sample(eventEnds(bytes, end), 12)) await expectCut(bytes.subarray(0, cut));
      const random = createRandom(hashName(`cut ${recording.file}`));
      for (let round = 0; round < 12; round += 1)
        await expectCut(bytes.subarray(0, Math.floor(random() * end)));
    });

    it("never finishes without its end marker if the profile requires it", async () => {
      const end = bytes.lastIndexOf("data: [DONE]");
      await expectCut(bytes.subarray(0, end < 0 ? bytes.length : end), { requireDone: true });
    });
  });
});

describe("a recorded stream that was broken on purpose", () => {
  it.each(allStreams.filter(({ file }) => BROKEN.includes(file)))(
    "$file ends in its error",
    async (recording) => {
      const { events, error } = await decodeBytes([toBytes(recording)]);
      expect(events).toEqual([]);
      if (recording.file.includes("unparsable")) expect(error).toBeInstanceOf(StreamError);
      else
        expect(error).toMatchObject({ kind: ErrorKind.INVALID_REQUEST, errorCode: "invalid_request_error" });
    },
  );
});

describe("a recorded whole answer of the Chat Completions API", () => {
  it("exists for every kind of server", () => expect(wholes).toHaveLength(114));

  it.each(wholes)("is read without loss: $file", (recording) => {
    const body = getBody(recording);
    const response = respond(body);
    expect(readParts(response.message?.content ?? [])).toEqual(readBody(body));
    expectUsage(response, body.usage);
    expect(response.id).toBe(body.id ?? "");
  });

  it.each(wholes)("is sent back unchanged: $file", async (recording) => {
    const body = getBody(recording);
    expect(await sentBack(respond(body))).toEqual(expectedBack(body));
  });

  it.each(failures)("is the error that it reports: $file", (recording) => {
    const error = toError(
      {
        provider: PROVIDER,
        status: recording.status,
        headers: { get: () => undefined } as never,
        body: toBytes(recording).toString("utf8"),
        request: factsFor(PROVIDER, { model: "model-1" }).request,
      },
      profile(),
    );
    expect(error).toBeInstanceOf(ProviderError);
    expect(error.kind).toBe(KIND_OF_FAILURE[recording.file.slice(FOLDER.length + 1)]);
    expect((error as ProviderError).httpStatusCode).toBe(recording.status);
  });
});

const WARNED: Record<string, string[]> = {
  "openai-chat/openai-sdk-stream-three-choices-a491ad.sse": ["further_candidates"],
  // Its usage has more cached tokens than prompt tokens.
  "openai-chat/mistral-stream-reasoning-model-1-1.sse": ["count_mismatch"],
};

const KIND_OF_FAILURE: Record<string, ErrorKind> = {
  "error-identity-chat-completions-validation-error-carries-identity.json": ErrorKind.INVALID_REQUEST,
  "llamacpp-error-context-overflow-blocking.json": ErrorKind.CONTEXT_LENGTH,
  "llamacpp-error-malformed-request-field.json": ErrorKind.INVALID_REQUEST,
  "llamacpp-error-missing-api-key-is-401.json": ErrorKind.AUTHENTICATION,
  "llamacpp-error-tools-without-jinja.json": ErrorKind.SERVER,
  "reasoning-model-legacy-parameter-error.json": ErrorKind.INVALID_REQUEST,
};

function accumulated(events: readonly StreamEvent[]): Response {
  const accumulator = new StreamAccumulator();
  for (const event of events) accumulator.process(event);
  return accumulator.response();
}

/** Returns the message of an answer in the next request, or undefined if it was left out. */
async function sentBack(response: Response): Promise<Wire | undefined> {
  const calls = response.message?.content.flatMap(({ part }) =>
    part.case === "toolCall" ? [part.value.id] : [],
  );
  const results = (calls ?? []).map((toolCallId) => ({ role: Role.TOOL, toolCallId, content: [] }));
  const history = [userMessage("hi"), response.message ?? {}, ...results];
  const { body } = await sent(
    { model: response.model, messages: history },
    { replayReasoning: true, parsesArguments: false },
  );
  return toMessages(body).find(({ role }) => role === "assistant");
}

/** The fields of a message that a server takes back: all but those that are only informative. */
function expectedBack(body: Wire): Wire | undefined {
  const message = toMessage(body);
  const details = list(message.reasoning_details);
  const reasoning = ["reasoning_content", "reasoning"].find((key) => message[key]);
  const calls = list(message.tool_calls).map(({ index: _, ...call }) => withDefaults(call));
  const back: Wire = {
    role: "assistant",
    content: message.content || null,
    ...(message.refusal ? { refusal: message.refusal } : {}),
    ...(details.length > 0
      ? { reasoning_details: details }
      : reasoning
        ? { [reasoning]: message[reasoning] }
        : {}),
    ...(calls.length > 0 ? { tool_calls: calls } : {}),
  };
  return back.content === null && Object.keys(back).length === 2 ? undefined : back;
}

function withDefaults(call: Wire): Wire {
  const called = call.function as Wire;
  return { ...call, type: "function", function: { ...called, arguments: called.arguments || "{}" } };
}

function expectUsage(response: Response, usage: unknown): void {
  if (usage === null || usage === undefined) return expect(response.usage).toBeUndefined();
  const native = usage as Record<string, number & Record<string, number>>;
  const input = native.prompt_tokens ?? 0;
  const written = native.completion_tokens ?? 0;
  const reasoning = native.completion_tokens_details?.reasoning_tokens ?? native.reasoning_tokens;
  // Only xAI counts reasoning apart from the written tokens, which its total shows.
  const isBeside = response.model.startsWith("grok") && (native.total_tokens ?? 0) > input + written;
  const output = isBeside ? written + (reasoning ?? 0) : written;
  expect(response.usage).toMatchObject({
    inputTokens: input,
    outputTokens: output,
    totalTokens: input + output,
  });
  expect(response.usage?.reasoningTokens).toBe(reasoning);
  const cached =
    native.prompt_tokens_details?.cached_tokens ??
    native.prompt_cache_hit_tokens ??
    native.cached_tokens ??
    native.num_cached_tokens;
  expect(response.usage?.cacheReadTokens).toBe(cached);
}

/** Reads event by event and checks that the stream is finished after no event: it may be cut after each. */
function expectUnfinished(bytes: Uint8Array): void {
  const facts = factsFor(PROVIDER, { model: "model-1" });
  const writer = new StreamWriter(facts);
  const decoder = new ChatDecoder(facts, writer, profile());
  const sse = new SseDecoder((event) => {
    decoder.push(event);
    decoder.end("");
    expect(writer.ended).toBe(false);
  });
  sse.push(bytes);
}

async function expectCut(bytes: Uint8Array, init: { requireDone?: boolean } = {}): Promise<void> {
  const { events, error } = await decodeBytes([bytes], init);
  expect(error).toBeInstanceOf(StreamError);
  expect((error as StreamError).kind).toBe(ErrorKind.STREAM);
  if (events.length > 0) expect(events.at(-1)?.event.case).toBe("error");
}

/** Offset of the event that has the finish reason. */
function finishStart(bytes: Buffer): number {
  const at = bytes.toString("latin1").search(/"finish_reason":\s*"/);
  return bytes.lastIndexOf("data:", at);
}

/** Returns the offsets after each event before a limit, at which a cut leaves whole events. */
function eventEnds(bytes: Buffer, limit: number): number[] {
  const ends: number[] = [];
  for (let at = bytes.indexOf("\n\n"); at >= 0 && at < limit; at = bytes.indexOf("\n\n", at + 2))
    ends.push(at + 2);
  return ends;
}

/** Evenly chosen entries, including the last. */
function sample(entries: readonly number[], most: number): number[] {
  const step = Math.max(1, entries.length / most);
  return Array.from(
    { length: Math.min(most, entries.length) },
    (_, index) => entries[entries.length - 1 - Math.floor(index * step)] ?? 0,
  );
}

function getBody(recording: Recording): Wire {
  return JSON.parse(toBytes(recording).toString("utf8"));
}
