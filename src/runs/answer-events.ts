import { create } from "@bufbuild/protobuf";
import { responseWithoutContent } from "../client/final-response.ts";
import type { ContentPart } from "../gen/outrigger/v1/message_pb.ts";
import { FinalResponse } from "../gen/outrigger/v1/request_pb.ts";
import type { Response } from "../gen/outrigger/v1/response_pb.ts";
import {
  FinishSchema,
  ToolCallStart_InputKind as InputKind,
  PartAddedSchema,
  ReasoningDeltaSchema,
  ReasoningEndSchema,
  ReasoningStartSchema,
  type StreamEvent,
  StreamEventSchema,
  StreamStartSchema,
  TextDeltaSchema,
  TextEndSchema,
  TextStartSchema,
  ToolCallDeltaSchema,
  ToolCallEndSchema,
  ToolCallStartSchema,
} from "../gen/outrigger/v1/stream_event_pb.ts";

type EventContent = StreamEvent["event"];

/**
 * Returns the events of an answer that was not streamed: each text is one delta. They obey the laws of a stream, and
 * repeat no content of the deltas (FINAL_RESPONSE_WITHOUT_CONTENT).
 */
export function toStreamEvents(response: Response): StreamEvent[] {
  const parts = response.message?.content ?? [];
  const contents = [toStart(response), ...parts.flatMap(toPartEvents), toFinish(response)];
  return contents.map((event, sequence) => create(StreamEventSchema, { sequence, event }));
}

function toStart({ inferenceId, provider, model, createdAt, warnings }: Response): EventContent {
  const value = create(StreamStartSchema, {
    inferenceId,
    provider,
    model,
    warnings,
    finalResponse: FinalResponse.WITHOUT_CONTENT,
    ...(createdAt === undefined ? {} : { startedAt: createdAt }),
  });
  return { case: "streamStart", value };
}

function toFinish(response: Response): EventContent {
  const { finishReason, usage } = response;
  const value = create(FinishSchema, {
    response: responseWithoutContent(response),
    ...(finishReason === undefined ? {} : { finishReason }),
    ...(usage === undefined ? {} : { usage }),
  });
  return { case: "finish", value };
}

function toPartEvents(whole: ContentPart, partIndex: number): EventContent[] {
  const { part, citations, providerState, refusal } = whole;
  const state = providerState === undefined ? {} : { providerState };
  switch (part.case) {
    case "text":
      return withDelta(
        { case: "textStart", value: create(TextStartSchema, { partIndex, refusal }) },
        { case: "textDelta", value: create(TextDeltaSchema, { partIndex, delta: part.value }) },
        { case: "textEnd", value: create(TextEndSchema, { partIndex, citations, ...state }) },
      );
    case "reasoning": {
      const { text, redacted } = part.value;
      return withDelta(
        { case: "reasoningStart", value: create(ReasoningStartSchema, { partIndex }) },
        { case: "reasoningDelta", value: create(ReasoningDeltaSchema, { partIndex, delta: text }) },
        { case: "reasoningEnd", value: create(ReasoningEndSchema, { partIndex, redacted, ...state }) },
      );
    }
    case "toolCall": {
      const { id, name, input } = part.value;
      const inputKind = input.case === "text" ? InputKind.TEXT : InputKind.ARGUMENTS_JSON;
      const toolCall = part.value;
      return withDelta(
        { case: "toolCallStart", value: create(ToolCallStartSchema, { partIndex, id, name, inputKind }) },
        {
          case: "toolCallDelta",
          value: create(ToolCallDeltaSchema, { partIndex, delta: input.value ?? "" }),
        },
        { case: "toolCallEnd", value: create(ToolCallEndSchema, { partIndex, toolCall, ...state }) },
      );
    }
    default:
      return [{ case: "partAdded", value: create(PartAddedSchema, { partIndex, part: whole }) }];
  }
}

type DeltaContent = Extract<EventContent, { case: "textDelta" | "reasoningDelta" | "toolCallDelta" }>;

/** The events of a part. A delta is never empty. */
function withDelta(start: EventContent, delta: DeltaContent, end: EventContent): EventContent[] {
  return delta.value.delta === "" ? [start, end] : [start, delta, end];
}
