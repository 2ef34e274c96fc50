/** The events of a streamed answer ("Streaming events"). The types come from OpenAI's SDK. */
import type {
  ResponseErrorEvent as SDKErrorEvent,
  ResponseStreamEvent as SDKStreamEvent,
} from "openai/resources/responses/responses";
import type { ErrorBody } from "./error.ts";
import type { ResponseObject } from "./response.ts";

/** An event of a stream ("Streaming events"). */
export type StreamEvent =
  | Exclude<SDKStreamEvent, SDKErrorEvent>
  | ErrorEvent
  | CancelledEvent
  | KeepAliveEvent;

/** Random padding of a delta against traffic analysis ("Create a model response", `stream_options`). */
export interface Obfuscation {
  /** Meaningless characters. */
  obfuscation?: string;
}

/** A failure ("Streaming events", "error"): its fields are in the event itself, or under `error`. */
export interface ErrorEvent extends Partial<Omit<SDKErrorEvent, "type" | "sequence_number">> {
  /** Kind of the event. */
  type: "error";
  /** Place of the event in the stream. */
  sequence_number: number;
  /** The failure, if the event itself does not hold it. */
  error?: ErrorBody["error"];
}

/** The response was cancelled. Undocumented; servers other than OpenAI's send it. */
export interface CancelledEvent {
  /** Kind of the event. */
  type: "response.cancelled";
  /** The response so far. */
  response?: ResponseObject;
  /** Place of the event in the stream. */
  sequence_number: number;
}

/** Shows that the connection is alive. Undocumented. */
export interface KeepAliveEvent {
  /** Kind of the event. */
  type: "keepalive";
  /** Place of the event in the stream. */
  sequence_number: number;
}
