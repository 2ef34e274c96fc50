import type { SDKError } from "../../core/errors.ts";
import type { Usage } from "../../gen/outrigger/v1/usage_pb.ts";
import type { Call } from "./call.ts";
import type { Outcome } from "./outcome.ts";

/** A request to a provider. */
export interface Attempt {
  /** Id of the provider call; in `stream_start`, in `Response` and in the header `outrigger-inference-id`. */
  readonly inferenceId: string;
  /** Provider that is asked, bounded. Empty if none is registered. */
  readonly provider: string;
  /** Model that is asked for, bounded. */
  readonly model: string;
}

/** The end of a request to a provider. */
export interface AttemptOutcome {
  /** Since the attempt began, in milliseconds. */
  readonly durationMs: number;
  /** The call was sent again, or to another provider, since this attempt failed. Its error is in `Response.attempts`. */
  readonly isRepeated: boolean;
  /** The error with which the call failed. Undefined if it succeeded, was repeated or was left before its end. */
  readonly error: SDKError | undefined;
  /** Tokens of the call. Undefined if none are known. */
  readonly usage: Usage | undefined;
}

/** The first output of a model in a stream: text, reasoning, a tool call or another part. */
export interface FirstOutput {
  /** Provider that answers, bounded. */
  readonly provider: string;
  /** Model that answers, bounded. */
  readonly model: string;
  /** Since the arrival of the call, in milliseconds. */
  readonly elapsedMs: number;
}

/**
 * Follows all calls of a server, for a log, metrics or traces. `call` is the same object in all methods. No method may
 * throw. For a call that is neither an inference nor a stream, only `begin` and `end` are called.
 */
export interface CallObserver {
  /** Called when a call arrives. */
  begin(call: Call): void;
  /** Called when a request to a provider begins. */
  attempt?(call: Call, attempt: Attempt): void;
  /** A request to a provider has ended. Once for each `attempt`, with the same object; after `end` if the client left. */
  attemptEnd?(call: Call, attempt: Attempt, outcome: AttemptOutcome): void;
  /** Called when the first output of a stream arrives. At most once for each attempt. */
  firstOutput?(call: Call, output: FirstOutput): void;
  /** Called when a call has ended, once for each `begin`. */
  end(call: Call, outcome: Outcome): void;
}
