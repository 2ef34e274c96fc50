/** The data that observers of calls receive: the log, the metrics and the traces are such observers. */

import { Code, type ConnectError } from "@connectrpc/connect";
import type { CallTimes } from "../../core/call-timing.ts";
import type { Caller } from "../../core/caller.ts";
import { SDKError } from "../../core/errors.ts";
import type { TraceContext } from "../../core/trace-context.ts";
import type { Request } from "../../gen/outrigger/v1/request_pb.ts";
import type { Response } from "../../gen/outrigger/v1/response_pb.ts";
import type { Usage } from "../../gen/outrigger/v1/usage_pb.ts";

/** A call, as far as it is known when it arrives. */
export interface Call {
  /** Service and method, for instance `outrigger.v1.InferenceService/Stream`; `unknown` if there is no such method. */
  readonly rpc: string;
  /** The client's `x-request-id`, or a generated one. */
  readonly requestId: string;
  /** `1.1` or `2.0`. */
  readonly httpVersion: string;
  /** `grpc`, `grpc-web`, `connect` or `http`; empty if the request belongs to no protocol. */
  readonly protocol: string;
  /** The caller. */
  readonly caller: Caller;
  /** The trace that the call is a part of. Undefined if its client sent none. */
  readonly trace: TraceContext | undefined;
  /**
   * Whether it is a provider call of a background run, for which no caller waits. `trace` is the one that created the
   * run.
   */
  readonly isBackground: boolean;
  /** Whether it only asks for the state of the server. */
  readonly isProbe: boolean;
  /** Time of arrival, by `performance.now()`. */
  readonly startedAt: number;
}

/** The purpose of a request to a provider. */
export type Operation = "chat" | "count_tokens" | "embeddings";

/**
 * A request to a provider. Until it is sent, middleware may replace the provider and the model to which the name in the
 * call's request resolves: the object has the final ones when the request ends.
 */
export interface Attempt {
  readonly operation: Operation;
  readonly isStreamed: boolean;
  /** The step of a loop with tools, from 1. Undefined if the call belongs to no such loop. */
  readonly step: number | undefined;
  /** Id of the provider call, as in `stream_start`, in `Response` and in the header `outrigger-inference-id`. */
  readonly inferenceId: string;
  /** Name of the provider, bounded. Empty if no such provider is registered. */
  readonly provider: string;
  /** Requested model, bounded. */
  readonly model: string;
}

/** The end of a request to a provider. */
export interface AttemptOutcome {
  /** Since the attempt began, in milliseconds. */
  readonly durationMs: number;
  /**
   * The call was sent again, or to another provider, since this attempt failed. Its error is in `Response.attempts`.
   */
  readonly isRepeated: boolean;
  /** The error with which the call failed. Undefined if it succeeded, was repeated or was left before its end. */
  readonly error: SDKError | undefined;
  /** Tokens of the call. Undefined if none are known. */
  readonly usage: Usage | undefined;
  /**
   * The whole answer, which must not be kept or changed. Undefined if there is none; without content if no observer
   * needs it.
   */
  readonly response: Response | undefined;
}

/** The execution of a tool by the caller, while its call waits for the output. */
export interface ToolExecution {
  /** Id of the tool call. No longer than the provider's answer allows. */
  readonly id: string;
  readonly name: string;
  /** The step whose answer called the tool, from 1. */
  readonly step: number;
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

/** The outcome of a call, as its transport knows it. */
export interface TransportOutcome {
  /** Status of the call; undefined is OK. */
  readonly code: Code | undefined;
  /** Whether the client closed the stream before the response was complete. */
  readonly disconnected: boolean;
  /** The thrown value of a bug of this program. For the log, never for the client. */
  readonly fault?: unknown;
  /** The error with which the call was ended, if it has the form of our contract. */
  readonly error?: SDKError | undefined;
}

/** The outcome of a call, as its service knows it. */
export interface ServiceOutcome {
  /** Provider that answered, bounded; undefined if there is none. */
  readonly provider?: string | undefined;
  /** Model that answered or was requested, bounded; undefined if there is none. */
  readonly model?: string | undefined;
  /** Undefined if no usage is known. */
  readonly usage?: Usage | undefined;
  /** The error of the service. */
  readonly error?: SDKError | undefined;
  /** The message of the error without texts of the caller; undefined if it was not compared with the request. */
  readonly reason?: string | undefined;
  /** Whether the server stopped before the call ended. */
  readonly abortedByShutdown?: boolean | undefined;
}

/** The outcome of a call. */
export interface Outcome extends TransportOutcome, ServiceOutcome {
  /** Name of the status: `OK`, `DEADLINE_EXCEEDED`. */
  readonly codeName: string;
  /** Time from the arrival of the call to its last byte, in milliseconds. */
  readonly durationMs: number;
  /** Time from the arrival of the call to its first output, in milliseconds; undefined if it streamed none. */
  readonly firstOutputMs: number | undefined;
  /** Undefined if the call is not an inference. */
  readonly inferenceId: string | undefined;
  /** Number of requests to providers that began. */
  readonly attempts: number;
  /** The times of the call. Undefined if it is not an inference. */
  readonly times: CallTimes | undefined;
}

/**
 * Follows all calls of a server, for a log, metrics or traces. `call` is the same object in all methods. No method may
 * throw. For a call that is neither an inference nor a stream, only `begin`, `getCallTrace` and `end` are called.
 */
export interface CallObserver {
  /** Called when a call arrives. */
  begin?(call: Call): void;
  /** Returns the trace context of the call itself, for the work that it causes. Called once, after `begin`. */
  getCallTrace?(call: Call): TraceContext | undefined;
  /**
   * Called when a request to a provider begins.
   * @param request The request in the form of the contract, which must not be kept or changed. Undefined if the attempt
   *   repeats an earlier one, or embeds texts.
   */
  attempt?(call: Call, attempt: Attempt, request?: Request): void;
  /** Returns the trace context to send with a request to a provider. Called once, after `attempt`. */
  getSentTrace?(attempt: Attempt): TraceContext | undefined;
  /**
   * Called when a request to a provider has ended. Once for each `attempt`, with the same object; after `end` if the
   * client disconnected.
   */
  attemptEnd?(call: Call, attempt: Attempt, outcome: AttemptOutcome): void;
  /** Called when the caller is asked to execute a tool. */
  tool?(call: Call, tool: ToolExecution): void;
  /** Called when the tool has its result. Once for each `tool`, with the same object, unless the call ends before. */
  toolEnd?(call: Call, tool: ToolExecution, hasFailed: boolean): void;
  /** Called when the first output of a stream arrives. At most once for each attempt. */
  firstOutput?(call: Call, output: FirstOutput): void;
  /** Called when a call has ended, once for each `begin`. */
  end(call: Call, outcome: Outcome): void;
}

/** Returns the outcome of a call that failed with a status, and because of a bug if there is a thrown value. */
export function failedOutcome({ code, cause }: ConnectError, fault: unknown): TransportOutcome {
  return { code, disconnected: false, fault, error: cause instanceof SDKError ? cause : undefined };
}

/** The part of an observer that metrics implement. */
export type MeasuredCalls = Required<
  Pick<CallObserver, "begin" | "attempt" | "attemptEnd" | "firstOutput" | "end">
>;

/** Returns the outcome of a call whose client closed the stream. */
export function disconnectedOutcome(): TransportOutcome {
  return { code: Code.Canceled, disconnected: true };
}
