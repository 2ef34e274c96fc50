/** Streams written by hand: their steps without sequence numbers. */

import { create, type MessageInitShape } from "@bufbuild/protobuf";
import type { PartInput } from "../../src/core/parts.ts";
import { FinishReason_Reason } from "../../src/gen/outrigger/v1/response_pb.ts";
import {
  type StreamEvent,
  StreamEventSchema,
  ToolCallStart_InputKind,
} from "../../src/gen/outrigger/v1/stream_event_pb.ts";

/** The content of one event. */
export type Step = NonNullable<MessageInitShape<typeof StreamEventSchema>["event"]>;

/** The events of some steps, numbered. */
export function getEvents(steps: readonly Step[]): StreamEvent[] {
  return steps.map((event, sequence) => create(StreamEventSchema, { sequence, event }));
}

/** `stream_start`. */
export const START: Step = {
  case: "streamStart",
  value: {
    inferenceId: "inf_1",
    provider: "sim",
    model: "sim-text",
    warnings: [{ code: "adjusted_setting" }],
  },
};

/** `error`. */
export const ERROR: Step = { case: "error", value: { kind: 106, message: "broke", retryable: true } };

/** A text block of some deltas. */
export function textBlock(partIndex: number, ...deltas: string[]): Step[] {
  return [
    { case: "textStart", value: { partIndex } },
    ...deltas.map((delta): Step => ({ case: "textDelta", value: { partIndex, delta } })),
    { case: "textEnd", value: { partIndex, text: deltas.join("") } },
  ];
}

/** A reasoning block of some deltas. */
export function reasoningBlock(partIndex: number, ...deltas: string[]): Step[] {
  return [
    { case: "reasoningStart", value: { partIndex } },
    ...deltas.map((delta): Step => ({ case: "reasoningDelta", value: { partIndex, delta } })),
    { case: "reasoningEnd", value: { partIndex, text: deltas.join("") } },
  ];
}

/** A tool call of some deltas, whose arguments parse. */
export function toolCallBlock(partIndex: number, id: string, ...deltas: string[]): Step[] {
  const toolCall = {
    id,
    name: "look",
    input: { case: "argumentsJson", value: deltas.join("") } as const,
  };
  return [
    {
      case: "toolCallStart",
      value: { partIndex, id, name: "look", inputKind: ToolCallStart_InputKind.ARGUMENTS_JSON },
    },
    ...deltas.map((delta): Step => ({ case: "toolCallDelta", value: { partIndex, delta } })),
    { case: "toolCallEnd", value: { partIndex, toolCall } },
  ];
}

/** A part that arrives whole. */
export function partAdded(partIndex: number, part: PartInput): Step {
  return { case: "partAdded", value: { partIndex, part } };
}

/** `finish` with the parts of the final message. */
export function finish(...content: PartInput[]): Step {
  const finishReason = { reason: FinishReason_Reason.STOP, raw: "completed" };
  const usage = { inputTokens: 3, outputTokens: 2, totalTokens: 5 };
  const response = {
    id: "resp_1",
    inferenceId: "inf_1",
    provider: "sim",
    model: "sim-text",
    finishReason,
    usage,
  };
  return {
    case: "finish",
    value: { finishReason, usage, response: { ...response, message: { role: 3, content } } },
  };
}

/** A text part. */
export function text(value: string): PartInput {
  return { part: { case: "text", value } };
}

/** A thinking part. */
export function thinking(value: string): PartInput {
  return { part: { case: "reasoning", value: { text: value } } };
}

/** A tool call part of the tool that `toolCallBlock` calls. */
export function toolCall(id: string, argumentsJson: string): PartInput {
  return {
    part: {
      case: "toolCall",
      value: { id, name: "look", input: { case: "argumentsJson", value: argumentsJson } },
    },
  };
}

/** An image part. */
export function image(...data: number[]): PartInput {
  const source = { case: "data", value: Uint8Array.from(data) } as const;
  return { part: { case: "image", value: { mediaType: "image/png", source } } };
}
