import { Code } from "@connectrpc/connect";
import type { SDKError } from "../../core/errors.ts";
import type { Usage } from "../../gen/outrigger/v1/usage_pb.ts";

/** The outcome of a call, as its transport knows it. */
export interface TransportOutcome {
  /** Status of the call; undefined is OK. */
  readonly code: Code | undefined;
  /** Whether the client closed the stream before the response was complete. */
  readonly disconnected: boolean;
  /** The thrown value of a bug of this program. For the log, never for the client. */
  readonly fault?: unknown;
}

/** The outcome of a call, as its service knows it. */
export interface ServiceOutcome {
  /** Provider that answered, bounded; undefined if there is none. */
  readonly provider?: string | undefined;
  /** Model that answered or was asked for, bounded; undefined if there is none. */
  readonly model?: string | undefined;
  /** Undefined if no usage is known. */
  readonly usage?: Usage | undefined;
  /** The error of the service. */
  readonly error?: SDKError | undefined;
  /** Whether the server stopped before the call ended. */
  readonly isCutOff?: boolean | undefined;
}

/** The outcome of a call. */
export interface Outcome extends TransportOutcome, ServiceOutcome {
  /** Time from the arrival of the call to its last byte, in milliseconds. */
  readonly durationMs: number;
  /** Time from the arrival of the call to its first output, in milliseconds; undefined if it streamed none. */
  readonly firstOutputMs: number | undefined;
  /** Undefined if the call is not an inference. */
  readonly inferenceId: string | undefined;
}

/** Returns the outcome of a call whose client closed the stream. */
export function disconnectedOutcome(): TransportOutcome {
  return { code: Code.Canceled, disconnected: true };
}
