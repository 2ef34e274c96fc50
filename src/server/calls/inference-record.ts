import type { ConnectError } from "@connectrpc/connect";
import type { CallOptions } from "../../core/adapter.ts";
import { ProviderError, type SDKError } from "../../core/errors.ts";
import { getInferenceId } from "../../core/inference-id.ts";
import type { MemoryShare } from "../../core/memory-pool.ts";
import { addUsage } from "../../core/usage.ts";
import type { Request } from "../../gen/outrigger/v1/request_pb.ts";
import type { Response } from "../../gen/outrigger/v1/response_pb.ts";
import type { StreamEvent } from "../../gen/outrigger/v1/stream_event_pb.ts";
import type { Usage } from "../../gen/outrigger/v1/usage_pb.ts";
import { isCacheHit } from "../../middleware/cache.ts";
import { INFERENCE_ID_HEADER } from "../base/id-headers.ts";
import { boundedText } from "../status/bounded-text.ts";
import { toConnectError } from "../status/status.ts";
import type { AttemptOutcome } from "../telemetry/call-observer.ts";
import type { CallRecorder } from "../telemetry/call-recorder.ts";
import { CutOffError } from "./call-signal.ts";
import type { Inference } from "./inference.ts";

const MAX_NAME_BYTES = 128;

/** A provider call of a record. Several can be in progress at once. */
export interface RecordedCall {
  /** The options with which to make the call. */
  readonly options: CallOptions;
  /** The usage of the call, as far as it is known. */
  usage: Usage | undefined;
  /** Records the response of the call. */
  readonly takeResponse: (response: Response) => void;
  /** Records events of the call. */
  readonly takeEvents: (batch: readonly StreamEvent[]) => void;
  /** Records the failure of the call. */
  readonly takeFailure: (error: SDKError) => void;
  /** Records the end of the call. Can be called again. */
  readonly end: () => void;
}

/**
 * Reports an RPC and the provider calls that serve it to the observers. The RPC is reported with the provider and the
 * model of the last call, and with the usage of all calls.
 */
export class InferenceRecord {
  /** Memory for the responses. Undefined if they are counted elsewhere. */
  memory: MemoryShare | undefined;
  readonly #recorder: CallRecorder;
  readonly #inference: Inference;
  #requestedModel = "";
  #provider = "";
  #model = "";
  /** The usage of the calls that have ended. */
  #usage: Usage | undefined;
  readonly #underWay = new Set<RecordedCall>();
  #error: SDKError | undefined;
  #hasOutput = false;

  constructor(inference: Inference, recorder: CallRecorder, memory?: MemoryShare) {
    this.memory = memory;
    this.#recorder = recorder;
    this.#inference = inference;
  }

  /** Begins the record of a provider call. */
  begin(request: Request, options: CallOptions): RecordedCall {
    const inferenceId = getInferenceId(options);
    const { provider, model } = this.#inference.resolveModel?.(request) ?? request;
    this.#requestedModel = request.model;
    this.#provider = bounded(provider);
    this.#model = bounded(model);
    this.#recorder.responseIds[INFERENCE_ID_HEADER] = inferenceId;
    let attempt = this.#beginAttempt(inferenceId);
    let isSent = false;
    let failure: SDKError | undefined;
    const callOptions: CallOptions = {
      ...options,
      ...(this.memory && { memory: this.memory }),
      caller: this.#recorder.call.caller,
      inferenceId,
      onTarget: (target) => {
        this.#takeTarget(target);
        // Middleware may send a call again, or to another provider.
        if (isSent) {
          attempt.end({ isRepeated: true, error: undefined, usage: undefined });
          attempt = this.#beginAttempt(inferenceId);
        }
        isSent = true;
        options.onTarget?.(target);
      },
    };
    const call: RecordedCall = {
      options: callOptions,
      usage: undefined,
      takeResponse: (response) => {
        this.#takeTarget(response);
        if (!isCacheHit(response)) call.usage = response.usage;
      },
      takeEvents: (batch) => this.#takeEvents(call, batch),
      takeFailure: (error) => {
        failure = error;
        call.usage = error.usage ?? call.usage;
        if (error instanceof ProviderError) this.#provider = bounded(error.provider) || this.#provider;
      },
      end: () => {
        if (!this.#underWay.delete(call)) return;
        this.#usage = addUsages(this.#usage, call.usage);
        attempt.end({ isRepeated: false, error: failure, usage: call.usage });
      },
    };
    this.#underWay.add(call);
    return call;
  }

  /** Records the failure of the RPC. Returns its status. */
  fail(error: SDKError): ConnectError {
    this.#error = error;
    return toConnectError(error, { model: this.#requestedModel });
  }

  /** Records the end of the RPC. */
  end({ reason }: AbortSignal): void {
    this.#recorder.report({
      provider: this.#provider,
      model: this.#model,
      usage: this.#totalUsage(),
      error: this.#error,
      isCutOff: reason instanceof CutOffError,
    });
  }

  /** Reports a request to the provider that is the latest target. */
  #beginAttempt(inferenceId: string): { end(outcome: Omit<AttemptOutcome, "durationMs">): void } {
    const startedAt = performance.now();
    const attempt = { inferenceId, provider: this.#provider, model: this.#model };
    this.#recorder.attempt(attempt);
    return {
      end: (outcome) =>
        this.#recorder.attemptEnd(attempt, { durationMs: performance.now() - startedAt, ...outcome }),
    };
  }

  #totalUsage(): Usage | undefined {
    let total = this.#usage;
    for (const { usage } of this.#underWay) total = addUsages(total, usage);
    return total;
  }

  #takeEvents(call: RecordedCall, batch: readonly StreamEvent[]): void {
    // Events are inspected one by one only until the first output; the event that ends a stream is the last of its
    // batch.
    if (!this.#hasOutput) for (const event of batch) this.#takeBeginning(event);
    const last = batch.at(-1)?.event;
    if (last?.case === "finish" && last.value.response !== undefined && isCacheHit(last.value.response))
      return;
    if (last?.case === "finish" || last?.case === "error") call.usage = last.value.usage;
  }

  #takeBeginning({ event }: StreamEvent): void {
    if (event.case === "streamStart") this.#takeTarget(event.value);
    else if (!this.#hasOutput && isOutput(event)) {
      this.#hasOutput = true;
      this.#recorder.firstOutput({ provider: this.#provider, model: this.#model });
    }
  }

  /** Clients and servers choose the names, which may have any length. */
  #takeTarget({ provider, model }: { provider: string; model: string }): void {
    this.#provider = bounded(provider) || this.#provider;
    this.#model = bounded(model) || this.#model;
  }
}

function addUsages(a: Usage | undefined, b: Usage | undefined): Usage | undefined {
  return a === undefined || b === undefined ? (a ?? b) : addUsage(a, b);
}

function bounded(name: string): string {
  return boundedText(name, MAX_NAME_BYTES);
}

/** Whether an event holds output of the model, or begins a tool call. */
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
