import { toJson } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { defaultCatalog } from "../../../src/catalog/catalog.ts";
import { StreamAccumulator } from "../../../src/core/accumulator.ts";
import { ServerError, StreamError } from "../../../src/core/errors.ts";
import { toolResult } from "../../../src/core/tools.ts";
import { ErrorKind } from "../../../src/gen/outrigger/v1/error_pb.ts";
import { Role } from "../../../src/gen/outrigger/v1/message_pb.ts";
import { FinishReason_Reason as Reason, type Response } from "../../../src/gen/outrigger/v1/response_pb.ts";
import { type StreamEvent, StreamEventSchema } from "../../../src/gen/outrigger/v1/stream_event_pb.ts";
import { LossReport } from "../../../src/kit/call/loss-report.ts";
import { createHeaders } from "../../../src/kit/http/transport.ts";
import { stringifyJson } from "../../../src/kit/json/json-source.ts";
import { toError } from "../../../src/providers/gemini/error.ts";
import { toConversation } from "../../../src/providers/gemini/input.ts";
import { toResponse } from "../../../src/providers/gemini/response.ts";
import { GeminiDecoder } from "../../../src/providers/gemini/stream.ts";
import { type Decoded, decode, factsFor } from "../../support/decode.ts";
import { createRandom, hashName, splitAtRandom } from "../../support/random.ts";
import { getRecordings, type Recording, toBytes } from "../../support/recordings.ts";
import { shippedModels } from "../../support/shipped-models.ts";
import {
  getEvents,
  isFinished,
  type ReferenceAnswer,
  read,
  readParts,
  summaryOfWire,
  type Wire,
} from "./reading.ts";

const PROVIDER = "gemini";
const streams = getRecordings("gemini", ".sse");
const wholes = getRecordings("gemini", ".json");

const decodeBytes = (chunks: Iterable<Uint8Array>, model = "gemini-test"): Promise<Decoded> =>
  decode(chunks, factsFor(PROVIDER, { model }), (facts, writer) => new GeminiDecoder(facts, writer));

/** Streams that are broken on purpose, and the error that each gives. */
const BROKEN: Readonly<Record<string, ErrorKind>> = {
  "gemini/vertex-streaming-failure-empty-content.sse": ErrorKind.STREAM,
  "gemini/vertex-streaming-failure-invalid-json.sse": ErrorKind.STREAM,
  "gemini/vertex-streaming-failure-malformed-content.sse": ErrorKind.STREAM,
  // An old recording without a finish reason.
  "gemini/vertex-streaming-success-quotes-escaped.sse": ErrorKind.STREAM,
  // Its error comes after the events and is not an event.
  "gemini/vertex-streaming-failure-error-mid-stream.sse": ErrorKind.ABORT,
};

/** Old streams with a finish reason in every event, so that their end cannot be recognised. */
const FINISH_REASON_IN_EVERY_EVENT = new Set(
  ["citations", "unknown-safety-enum", "utf8"]
    .map((name) => `gemini/vertex-streaming-success-${name}.sse`)
    .concat(
      ["error-mid-stream", "recitation-no-content", "unknown-finish-enum"].map(
        (name) => `gemini/vertex-streaming-failure-${name}.sse`,
      ),
    ),
);

