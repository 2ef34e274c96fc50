import type { EmbedRequest, EmbedResponse } from "../gen/outrigger/v1/embedding_service_pb.ts";
import type { Request, ToolChoice_Mode } from "../gen/outrigger/v1/request_pb.ts";
import type { Response } from "../gen/outrigger/v1/response_pb.ts";
import type { CallTiming } from "./call-timing.ts";
import type { Caller } from "./caller.ts";
import type { EventStream } from "./event-stream.ts";
import type { MemoryShare } from "./memory-pool.ts";
import type { RepeatLimit } from "./repeat-limit.ts";
import type { SourceForm } from "./source-form.ts";
import type { TraceContext } from "./trace-context.ts";

/** Options of a call that are not part of its request. */
export interface CallOptions {
  /** Cancels the call in any phase: the connection to the provider closes at once. */
  readonly signal?: AbortSignal | undefined;
  /**
   * The caller's deadline, in milliseconds of `performance.now()`. Waits that would outlast it are skipped; the signal
   * is what ends a call.
   */
  readonly deadline?: number | undefined;
  /** Id of the call, reported as `inference_id`. Generated if absent. */
  readonly inferenceId?: string | undefined;
  /** The caller. Default: an anonymous caller, who may use every model. */
  readonly caller?: Caller | undefined;
  /** The trace that the call is a part of, for observers. */
  readonly trace?: TraceContext | undefined;
  /** Returns the trace context to send with the latest request of the call. Default: none is sent. */
  readonly getSentTrace?: (() => TraceContext | undefined) | undefined;
  /** Measures how long the call waits. Default: nothing is measured. */
  readonly timing?: CallTiming | undefined;
  /** Limits the retries and fallbacks of the whole call. Created by the first middleware that repeats calls. */
  readonly repeats?: RepeatLimit | undefined;
  /** Memory that the answer draws on until the caller has it. Default: the process does not count its memory. */
  readonly memory?: MemoryShare | undefined;
  /** The step of a loop with tools that the call is, from 1, for observers. Absent: it belongs to no such loop. */
  readonly step?: number | undefined;
  /** The alias by which the request named its model. Set by a Client, for middleware. */
  readonly modelAlias?: string | undefined;
  /**
   * The targets of that alias, if it has several. The request goes to the first one, unless middleware changes that.
   */
  readonly aliasTargets?: readonly CallTarget[] | undefined;
  /**
   * Resolves the name of a model by the rule of the Client (docs/models.md), for middleware that sends a call to
   * another model. Set by a Client.
   * @param defaultProvider Used instead of the client's default provider.
   */
  readonly resolveModel?: ((name: CallTarget, defaultProvider: string) => CallTarget) | undefined;
  /** The form in which the caller wrote the request, for a provider that speaks the caller's API. */
  readonly source?: SourceForm | undefined;
  /** The purpose of the call, if it is not an answer of the model. Set by a Client, for middleware. */
  readonly operation?: CallOperation | undefined;
  /** Whether the request is one of several for one answer, so that no middleware sends others alongside it. */
  readonly isHedged?: boolean | undefined;
  /**
   * Begins to observe a call that middleware makes at the same time as another one, for one answer. Default: only the
   * answer is observed.
   */
  readonly beginParallel?: (() => ParallelCall) | undefined;
  /** Called by a Client after middleware has run, when the provider and the model of the call are known. */
  readonly onTarget?: ((target: CallTarget) => void) | undefined;
}

/** A call that is made at the same time as another one, for one answer. */
export interface ParallelCall {
  /** Replace the options of the other call. */
  readonly options: Pick<CallOptions, "onTarget" | "getSentTrace">;
  /**
   * The first call, alongside which this one was made, has failed, and others continue. May be called several times.
   */
  endFirst(): void;
  /** This call has the answer, or the last failure. Called once, unless `lose` is. */
  win(): void;
  /** Another call has the answer or the last failure. Called once, unless `win` is. */
  lose(): void;
}

/**
 * A call that asks a provider for something else than an answer. Middleware sees its inputs as a request, and its usage
 * as a response without a message.
 */
export interface CallOperation {
  readonly kind: "count_tokens" | "embed";
  /** Makes the call. Returns a response without a message. */
  send(adapter: ProviderAdapter, request: Request, options: CallOptions): Promise<Response>;
}

/** The destination of a call. */
export interface CallTarget {
  /** Name under which the provider is registered. */
  readonly provider: string;
  readonly model: string;
}

/**
 * Calls the models of one provider. One instance serves many calls at once and keeps no state between them except its
 * connections.
 */
export interface ProviderAdapter {
  /** Name under which the adapter is registered, for instance `openai`. */
  readonly name: string;

  /**
   * Name of the provider in the shipped catalog whose models the adapter serves. Absent: none, or they are not known.
   */
  readonly catalogProvider?: string | undefined;

  /**
   * Name of the wire API whose requests the adapter takes in their source form. Absent: it translates every request.
   */
  readonly sourceApi?: string | undefined;

  /**
   * Sends the request and returns the whole response. Never retries.
   * @throws SDKError of the kind of the failure.
   */
  complete(request: Request, options?: CallOptions): Promise<Response>;

  /**
   * Sends the request and returns events while the model generates. Never retries. The request is sent when the first
   * event is read. A failure before the first event is thrown; a later one arrives as an `error` event and is then
   * thrown. Leaving the iteration cancels the call.
   */
  stream(request: Request, options?: CallOptions): EventStream;

  /**
   * Counts the tokens of a request's input as the provider does, without calling the model. Absent, or undefined: the
   * provider has no such method.
   * @throws SDKError of the kind of the failure.
   */
  countTokens?(request: Request, options?: CallOptions): Promise<number | undefined>;

  /**
   * Embeds the inputs of a request. Never retries. Absent: the provider has no embeddings.
   * @throws SDKError of the kind of the failure.
   */
  embed?(request: EmbedRequest, options?: CallOptions): Promise<EmbedResponse>;

  /** Checks the configuration. Called once when the adapter is registered. Throws ConfigurationError. */
  initialize?(): void | Promise<void>;

  /** Closes the connections. Called by `Client.close()`. */
  close?(): Promise<void>;

  /** Reports whether a mode of tool choice works with a model. Absent means that every mode does. */
  supportsToolChoice?(mode: ToolChoice_Mode, model: string, options?: CallOptions): boolean;

  /**
   * Reports whether the provider enforces the JSON schema of a response format. Absent means that it does. If it does
   * not, the adapter asks for the schema in an instruction.
   */
  supportsJsonSchema?(model: string, options?: CallOptions): boolean;
}
