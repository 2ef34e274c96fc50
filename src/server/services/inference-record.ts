import type { ConnectError } from "@connectrpc/connect";
import type { CallOptions } from "../../core/adapter.ts";
import { ProviderError, type SDKError } from "../../core/errors.ts";
import { inferenceIdOf } from "../../core/inference-id.ts";
import type { MemoryShare } from "../../core/memory-pool.ts";
import { addUsage } from "../../core/usage.ts";
import type { Request } from "../../gen/outrigger/v1/request_pb.ts";
import type { Response } from "../../gen/outrigger/v1/response_pb.ts";
import type { StreamEvent } from "../../gen/outrigger/v1/stream_event_pb.ts";
import type { Usage } from "../../gen/outrigger/v1/usage_pb.ts";
import { isCacheHit } from "../../middleware/cache.ts";
import { INFERENCE_ID_HEADER } from "../http/id-headers.ts";
import { boundedText } from "../status/bounded-text.ts";
import { connectErrorOf } from "../status/status.ts";
import type { CallRecorder } from "../telemetry/call-recorder.ts";
import { CutOffError } from "./call-signal.ts";
import type { Inference } from "./inference.ts";

const MAX_NAME_BYTES = 128;

/**
 * Reports an RPC and the provider calls that serve it, one after the other, to the observers. The RPC is reported with
 * the provider and the model of the last call, and with the usage of all calls.
 */
export class InferenceRecord {
  /** Memory for the answers. Undefined: they are counted elsewhere. */
  memory: MemoryShare | undefined;
  readonly #recorder: CallRecorder;
  readonly #inference: Inference;
  #requestedModel = "";
  #provider = "";
  #model = "";
  #usage: Usage | undefined;
  #usageOfEarlierCalls: Usage | undefined;
  #error: SDKError | undefined;
  #hasOutput = false;

  constructor(inference: Inference, recorder: CallRecorder, memory?: MemoryShare) {
    this.memory = memory;
    this.#recorder = recorder;
    this.#inference = inference;
  }

  /** A provider call begins. Returns its options. */
  begin(request: Request, options: CallOptions): CallOptions {
    const inferenceId = inferenceIdOf(options);
    this.#usageOfEarlierCalls = this.#totalUsage();
    this.#usage = undefined;
    const { provider, model } = this.#inference.resolveModel?.(request) ?? request;
    this.#requestedModel = request.model;
    this.#provider = bounded(provider);
    this.#model = bounded(model);
    this.#recorder.responseIds[INFERENCE_ID_HEADER] = inferenceId;
    this.#recorder.attempt({ inferenceId, provider: this.#provider, model: this.#model });
    let isSent = false;
    return {
      ...options,
      ...(this.memory && { memory: this.memory }),
      caller: this.#recorder.call.caller,
      inferenceId,
      onTarget: (target) => {
        this.#takeTarget(target);
        // Middleware may send a call again, or to another provider.
        if (isSent) this.#recorder.attempt({ inferenceId, provider: this.#provider, model: this.#model });
        isSent = true;
        options.onTarget?.(target);
      },
    };
  }

  /** A provider call gave its answer. */
  takeResponse(response: Response): void {
    this.#takeTarget(response);
    if (!isCacheHit(response)) this.#usage = response.usage;
  }

  /** A provider call gave events. */
  takeEvents(batch: readonly StreamEvent[]): void {
    // Only until the first output each event is looked at; the event that ends a stream is the last of its batch.
    if (!this.#hasOutput) for (const event of batch) this.#takeBeginning(event);
    const last = batch.at(-1)?.event;
    if (last?.case === "finish" && last.value.response !== undefined && isCacheHit(last.value.response))
      return;
    if (last?.case === "finish" || last?.case === "error") this.#usage = last.value.usage;
  }

  /** A provider call failed. */
  takeFailure(error: SDKError): void {
    this.#usage = error.usage ?? this.#usage;
    if (error instanceof ProviderError) this.#provider = bounded(error.provider) || this.#provider;
  }

  /** The RPC failed. Returns the status for it. */
  fail(error: SDKError): ConnectError {
    this.#error = error;
    return connectErrorOf(error, { model: this.#requestedModel });
  }

  /** The RPC has ended. */
  end({ reason }: AbortSignal): void {
    this.#recorder.report({
      provider: this.#provider,
      model: this.#model,
      usage: this.#totalUsage(),
      error: this.#error,
      isCutOff: reason instanceof CutOffError,
    });
  }

  #totalUsage(): Usage | undefined {
    const earlier = this.#usageOfEarlierCalls;
    if (earlier === undefined || this.#usage === undefined) return this.#usage ?? earlier;
    return addUsage(earlier, this.#usage);
  }

  #takeBeginning({ event }: StreamEvent): void {
    if (event.case === "streamStart") this.#takeTarget(event.value);
    else if (!this.#hasOutput && isOutput(event)) {
      this.#hasOutput = true;
      this.#recorder.firstOutput({ provider: this.#provider, model: this.#model });
    }
  }

  /** Names are chosen by clients and servers, and of any length. */
  #takeTarget({ provider, model }: { provider: string; model: string }): void {
    this.#provider = bounded(provider) || this.#provider;
    this.#model = bounded(model) || this.#model;
  }
}

function bounded(name: string): string {
  return boundedText(name, MAX_NAME_BYTES);
}

/** Whether an event holds output of the model, or says that a tool call has begun. */
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
