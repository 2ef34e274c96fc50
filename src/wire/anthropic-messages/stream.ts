/** Streams of Anthropic's Messages API (documentation: "Streaming messages"). */
import type {
  BetaFallbackInfo,
  BetaRawContentBlockDelta,
  BetaRawContentBlockDeltaEvent,
  BetaRawContentBlockStartEvent,
  BetaRawContentBlockStopEvent,
  BetaRawMessageDeltaEvent,
  BetaRawMessageStartEvent,
  BetaRawMessageStopEvent,
} from "@anthropic-ai/sdk/resources/beta/messages";
import type { ErrorResponse } from "./error.ts";

/** A piece of a content block (documentation: "Streaming messages", "Content block delta types"). */
export type ContentBlockDelta = BetaRawContentBlockDelta;

/** The changes of the message at its end (documentation: "Streaming messages", `message_delta`). */
export type MessageDelta = BetaRawMessageDeltaEvent["delta"];

/** The model that takes over from one that refused (documentation: "Fallbacks", block `fallback`). */
export type FallbackModel = BetaFallbackInfo;

/** Keeps the connection busy (documentation: "Streaming messages", "Ping events"). */
interface PingEvent {
  type: "ping";
}

/** An event of a stream (documentation: "Streaming messages", "Event types"). */
export type StreamEvent =
  | BetaRawMessageStartEvent
  | BetaRawContentBlockStartEvent
  | BetaRawContentBlockDeltaEvent
  | BetaRawContentBlockStopEvent
  | BetaRawMessageDeltaEvent
  | BetaRawMessageStopEvent
  | PingEvent
  | ErrorResponse;
