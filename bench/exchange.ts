/**
 * The request and response of all measurements: a short question, and an answer of a number of
 * tokens in the format of OpenAI's Responses API.
 */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { create, toBinary, toJsonString } from "@bufbuild/protobuf";
import { Role } from "../src/gen/outrigger/v1/message_pb.ts";
import { type Request, RequestSchema } from "../src/gen/outrigger/v1/request_pb.ts";
import { type StreamEvent, StreamEventSchema } from "../src/gen/outrigger/v1/stream_event_pb.ts";
import { RUN_FOLDER } from "./work-folder.ts";

/** Events of a stream besides its deltas, as callers of Outrigger see them. */
export const EVENTS_AROUND_DELTAS = 4;

/**
 * Placeholder that the upstream replaces by the time at which it sends an event, of the same length.
 * It makes a delta as long as two tokens.
 */
const CLOCK_MARK = "@@clock@";

const MODEL = "gpt-4.1-mini";
const ANSWER_MODEL = "gpt-4.1-mini-2025-04-14";
const SYSTEM = "You are a helpful assistant. Answer in two or three sentences.";
const QUESTION =
  "A service of ours calls a model for every message that a customer writes. " +
  "What should we look at before we put another process between the two?";
const WORDS = " Look at what it adds to each token , to memory and to the time until it is ready .".match(
  / ?\S+/g,
) ?? [""];

/** The shape of an upstream's answers. */
export interface AnswerShape {
  /** Deltas of a stream. At least 2. */
  readonly deltas: number;
  /** Whether deltas contain the time at which they were sent, so that callers can measure their latency. */
  readonly clocked: boolean;
}

/** The files that callers and the upstream read. */
export interface ExchangeFiles {
  /** The request as an outrigger.v1.Request, for the implementations. */
  readonly binaryRequest: string;
  /** The same as JSON. */
  readonly jsonRequest: string;
  /** The same as a body of the provider, for calls that go directly to the upstream. */
  readonly directRequest: string;
  readonly directStreamRequest: string;
  /** The upstream's answers. */
  readonly script: string;
  /** One outrigger.v1.StreamEvent. */
  readonly binaryEvent: string;
}

/** Writes the files of an exchange. */
export async function writeExchange(shape: AnswerShape): Promise<ExchangeFiles> {
  const name = `${shape.deltas}-${shape.clocked ? "clocked" : "plain"}`;
  const files = {
    binaryRequest: join(RUN_FOLDER, "request.bin"),
    jsonRequest: join(RUN_FOLDER, "request.json"),
    directRequest: join(RUN_FOLDER, "provider-request.json"),
    directStreamRequest: join(RUN_FOLDER, "provider-request-stream.json"),
    script: join(RUN_FOLDER, `script-${name}.json`),
    binaryEvent: join(RUN_FOLDER, "event.bin"),
  };
  await writeFile(files.binaryRequest, toBinary(RequestSchema, question()));
  await writeFile(files.jsonRequest, toJsonString(RequestSchema, question()));
  await writeFile(files.binaryEvent, toBinary(StreamEventSchema, someEvent()));
  await writeFile(files.directRequest, JSON.stringify(providerBody({})));
  await writeFile(files.directStreamRequest, JSON.stringify(providerBody({ stream: true })));
  await writeFile(files.script, JSON.stringify(createScript(splitDeltas(shape))));
  return files;
}

function question(): Request {
  return create(RequestSchema, {
    model: MODEL,
    messages: [
      { role: Role.SYSTEM, content: [{ part: { case: "text", value: SYSTEM } }] },
      { role: Role.USER, content: [{ part: { case: "text", value: QUESTION } }] },
    ],
    maxTokens: 1000,
  });
}

function someEvent(): StreamEvent {
  const event = { case: "textDelta", value: { delta: " memory" } } as const;
  return create(StreamEventSchema, { sequence: 50, elapsedMs: 1000, event });
}

function providerBody(extra: object): object {
  const input = [{ role: "user", content: QUESTION }];
  return { model: MODEL, instructions: SYSTEM, input, max_output_tokens: 1000, store: false, ...extra };
}