describe("recorded streams of streamGenerateContent", () => {
  it("has recordings", () => expect(streams.length).toBeGreaterThan(75));

  describe.each(streams)("$file", (recording) => {
    const bytes = toBytes(recording);
    const native = getEvents(bytes);
    const reading = read(native);
    const broken = BROKEN[recording.file];

    it(broken === undefined ? "keeps all content" : "ends with an error", async () => {
      const { events, error } = await decodeBytes([bytes]);
      if (broken !== undefined) return expectError(events, error, broken);
      const response = getFinal(events);
      expectContent(response, reading);
      expectFacts(response, reading);
      expect(accumulated(events)).toEqual(response);
    });

    it.runIf(broken === undefined)("sends the parts back unchanged", async () => {
      const { events } = await decodeBytes([bytes]);
      expect(await getParts(getFinal(events))).toEqual(reading.parts.map(withArguments));
    });

    it.runIf(broken === undefined)("gives the same response as the same answer in one body", async () => {
      const { events } = await decodeBytes([bytes]);
      const facts = factsFor(PROVIDER, { model: "gemini-test" });
      const whole = toResponse(JSON.stringify(asWholeAnswer(native, reading)), facts);
      expect(withoutOrder(getFinal(events))).toEqual(withoutOrder(whole));
    });

    it("gives the same events wherever its bytes are split", async () => {
      const whole = await decodeBytes([bytes]);
      const random = createRandom(hashName(recording.file));
      for (const largest of [7, 64, 5000].filter((size) => size * 40_000 > bytes.length)) {
        const split = await decodeBytes(splitAtRandom(bytes, random, largest));
        expect(toComparable(split.events)).toEqual(toComparable(whole.events));
      }
    });

    it("never finishes if it is cut between two events", async () => {
      const ends = eventEnds(bytes);
      const cuts = ends.filter((_, index) => !isFinished(native.slice(0, index + 1)));
      for (const end of cuts) await expectCut(bytes.subarray(0, end));
      if (!FINISH_REASON_IN_EVERY_EVENT.has(recording.file))
        expect(cuts.length).toBeGreaterThanOrEqual(ends.length - 1);
    });

    it("never finishes if it is cut inside an event", async () => {
      const random = createRandom(hashName(`cut ${recording.file}`));
      const last = native.findIndex((_, index) => isFinished(native.slice(0, index + 1)));
      const limit = (eventEnds(bytes)[Math.max(last, 0)] ?? bytes.length) - "}\r\n\r\n".length;
      for (let round = 0; round < 12; round += 1)
        await expectCut(bytes.subarray(0, Math.floor(random() * limit)));
    });
  });
});

/** Bodies with a success status and without an answer. */
const NO_ANSWER = new Set(["gemini/vertex-unary-failure-malformed-content.json"]);

describe("recorded answers of generateContent", () => {
  it("has recordings", () => expect(wholes.length).toBeGreaterThan(120));

  const answers = wholes.filter(({ status, file }) => status < 400 && !NO_ANSWER.has(file));

  it.each(answers)("keeps all content of $file", (recording) => {
    const reading = read([getBody(recording)]);
    const response = respond(recording);
    expectContent(response, reading);
    expectFacts(response, reading);
  });

  it.each(answers)("sends the parts of $file back unchanged", async (recording) => {
    const { parts } = read([getBody(recording)]);
    expect(await getParts(respond(recording))).toEqual(parts.map(withArguments));
  });

  it.each(answers)(
    "reads $file in a list, as a stream without events has it, to the same response",
    (recording) => {
      const facts = factsFor(PROVIDER, { model: "gemini-test" });
      const listed = toResponse(`[${toBytes(recording)}]`, facts);
      expect(listed).toEqual(respond(recording));
    },
  );

  it.each(wholes.filter(({ file }) => NO_ANSWER.has(file)))("refuses $file", (recording) => {
    expect(() => respond(recording)).toThrow(ServerError);
  });

  it.each(wholes.filter(({ status }) => status >= 400))("reads the error of $file", (recording) => {
    const body = toBytes(recording).toString("utf8");
    const [name = ""] = recording.file.split("/").slice(-1);
    for (const text of [body, `[${body}]`]) expect(errorIn(text, recording.status).kind).toBe(ERRORS[name]);
  });

  it("reads the retry delay of 429-retry-info.json", () => {
    const recording = wholes.find(({ file }) => file === "gemini/429-retry-info.json");
    expect(errorIn(toBytes(recording as Recording).toString("utf8"), 429).retryAfter).toBe(34.4);
  });
});

