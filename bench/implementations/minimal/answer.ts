/** Writes the provider's answer as messages of outrigger.v1. */
import type { IncomingHttpHeaders } from "node:http";
import type { ProtoWriter } from "./wire.ts";

/** Facts of an answer that are not in its body. */
export interface AnswerFacts {
  readonly inferenceId: string;
  /** When the upstream's headers arrived, in milliseconds since the epoch. */
  readonly acceptedAt: number;
  /** The requested model. */
  readonly model: string;
  readonly headers: IncomingHttpHeaders;
}

/** The fields of OpenAI's Response object that are read. */
export interface ResponseObject {
  id: string;
  model: string;
  status: string;
  output: MessageItem[];
  service_tier: string;
  usage: {
    input_tokens: number;
    output_tokens: number;
    input_tokens_details: { cached_tokens: number };
    output_tokens_details: { reasoning_tokens: number };
  };
}

/** An item of its output: plain text in one part. */
export interface MessageItem {
  content: { text: string; annotations: unknown; logprobs: unknown }[];
}

/** Fields of a Response. */
export function writeResponse(writer: ProtoWriter, object: ResponseObject, facts: AnswerFacts): void {
  writer.text(1, object.id);
  writer.text(2, object.model);
  writer.text(3, PROVIDER);
  writeMessage(writer, object, facts);
  writeFinishReason(writer, 5, object);
  writeUsage(writer, 6, object);
  writeRateLimit(writer, facts.headers);
  writer.text(10, facts.inferenceId);
  writer.text(11, String(facts.headers["x-request-id"] ?? ""));
  writeTimestamp(writer, 12, facts.acceptedAt);
  writer.text(14, JSON.stringify({ service_tier: object.service_tier }));
}

/** FinishReason, as a field. */
export function writeFinishReason(writer: ProtoWriter, field: number, { status }: ResponseObject): void {
  const start = writer.begin(field);
  writer.number(1, REASON_STOP);
  writer.text(2, status);
  writer.end(start);
}

/** Usage, as a field. */
export function writeUsage(writer: ProtoWriter, field: number, { usage }: ResponseObject): void {
  const cached = usage.input_tokens_details.cached_tokens;
  const start = writer.begin(field);
  writer.number(1, usage.input_tokens);
  writer.number(2, usage.output_tokens);
  writer.number(3, usage.input_tokens + usage.output_tokens);
  writer.number(4, usage.output_tokens_details.reasoning_tokens);
  writer.number(5, cached);
  writer.number(7, costOf(usage.input_tokens - cached, cached, usage.output_tokens));
  writer.end(start);
}

/** The ProviderState of a text part, as a field. */
export function writeState(
  writer: ProtoWriter,
  field: number,
  answeredBy: string,
  { content: [content], ...item }: MessageItem,
  model: string,
): void {
  const { text: _text, annotations: _annotations, logprobs: _logprobs, ...part } = content ?? NO_PART;
  const start = writer.begin(field);
  writer.text(1, PROVIDER);
  writer.text(2, answeredBy);
  writer.text(3, JSON.stringify({ item, part, ...(answeredBy === model ? {} : { model }) }));
  writer.end(start);
}

/** A google.protobuf.Timestamp, as a field. */
export function writeTimestamp(writer: ProtoWriter, field: number, milliseconds: number): void {
  const start = writer.begin(field);
  writer.number(1, Math.floor(milliseconds / 1000));
  writer.number(2, (milliseconds % 1000) * 1_000_000);
  writer.end(start);
}

const NO_PART = { text: "", annotations: [], logprobs: [] };
const PROVIDER = "openai";
const REASON_STOP = 1;
const ROLE_ASSISTANT = 3;

function writeMessage(writer: ProtoWriter, { model, output }: ResponseObject, facts: AnswerFacts): void {
  const message = writer.begin(4);
  writer.number(1, ROLE_ASSISTANT);
  for (const item of output) {
    const part = writer.begin(2);
    writeState(writer, 1, model, item, facts.model);
    writer.text(10, item.content[0]?.text ?? "");
    writer.end(part);
  }
  writer.end(message);
}

/** Prices of gpt-4.1-mini in millionths of a dollar per million tokens; the cost in billionths of a dollar. */
function costOf(input: number, cached: number, output: number): number {
  return Math.floor((input * 400_000 + cached * 100_000 + output * 1_600_000 + 500) / 1000);
}

function writeRateLimit(writer: ProtoWriter, headers: IncomingHttpHeaders): void {
  const start = writer.begin(8);
  writer.number(1, Number(headers["x-ratelimit-remaining-requests"]));
  writer.number(2, Number(headers["x-ratelimit-limit-requests"]));
  writer.number(3, Number(headers["x-ratelimit-remaining-tokens"]));
  writer.number(4, Number(headers["x-ratelimit-limit-tokens"]));
  writeTimestamp(writer, 5, Date.now() + toMilliseconds(String(headers["x-ratelimit-reset-tokens"])));
  writer.end(start);
}

/** Parses a duration as Go writes it: `6ms` or `6s`. */
function toMilliseconds(duration: string): number {
  return duration.endsWith("ms") ? Number.parseFloat(duration) : Number.parseFloat(duration) * 1000;
}
