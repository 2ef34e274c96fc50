import { Code } from "@connectrpc/connect";
import type { SDKError } from "../../core/errors.ts";
import type { Usage } from "../../gen/outrigger/v1/usage_pb.ts";

/** How a call ended, as its transport knows it. */
export interface TransportOutcome {
  /** Status that the call ended with; undefined is OK. */
  readonly code: Code | undefined;
  /** Whether the client closed the stream before the response was complete. */
  readonly disconnected: boolean;
  /** The thrown value of a bug of this program. For the log, never for the client. */
  readonly fault?: unknown;
}

/** How a call ended, as the service that answered it knows it. */
export interface ServiceOutcome {
  /** Provider that answered, bounded; undefined where there is none. */
  readonly provider?: string | undefined;
  /** Model that answered or was asked for, bounded; undefined where there is none. */
  readonly model?: string | undefined;
  /** Undefined where no usage is known. */
  readonly usage?: Usage | undefined;
  /** Why the service failed. */
  readonly error?: SDKError | undefined;
  /** Whether the server stopped before the call had ended. */
  readonly isCutOff?: boolean | undefined;
}

/** How a call ended. */
export interface Outcome extends TransportOutcome, ServiceOutcome {
  /** From the arrival of the call to its last byte, in milliseconds. */
  readonly durationMs: number;
  /** From the arrival of the call to its first output, in milliseconds; undefined where it streamed none. */
  readonly firstOutputMs: number | undefined;
  /** Undefined where the call is no inference. */
  readonly inferenceId: string | undefined;
}

/** The outcome of a call whose client closed the stream. */
export function disconnectedOutcome(): TransportOutcome {
  return { code: Code.Canceled, disconnected: true };
}