function splitDeltas({ deltas, clocked }: AnswerShape): string[] {
  return Array.from({ length: deltas }, (_, index) =>
    clocked ? CLOCK_MARK : (WORDS[index % WORDS.length] ?? ""),
  );
}

function createScript(deltas: readonly string[]): object {
  return {
    headers: HEADERS,
    answer: JSON.stringify(responseObject("completed", [messageItem(deltas.join(""))], deltas.length)),
    events: getEvents(deltas).map(
      (event, index) =>
        `event: ${event.type}\ndata: ${JSON.stringify({ ...event, sequence_number: index })}\n\n`,
    ),
  };
}

/** Response headers of the provider that are visible to callers. */
const HEADERS = {
  "x-request-id": "req_4f1c8a4b2f0d4f6f9a6d8f8f1d2b3c4d",
  "openai-processing-ms": "412",
  "openai-version": "2020-10-01",
  "x-ratelimit-limit-requests": "10000",
  "x-ratelimit-limit-tokens": "2000000",
  "x-ratelimit-remaining-requests": "9999",
  "x-ratelimit-remaining-tokens": "1999800",
  "x-ratelimit-reset-requests": "6ms",
  "x-ratelimit-reset-tokens": "6s",
  "cache-control": "no-store",
};

const ITEM_ID = "msg_68f3a1c2d4e881998f0b7c6d5e4f3a2b0123456789abcdef";

function getEvents(
  deltas: readonly string[],
): { readonly type: string; readonly [field: string]: unknown }[] {
  const text = deltas.join("");
  const item = { item_id: ITEM_ID, output_index: 0, content_index: 0 };
  const added = { id: ITEM_ID, type: "message", status: "in_progress", content: [], role: "assistant" };
  return [
    { type: "response.created", response: responseObject("in_progress", [], undefined) },
    { type: "response.in_progress", response: responseObject("in_progress", [], undefined) },
    { type: "response.output_item.added", output_index: 0, item: added },
    { type: "response.content_part.added", ...item, part: textPart("") },
    ...deltas.map((delta) => ({ type: "response.output_text.delta", ...item, delta, logprobs: [] })),
    { type: "response.output_text.done", ...item, text, logprobs: [] },
    { type: "response.content_part.done", ...item, part: textPart(text) },
    { type: "response.output_item.done", output_index: 0, item: messageItem(text) },
    {
      type: "response.completed",
      response: responseObject("completed", [messageItem(text)], deltas.length),
    },
  ];
}

function textPart(text: string): object {
  return { type: "output_text", annotations: [], logprobs: [], text };
}

function messageItem(text: string): object {
  return { id: ITEM_ID, type: "message", status: "completed", content: [textPart(text)], role: "assistant" };
}

const INPUT_TOKENS = 57;

function responseObject(
  status: string,
  output: readonly object[],
  outputTokens: number | undefined,
): Record<string, unknown> {
  const usage = outputTokens === undefined ? null : estimateUsage(outputTokens);
  return {
    id: "resp_68f3a1c0b7e081998f0b7c6d5e4f3a2b0123456789abcdef",
    object: "response",
    created_at: 1_760_797_120,
    status,
    background: false,
    error: null,
    incomplete_details: null,
    instructions: SYSTEM,
    max_output_tokens: 1000,
    max_tool_calls: null,
    model: ANSWER_MODEL,
    output,
    parallel_tool_calls: true,
    previous_response_id: null,
    prompt_cache_key: null,
    reasoning: { effort: null, summary: null },
    safety_identifier: null,
    service_tier: "default",
    store: false,
    temperature: 1,
    text: { format: { type: "text" }, verbosity: "medium" },
    tool_choice: "auto",
    tools: [],
    top_logprobs: 0,
    top_p: 1,
    truncation: "disabled",
    usage,
    user: null,
    metadata: {},
  };
}

function estimateUsage(outputTokens: number): object {
  return {
    input_tokens: INPUT_TOKENS,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: outputTokens,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: INPUT_TOKENS + outputTokens,
  };
}