const ERRORS: Readonly<Record<string, ErrorKind>> = {
  "429-retry-info.json": ErrorKind.RATE_LIMIT,
  "error-envelope-nonexistent-model-error-preserves-status-and-body.json": ErrorKind.NOT_FOUND,
  "googleai-streaming-failure-image-rejected.json": ErrorKind.INVALID_REQUEST,
  "googleai-unary-failure-api-key.json": ErrorKind.AUTHENTICATION,
  "googleai-unary-failure-generativelanguage-api-not-enabled.json": ErrorKind.ACCESS_DENIED,
  "googleai-unary-failure-unknown-model.json": ErrorKind.NOT_FOUND,
  "vertex-streaming-failure-api-key.json": ErrorKind.AUTHENTICATION,
  "vertex-streaming-failure-http-error.json": ErrorKind.ACCESS_DENIED,
  "vertex-streaming-failure-unknown-model.json": ErrorKind.NOT_FOUND,
  "vertex-unary-failure-api-key.json": ErrorKind.AUTHENTICATION,
  "vertex-unary-failure-context-cache-model-doesnt-match.json": ErrorKind.INVALID_REQUEST,
  "vertex-unary-failure-context-cache-not-found.json": ErrorKind.NOT_FOUND,
  "vertex-unary-failure-firebaseml-api-not-enabled.json": ErrorKind.ACCESS_DENIED,
  "vertex-unary-failure-firebasevertexai-api-not-enabled.json": ErrorKind.ACCESS_DENIED,
  "vertex-unary-failure-image-rejected.json": ErrorKind.INVALID_REQUEST,
  "vertex-unary-failure-invalid-context-cache-id.json": ErrorKind.INVALID_REQUEST,
  "vertex-unary-failure-model-not-found.json": ErrorKind.NOT_FOUND,
  // A quota of zero, for which waiting does not help.
  "vertex-unary-failure-quota-exceeded.json": ErrorKind.QUOTA_EXCEEDED,
  "vertex-unary-failure-unsupported-user-location.json": ErrorKind.ACCESS_DENIED,
};

const REASONS: Readonly<Record<string, Reason>> = {
  STOP: Reason.STOP,
  MAX_TOKENS: Reason.LENGTH,
  SAFETY: Reason.CONTENT_FILTER,
  RECITATION: Reason.CONTENT_FILTER,
};

/** Checks that the message has all content of the answer. */
function expectContent(response: Response, { parts, candidateData, cited }: ReferenceAnswer): void {
  const content = response.message?.content ?? [];
  const ours = readParts(content);
  expect(ours.said).toEqual(parts.map(summaryOfWire));
  const kept = JSON.stringify(ours.candidateData);
  for (const data of candidateData) expect(ours.candidateData).toContainEqual(data);
  const citations = content.flatMap((part) => part.citations.map(({ rawJson }) => rawJson));
  for (const source of cited)
    expect(citations.includes(JSON.stringify(source)) || kept.includes(JSON.stringify(source))).toBe(true);
}

function expectFacts(
  response: Response,
  { parts, usage, model, id, finishReason, blocked }: ReferenceAnswer,
): void {
  const waits = parts.some(({ functionCall }) => functionCall !== undefined) && finishReason === "STOP";
  const reason =
    blocked !== undefined ? Reason.CONTENT_FILTER : waits ? Reason.TOOL_CALLS : REASONS[String(finishReason)];
  expect(response.finishReason).toMatchObject({
    reason: reason ?? Reason.OTHER,
    raw: blocked === undefined ? (finishReason ?? "") : (blocked.blockReason ?? ""),
  });
  expect(response.model).toBe(model ?? "gemini-test");
  expect([response.id, response.providerRequestId]).toEqual([id ?? "", id ?? ""]);
  if (usage === undefined) return expect(response.usage).toBeUndefined();
  const count = (name: string) => Number(usage[name] ?? 0);
  const input = count("promptTokenCount") + count("toolUsePromptTokenCount");
  const output = count("candidatesTokenCount") + count("thoughtsTokenCount");
  expect(response.usage).toMatchObject({
    inputTokens: input,
    outputTokens: output,
    totalTokens: input + output,
  });
  expect(response.usage?.reasoningTokens).toBe(usage.thoughtsTokenCount ?? undefined);
  expect(response.usage?.cacheReadTokens).toBe(usage.cachedContentTokenCount);
  expect(response.usage?.cacheWriteTokens).toBeUndefined();
}

function expectError(events: readonly StreamEvent[], error: unknown, kind: ErrorKind): void {
  expect(error).toMatchObject({ kind });
  expect(events.at(-1)?.event).toMatchObject({ case: "error", value: { kind } });
}

