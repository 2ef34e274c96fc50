import type { ConnectError } from "@connectrpc/connect";
import type { CallOptions, CallTarget, ParallelCall } from "../../core/adapter.ts";
import { BatchStream } from "../../core/batches.ts";
import { ProviderError, type SDKError, toSdkError } from "../../core/errors.ts";
import { getInferenceId } from "../../core/ids.ts";
import type { MemoryShare } from "../../core/memory-pool.ts";
import { isCacheHit } from "../../core/response.ts";
import { boundedText } from "../../core/text.ts";
import { addUsages } from "../../core/usage.ts";
import type { EmbedRequest, EmbedResponse } from "../../gen/outrigger/v1/embedding_service_pb.ts";
import type { CountTokensResponse } from "../../gen/outrigger/v1/inference_service_pb.ts";
import type { Request } from "../../gen/outrigger/v1/request_pb.ts";
import type { Response } from "../../gen/outrigger/v1/response_pb.ts";
import type { StreamEvent } from "../../gen/outrigger/v1/stream_event_pb.ts";
import type { Usage } from "../../gen/outrigger/v1/usage_pb.ts";
import { countTokens, embed, type ModelClient } from "../../generation/loop/model-calls.ts";
import { toConnectError } from "../status/status.ts";
import type { Attempt } from "../telemetry/call-observer.ts";
import type { BegunAttempt, CallRecorder } from "../telemetry/call-recorder.ts";
import { INFERENCE_ID_HEADER } from "../telemetry/call-recorder.ts";
import { withoutCallerText } from "../telemetry/caller-text.ts";
import { ShutdownError } from "./call-context.ts";

/** The call that a recorded stream serves. */
export interface StreamingCall {
  /** Returns the error that the iteration throws. Default: the error of the client. */
  fail?(thrown: unknown): unknown;
  /** Called once, however the stream ends. */
  end?(): void;
}

/** A provider call in progress, with the latest request to a provider. Several can be in progress at once. */
interface ProviderCall extends BegunAttempt {
  readonly inferenceId: string;
  readonly kind: CallKind;
  /** Whether middleware has sent it, so that another target is another attempt. */
  isSent: boolean;
  /** The usage that is known so far. */
  usage: Usage | undefined;
  response: Response | undefined;
  failure: SDKError | undefined;
  /** The request, until its answer begins: a long stream should not keep it. */
  request: CallTarget | undefined;
}

/** The kind of a provider call. */
type CallKind = Pick<Attempt, "operation" | "isStreamed" | "step">;

type Batch = readonly StreamEvent[];

const MAX_NAME_BYTES = 128;

/**
 * Makes the provider calls that serve an RPC, and reports the RPC and the calls to the observers. The RPC is reported
 * with the provider and the model of the last call, and with the usage of all calls.
 */
export class InferenceRecord implements ModelClient {
  /** Memory for the responses. Undefined if they are counted elsewhere. */
  memory: MemoryShare | undefined;
  readonly #recorder: CallRecorder;
  readonly #client: ModelClient;
  #requestedModel = "";
  #provider = "";
  #model = "";
  /** The usage of the calls that have ended. */
  #usage: Usage | undefined;
  readonly #inProgress: ProviderCall[] = [];
  #error: SDKError | undefined;
  /** The latest failure of a call, with its message without texts of the caller. */
  #failure: { readonly error: SDKError; readonly reason: string | undefined } | undefined;
  #hasOutput = false;

  constructor(client: ModelClient, recorder: CallRecorder, memory?: MemoryShare) {
    this.memory = memory;
    this.#recorder = recorder;
    this.#client = client;
  }

  /** Calls a provider for its whole response. Throws the errors of the client. */
  async complete(request: Request, options: CallOptions = {}): Promise<Response> {
    const kind: CallKind = { operation: "chat", isStreamed: false, step: options.step };
    const call = this.#begin(request, options, kind, request);
    try {
      const response = await this.#client.complete(request, this.#toOptions(call, options));
      this.#noteTarget(response);
      call.response = response;
      if (!isCacheHit(response)) call.usage = response.usage;
      return response;
    } catch (thrown) {
      throw this.#noteFailure(call, thrown);
    } finally {
      this.#end(call);
    }
  }

