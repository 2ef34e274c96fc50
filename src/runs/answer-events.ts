import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { responseWithoutContent } from "../client/final-response.ts";
import type { ContentPart } from "../gen/outrigger/v1/message_pb.ts";
import { FinalResponse } from "../gen/outrigger/v1/request_pb.ts";
import type { Response } from "../gen/outrigger/v1/response_pb.ts";
import {
  ToolCallStart_InputKind as InputKind,
  type StreamEvent,
  StreamEventSchema,
} from "../gen/outrigger/v1/stream_event_pb.ts";

/** The content of an event, as an initializer for `create`. */
type EventContent = NonNullable<MessageInitShape<typeof StreamEventSchema>["event"]>;

/**
 * Returns the events of an answer that was not streamed: each text is one delta. They follow the laws of a stream and
 * do not repeat the content of the deltas (FINAL_RESPONSE_WITHOUT_CONTENT).
 */
export function toStreamEvents(response: Response): StreamEvent[] {
  const { inferenceId, provider, model, warnings, createdAt, message, finishReason, usage } = response;
  const startedAt = createdAt && { startedAt: createdAt };
  const start = { inferenceId, provider, model, warnings, finalResponse: FinalResponse.WITHOUT_CONTENT };
  const known = { ...(finishReason && { finishReason }), ...(usage && { usage }) };
  const contents: readonly EventContent[] = [
    { case: "streamStart", value: { ...start, ...startedAt } },
    ...(message?.content ?? []).flatMap(toPartEvents),
    { case: "finish", value: { response: responseWithoutContent(response), ...known } },
  ];
  return contents.map((event, sequence) => create(StreamEventSchema, { sequence, event }));
}

function toPartEvents(whole: ContentPart, partIndex: number): EventContent[] {
  const { part, citations, refusal } = whole;
  const state = whole.providerState && { providerState: whole.providerState };
  switch (part.case) {
    case "text":
      return withoutEmptyDelta([
        { case: "textStart", value: { partIndex, refusal } },
        { case: "textDelta", value: { partIndex, delta: part.value } },
        { case: "textEnd", value: { partIndex, citations, ...state } },
      ]);
    case "reasoning": {
      const { text: delta, redacted } = part.value;
      return withoutEmptyDelta([
        { case: "reasoningStart", value: { partIndex } },
        { case: "reasoningDelta", value: { partIndex, delta } },
        { case: "reasoningEnd", value: { partIndex, redacted, ...state } },
      ]);
    }
    case "toolCall": {
      const { id, name, input } = part.value;
      const inputKind = input.case === "text" ? InputKind.TEXT : InputKind.ARGUMENTS_JSON;
      return withoutEmptyDelta([
        { case: "toolCallStart", value: { partIndex, id, name, inputKind } },
        { case: "toolCallDelta", value: { partIndex, delta: input.value ?? "" } },
        { case: "toolCallEnd", value: { partIndex, toolCall: part.value, ...state } },
      ]);
    }
    default:
      return [{ case: "partAdded", value: { partIndex, part: whole } }];
  }
}

/** @param block The start, the delta and the end of a part. */
function withoutEmptyDelta([start, delta, end]: [
  EventContent,
  { value: { delta: string } } & EventContent,
  EventContent,
]): EventContent[] {
  return delta.value.delta === "" ? [start, end] : [start, delta, end];
}