async function expectCut(bytes: Uint8Array): Promise<void> {
  const { events, error } = await decodeBytes([bytes]);
  expect(error).toBeInstanceOf(StreamError);
  if (events.length > 0) expect(events.at(-1)?.event.case).toBe("error");
}

/** A streamed answer as the body of generateContent. */
function asWholeAnswer(
  events: readonly Wire[],
  { parts, usage, finishReason, cited, model, id }: ReferenceAnswer,
): Wire {
  const candidates = events.flatMap((event) => (event.candidates ?? []) as Wire[]);
  const citationMetadata = cited.length === 0 ? {} : { citationSources: cited };
  const beside = Object.assign({}, ...candidates, { citationMetadata });
  const promptFeedback = events
    .map((event) => event.promptFeedback)
    .find((feedback) => feedback !== undefined);
  return {
    ...(candidates.length === 0 ? {} : { candidates: [{ ...beside, content: { parts }, finishReason }] }),
    ...(usage === undefined ? {} : { usageMetadata: usage }),
    promptFeedback,
    modelVersion: model,
    responseId: id,
  };
}

/** A response whose citations, candidate data and metadata are sorted: their order depends on the events. */
function withoutOrder(response: Response): unknown {
  const content =
    response.message?.content.map((part) => ({ ...part, citations: sorted(part.citations) })) ?? [];
  const isCandidateData = (part: unknown) => JSON.stringify(part).includes("of_answer");
  return {
    ...response,
    providerMetadataJson: JSON.parse(response.providerMetadataJson || "{}"),
    message: undefined,
    parts: content.filter((part) => !isCandidateData(part)),
    candidateData: sorted(content.filter(isCandidateData)),
  };
}

function sorted<Entry>(entries: readonly Entry[]): Entry[] {
  return [...entries].sort((left, right) => (JSON.stringify(left) < JSON.stringify(right) ? -1 : 1));
}

/** The parts of the answer when it is sent back to the model that wrote it, with results for its calls. */
async function getParts(response: Response): Promise<unknown> {
  const calls = (response.message?.content ?? []).flatMap(({ part }) =>
    part.case === "toolCall" ? [part.value] : [],
  );
  const { request } = factsFor(PROVIDER, {
    model: response.model,
    messages: [
      { role: Role.USER, content: [{ part: { case: "text", value: "hi" } }] },
      response.message ?? {},
      ...calls.map(({ id }) => toolResult(id, "done")),
    ],
  });
  const { contents } = await toConversation({
    provider: PROVIDER,
    request,
    loss: new LossReport(),
    traits: { ...defaultCatalog.traitsOf(PROVIDER, response.model), prefill: true },
    models: shippedModels("gemini"),
    media: async (media) => ({
      kind: "data",
      mediaType: media.mediaType,
      base64: Buffer.from(media.source.value as Uint8Array).toString("base64"),
    }),
  });
  return JSON.parse(stringifyJson(contents.find(({ role }) => role === "model")?.parts ?? []));
}

/** A call with an empty object as arguments, which the API treats like a call without arguments. */
function withArguments(part: Wire): Wire {
  if (part.functionCall === undefined) return part;
  return { ...part, functionCall: { args: {}, ...(part.functionCall as Wire) } };
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

/** The end of each event in bytes: a cut there leaves whole events. */
function eventEnds(bytes: Buffer): number[] {
  const lines = bytes.toString("latin1").matchAll(/^data:[^\r\n]*[\r\n]*/gm);
  return [...lines].map(({ index, 0: line }) => index + line.length);
}

function errorIn(body: string, status: number) {
  const { request } = factsFor(PROVIDER, { model: "gemini-test" });
  return toError({ provider: PROVIDER, status, headers: createHeaders({}), body, request });
}

function getBody(recording: Recording): Wire {
  return JSON.parse(toBytes(recording).toString("utf8"));
}

function respond(recording: Recording): Response {
  const facts = factsFor(PROVIDER, { model: "gemini-test" });
  return toResponse(toBytes(recording).toString("utf8"), facts);
}

function toComparable(events: readonly StreamEvent[]): unknown {
  return events.map((event) => {
    const json = toJson(StreamEventSchema, event) as { streamStart?: { startedAt?: string } };
    delete json.streamStart?.startedAt;
    return json;
  });
}