  /** Counts the tokens of a request. Throws the errors of the client. */
  async countTokens(request: Request, options: CallOptions = {}): Promise<CountTokensResponse> {
    const kind: CallKind = { operation: "count_tokens", isStreamed: false, step: undefined };
    const call = this.#begin(request, options, kind, request);
    try {
      const count = await countTokens(this.#client, request, this.#toOptions(call, options));
      this.#noteTarget(count);
      return count;
    } catch (thrown) {
      throw this.#noteFailure(call, thrown);
    } finally {
      this.#end(call);
    }
  }

  /** Embeds texts. Throws the errors of the client. */
  async embed(request: EmbedRequest, options: CallOptions = {}): Promise<EmbedResponse> {
    const kind: CallKind = { operation: "embeddings", isStreamed: false, step: undefined };
    const call = this.#begin(request, options, kind, undefined);
    try {
      const response = await embed(this.#client, request, this.#toOptions(call, options));
      this.#noteTarget(response);
      call.usage = response.usage;
      return response;
    } catch (thrown) {
      throw this.#noteFailure(call, thrown);
    } finally {
      this.#end(call);
    }
  }

  /** Calls a provider for events, when they are read. Throws the errors of the client. */
  stream(request: Request, options: CallOptions = {}, served?: StreamingCall): BatchStream<StreamEvent> {
    return new BatchStream({ [Symbol.asyncIterator]: () => this.read(request, options, served) });
  }

  /** Calls a provider for events. Not a generator, which would need several more promises for each batch. */
  read(request: Request, options: CallOptions, served: StreamingCall = {}): AsyncIterator<Batch> {
    const kind: CallKind = { operation: "chat", isStreamed: true, step: options.step };
    const call = this.#begin(request, options, kind, request);
    const stream = this.#client.stream(request, this.#toOptions(call, options));
    const events = stream.batches()[Symbol.asyncIterator]();
    const end = () => {
      if (this.#end(call)) served.end?.();
    };
    return {
      next: async () => {
        try {
          const result = await events.next();
          if (result.done === true) end();
          else this.#noteEvents(call, result.value);
          return result;
        } catch (thrown) {
          const failure = served.fail?.(this.#noteFailure(call, thrown)) ?? thrown;
          end();
          throw failure;
        }
      },
      async return() {
        try {
          await events.return?.();
        } finally {
          end();
        }
        return { done: true, value: undefined };
      },
    };
  }

  resolveModel(name: CallTarget): CallTarget {
    return this.#client.resolveModel?.(name) ?? name;
  }

  /** Records the failure of the RPC. Returns its status. */
  fail(error: SDKError): ConnectError {
    this.#error = error;
    return toConnectError(error, { model: this.#requestedModel });
  }

  /** Records the end of the RPC. */
  end({ reason }: AbortSignal): void {
    let usage = this.#usage;
    for (const call of this.#inProgress) usage = addUsages(usage, call.usage);
    this.#recorder.outcome = {
      provider: this.#provider,
      model: this.#model,
      usage,
      error: this.#error,
      reason: this.#failure?.error.message === this.#error?.message ? this.#failure?.reason : undefined,
      abortedByShutdown: reason instanceof ShutdownError,
    };
  }

  #begin(
    target: CallTarget,
    options: CallOptions,
    kind: CallKind,
    request: Request | undefined,
  ): ProviderCall {
    const inferenceId = getInferenceId(options);
    const { provider, model } = this.#client.resolveModel?.(target) ?? target;
    this.#requestedModel = target.model;
    this.#provider = boundedText(provider, MAX_NAME_BYTES);
    this.#model = boundedText(model, MAX_NAME_BYTES);
    this.#recorder.responseIds[INFERENCE_ID_HEADER] = inferenceId;
    const call: ProviderCall = {
      ...this.#beginAttempt(inferenceId, kind, request),
      inferenceId,
      kind,
      isSent: false,
      usage: undefined,
      response: undefined,
      failure: undefined,
      request: target,
    };
    this.#inProgress.push(call);
    return call;
  }

  #toOptions(call: ProviderCall, options: CallOptions): CallOptions {
    return {
      ...options,
      memory: this.memory ?? options.memory,
      caller: this.#recorder.call.caller,
      timing: this.#recorder,
      getSentTrace: call.trace === undefined ? options.getSentTrace : () => call.trace,
      inferenceId: call.inferenceId,
      onTarget: (target) => {
        this.#noteTarget(target);
        // Middleware may send a call again, or to another provider.
        if (call.isSent) {
          this.#recorder.attemptEnd(call, undefined);
          Object.assign(call, this.#beginAttempt(call.inferenceId, call.kind, undefined));
        } else Object.assign(call.attempt, { provider: this.#provider, model: this.#model });
        call.isSent = true;
        options.onTarget?.(target);
      },
      beginParallel: () => this.#beginParallel(call, options),
    };
  }

  /**
   * Reports a request that is sent in parallel with the first one as separate attempts. The attempt that answers
   * continues as the attempt of the call.
   */
  #beginParallel(call: ProviderCall, options: CallOptions): ParallelCall {
    let parallel: BegunAttempt | undefined;
    const end = () => {
      if (parallel !== undefined) this.#recorder.attemptEnd(parallel, undefined);
      this.#noteTarget(call.attempt);
    };
    return {
      options: {
        ...(call.trace && { getSentTrace: () => parallel?.trace }),
        onTarget: (target) => {
          end();
          this.#noteTarget(target);
          parallel = this.#beginAttempt(call.inferenceId, call.kind, undefined);
          options.onTarget?.(target);
        },
      },
      endFirst: () => {
        // Otherwise the failure of the call may be the failure of the first request.
        if (parallel !== undefined) this.#recorder.attemptEnd(call, undefined);
      },
      win: () => {
        if (parallel === undefined) return;
        this.#recorder.attemptEnd(call, undefined);
        Object.assign(call, parallel);
        this.#noteTarget(call.attempt);
      },
      lose: end,
    };
  }

  /** Reports a request to the provider that is the latest target. */
  #beginAttempt(inferenceId: string, kind: CallKind, request: Request | undefined): BegunAttempt {
    const attempt = { ...kind, inferenceId, provider: this.#provider, model: this.#model };
    return this.#recorder.attempt(attempt, request);
  }

  /** Records the end of a call. Returns false if it had ended before. */
  #end(call: ProviderCall): boolean {
    const index = this.#inProgress.indexOf(call);
    if (index < 0) return false;
    this.#inProgress.splice(index, 1);
    // Most RPCs make one call.
    this.#usage = this.#usage === undefined ? call.usage : addUsages(this.#usage, call.usage);
    this.#recorder.attemptEnd(call, call);
    return true;
  }

  /** Records a failure of a call. Returns the thrown value. */
  #noteFailure<Thrown>(call: ProviderCall, thrown: Thrown): Thrown {
    const error = toSdkError(thrown);
    call.failure = error;
    const reason = call.request && withoutCallerText(error.message, call.request);
    this.#failure = { error, reason };
    call.usage = error.usage ?? call.usage;
    if (error instanceof ProviderError) this.#noteTarget({ provider: error.provider, model: "" });
    return thrown;
  }

  #noteEvents(call: ProviderCall, batch: Batch): void {
    call.request = undefined;
    // Events are inspected one by one only until the first output; the event that ends a stream is the last of its
    // batch.
    if (!this.#hasOutput) this.#noteBeginning(batch);
    const last = batch.at(-1)?.event;
    if (last?.case === "finish") call.response = last.value.response;
    if (last?.case === "finish" && last.value.response !== undefined && isCacheHit(last.value.response))
      return;
    if (last?.case === "finish" || last?.case === "error") call.usage = last.value.usage;
  }

  #noteBeginning(batch: Batch): void {
    for (const { event } of batch) {
      if (event.case === "streamStart") this.#noteTarget(event.value);
      if (this.#hasOutput || !isOutput(event)) continue;
      this.#hasOutput = true;
      this.#recorder.firstOutput({ provider: this.#provider, model: this.#model });
    }
  }

  /** Clients and servers choose the names, which may have any length. An empty one is unknown. */
  #noteTarget({ provider, model }: CallTarget): void {
    if (provider !== "" && provider !== this.#provider)
      this.#provider = boundedText(provider, MAX_NAME_BYTES);
    if (model !== "" && model !== this.#model) this.#model = boundedText(model, MAX_NAME_BYTES);
  }
}

/** Reports whether an event holds output of the model, or begins a tool call. */
function isOutput({ case: kind }: StreamEvent["event"]): boolean {
  switch (kind) {
    case "textDelta":
    case "reasoningDelta":
    case "toolCallStart":
    case "partAdded":
      return true;
    default:
      return false;
  }
}
