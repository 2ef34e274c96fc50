/** Streams of made-up events, decoded. */

import type { MessageInitShape } from "@bufbuild/protobuf";
import { expect } from "vitest";
import { StreamAccumulator } from "../../../src/core/accumulator.ts";
import { SDKError } from "../../../src/core/errors.ts";
import type { RequestSchema } from "../../../src/gen/outrigger/v1/request_pb.ts";
import type { Response } from "../../../src/gen/outrigger/v1/response_pb.ts";
import { ResponsesDecoder } from "../../../src/providers/openai-responses/stream.ts";
import { decode, factsFor } from "../../support/decode.ts";
import { type Description, describeEvent } from "./describe-event.ts";

/** An event as a server sends it; a string is sent as it is. */
export type Sent = string | Readonly<Record<string, unknown>>;

/** A decoded stream. */
export interface Streamed {
  /** Every event. */
  readonly events: readonly Description[];
  /** Undefined if the stream failed. */
  readonly response: Response | undefined;
  /** Undefined if the stream finished. */
  readonly error: SDKError | undefined;
}

/** Decodes a stream and checks that it keeps the laws of streams and accumulates to its response. */
export async function stream(
  sent: readonly Sent[],
  init: MessageInitShape<typeof RequestSchema> = {},
): Promise<Streamed> {
  const facts = { ...factsFor("openai", { model: "gpt-5", ...init }), providerRequestId: "req_1" };
  const bytes = Buffer.from(sent.map(wireText).join(""));
  const { events: decoded, error } = await decode(
    [bytes],
    facts,
    (call, writer) => new ResponsesDecoder(call, writer),
  );
  const events = decoded.map(describeEvent);
  const last = decoded.at(-1)?.event;
  if (error !== undefined) {
    expect(error).toBeInstanceOf(SDKError);
    return { events, response: undefined, error: error as SDKError };
  }
  const response = last?.case === "finish" ? last.value.response : undefined;
  const accumulator = new StreamAccumulator();
  for (const event of decoded) accumulator.process(event);
  expect(accumulator.response()).toEqual(response);
  return { events, response, error: undefined };
}

function wireText(sent: Sent): string {
  return typeof sent === "string" ? sent : `event: ${sent.type}\ndata: ${JSON.stringify(sent)}\n\n`;
}

/** The first event. */
export const CREATED: Sent = {
  type: "response.created",
  response: { id: "resp_1", model: "gpt-5", status: "in_progress", output: [] },
};

/** The last event of a successful stream. */
export function completed(rest: Readonly<Record<string, unknown>> = {}): Sent {
  return {
    type: "response.completed",
    response: { id: "resp_1", model: "gpt-5", status: "completed", output: [], ...rest },
  };
}

/** An item begins. */
export function added(index: number | undefined, item: object): Sent {
  return { type: "response.output_item.added", output_index: index, item };
}

/** An item is done. */
export function done(index: number | undefined, item: object): Sent {
  return { type: "response.output_item.done", output_index: index, item };
}

/** A delta of text. */
export function textDelta(index: number | undefined, delta: string, rest: object = {}): Sent {
  return { type: "response.output_text.delta", output_index: index, content_index: 0, delta, ...rest };
}

/** A delta of a call's arguments. */
export function argumentsDelta(index: number | undefined, delta: string, rest: object = {}): Sent {
  return { type: "response.function_call_arguments.delta", output_index: index, delta, ...rest };
}

/** A delta of a summary of reasoning. */
export function summaryDelta(index: number | undefined, part: number, delta: string): Sent {
  return { type: "response.reasoning_summary_text.delta", output_index: index, summary_index: part, delta };
}

/** A message with one text, whole; `rest` replaces what is common. */
export function message(text: string, rest: object = {}) {
  const content = [{ type: "output_text", text, annotations: [] }];
  return { type: "message", id: "msg_1", role: "assistant", status: "completed", content, ...rest };
}

/** A call, whole; `rest` replaces what is common. */
export function call(text: string, rest: object = {}) {
  return { type: "function_call", id: "fc_1", call_id: "call_1", name: "look", arguments: text, ...rest };
}

/** An image of one transparent pixel, as a data: URI. */
export const TRANSPARENT_PIXEL =
  "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
