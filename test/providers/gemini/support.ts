import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { toolCallsOf, userMessage } from "../../../src/core/message.ts";
import type { PartInput } from "../../../src/core/parts.ts";
import { toolResult } from "../../../src/core/tools.ts";
import { type ContentPart, type Message, MessageSchema } from "../../../src/gen/outrigger/v1/message_pb.ts";
import { RequestSchema } from "../../../src/gen/outrigger/v1/request_pb.ts";
import type { Response, Warning } from "../../../src/gen/outrigger/v1/response_pb.ts";
import type { StreamEvent } from "../../../src/gen/outrigger/v1/stream_event_pb.ts";
import { stringifyJson } from "../../../src/kit/json/json-source.ts";
import { resolveMedia } from "../../../src/kit/media/media.ts";
import type { ToolInputKind } from "../../../src/kit/stream/stream-writer.ts";
import { toRequestBody } from "../../../src/providers/gemini/request.ts";
import { toResponse } from "../../../src/providers/gemini/response.ts";
import { GeminiDecoder } from "../../../src/providers/gemini/stream.ts";
import { type Decoded, decode, factsFor } from "../../support/decode.ts";
import { shippedModels } from "../../support/shipped-models.ts";

/** The fields of a request body that tests read. */
export interface Body {
  readonly contents: readonly { readonly role: string; readonly parts: readonly Record<string, unknown>[] }[];
  readonly systemInstruction?: unknown;
  readonly tools?: readonly Record<string, unknown>[];
  readonly toolConfig?: Record<string, unknown>;
  readonly generationConfig?: Record<string, unknown>;
  readonly [key: string]: unknown;
}

/** A Gemini 3 model, which has all features of the adapter. */
export const NEW_MODEL = "gemini-3.5-flash";
/** A Gemini 2.5 model: thinking budgets, and no media in tool results. */
export const OLD_MODEL = "gemini-2.5-flash";

/** Translates a request to Gemini, with a default model and question. */
export async function translate(
  request: MessageInitShape<typeof RequestSchema>,
): Promise<{ body: Body; text: string; warnings: readonly Warning[] }> {
  const whole = create(RequestSchema, { model: NEW_MODEL, messages: [userMessage("hi")], ...request });
  const { body, warnings } = await toRequestBody(whole, {
    provider: "gemini",
    models: shippedModels("gemini"),
    media: (media, field) => resolveMedia(media, {}, field),
  });
  const text = stringifyJson(body);
  return { body: JSON.parse(text), text, warnings };
}

/** The assistant message that the adapter reads from an answer with these parts. */
export function answered(parts: readonly object[], model = NEW_MODEL, beside: object = {}): Message {
  const body = { ...event(parts, { finishReason: "STOP", ...beside }), modelVersion: model };
  return readTurn(JSON.stringify(body), model);
}

/** The message of a whole answer. */
export function readTurn(body: string, model: string): Message {
  const facts = factsFor("gemini", { model });
  const { message } = toResponse(body, facts);
  return message ?? create(MessageSchema);
}

/** A result for each call of a turn. */
export function resultsFor(turn: Message): Message[] {
  return toolCallsOf(turn).map(({ id }) => toolResult(id, "ok"));
}

/** A tool call without provider state. */
export function call(
  id: string,
  name = "weather",
  value = "{}",
  kind: ToolInputKind = "argumentsJson",
): PartInput {
  return {
    part: {
      case: "toolCall",
      value: { id, name, input: { case: kind, value } },
    },
  };
}

/** Codes and fields of warnings. */
export function getCodes(warnings: readonly Warning[]): string[] {
  return warnings.map(({ code, field }) => `${code} ${field}`);
}

/** Decodes events given as objects, or as lines of a stream. */
export function decodeEvents(
  events: readonly (object | string)[],
  request: MessageInitShape<typeof RequestSchema> = { model: NEW_MODEL },
): Promise<Decoded> {
  const lines = events.map((event) =>
    typeof event === "string" ? event : `data: ${JSON.stringify(event)}\n\n`,
  );
  return decode([Buffer.from(lines.join(""))], factsFor("gemini", request), (facts, writer) => {
    return new GeminiDecoder(facts, writer);
  });
}

/** An event with parts of the first candidate. */
export function event(parts: readonly object[], beside: object = {}): object {
  return { candidates: [{ content: { role: "model", parts }, ...beside }] };
}

/** The response that ended a stream. */
export function getFinal({ events }: Decoded): Response {
  const last = events.at(-1)?.event;
  if (last?.case !== "finish" || last.value.response === undefined)
    throw new Error(`the stream ended with ${last?.case}`);
  return last.value.response;
}

/** The parts of the response that ended a stream. */
export function getContent(decoded: Decoded): readonly ContentPart[] {
  return getFinal(decoded).message?.content ?? [];
}

/** The kinds of events, in order. */
export function getCases({ events }: { readonly events: readonly StreamEvent[] }): string[] {
  return events.map(({ event: { case: kind } }) => kind ?? "");
}
