import type { ConnectError, HandlerContext } from "@connectrpc/connect";
import type { CallOptions } from "../../core/adapter.ts";
import { type Batches, BatchStream, lazyBatches } from "../../core/batches.ts";
import { ProviderError, type SDKError } from "../../core/errors.ts";
import type { EventStream } from "../../core/event-stream.ts";
import { inferenceIdOf } from "../../core/inference-id.ts";
import { InferenceService } from "../../gen/outrigger/v1/inference_service_pb.ts";
import type { Request } from "../../gen/outrigger/v1/request_pb.ts";
import type { Response } from "../../gen/outrigger/v1/response_pb.ts";
import type { StreamEvent } from "../../gen/outrigger/v1/stream_event_pb.ts";
import type { Usage } from "../../gen/outrigger/v1/usage_pb.ts";
import { INFERENCE_ID_HEADER } from "../http/id-headers.ts";
import { boundedText } from "../status/bounded-text.ts";
import { connectErrorOf } from "../status/status.ts";
import { type CallRecorder, recorderOf } from "../telemetry/call-recorder.ts";
import { type CallSignal, CallSignals, CutOffError, errorOfCall } from "./call-signal.ts";
import { createService, type Service } from "./service.ts";

/** What answers the calls of InferenceService. A Client is one. */
export interface Inference {
  /** Provider of requests that name none. */
  readonly defaultProvider?: string | undefined;
  /** The whole answer. Throws SDKError. */
  complete(request: Request, options?: CallOptions): Promise<Response>;
  /**
   * The answer as events, under the laws of a stream: a failure after the first event is an `error` event and is thrown
   * after it. Leaving the iteration cancels the call.
   */
  stream(request: Request, options?: CallOptions): EventStream;
}

/** InferenceService over what answers it. Independent of the protocol that carries a call. */
export function createInferenceService(inference: Inference): Service {
  const signals = new CallSignals();
  return createService(
    InferenceService,
    {
      complete: (request, context) => complete(inference, signals, request, context),
      stream: (request, context) => new BatchStream(stream(inference, signals, request, context)),
    },
    { cutOff: () => signals.cutOff() },
  );
}

type Batch = readonly StreamEvent[];

const MAX_NAME_BYTES = 128;

async function complete(
  inference: Inference,
  signals: CallSignals,
  request: Request,
  context: HandlerContext,
): Promise<Response> {
  const record = new InferenceRecord(inference, request, context);
  const { signal, release } = signals.open(context.signal);
  try {
    const response = await inference.complete(request, record.optionsFor(signal));
    record.takeResponse(response);
    return response;
  } catch (thrown) {
    throw record.fail(errorOfCall(thrown, signal));
  } finally {
    release();
    record.end(signal);
  }
}

function stream(
  inference: Inference,
  signals: CallSignals,
  request: Request,
  context: HandlerContext,
): Batches<StreamEvent> {
  return lazyBatches(() => {
    const record = new InferenceRecord(inference, request, context);
    const call = signals.open(context.signal);
    const events = inference.stream(request, record.optionsFor(call.signal));
    const recorded = new RecordedStream(events.batches()[Symbol.asyncIterator](), record, call);
    return { [Symbol.asyncIterator]: () => recorded };
  });
}

/** A stream that reports its call. Not a generator, which would take several more promises for every batch. */
class RecordedStream implements AsyncIterator<Batch> {
  readonly #events: AsyncIterator<Batch>;
  readonly #record: InferenceRecord;
  readonly #call: CallSignal;
  #isOver = false;

  constructor(events: AsyncIterator<Batch>, record: InferenceRecord, call: CallSignal) {
    this.#events = events;
    this.#record = record;
    this.#call = call;
  }

  next(): Promise<IteratorResult<Batch>> {
    return this.#events.next().then(this.#onResult, this.#onFailure);
  }

  async return(): Promise<IteratorResult<Batch>> {
    try {
      await this.#events.return?.();
    } finally {
      this.#end();
    }
    return { done: true, value: undefined };
  }

  readonly #onResult = (result: IteratorResult<Batch>): IteratorResult<Batch> => {
    if (result.done === true) this.#end();
    else this.#record.takeEvents(result.value);
    return result;
  };

  readonly #onFailure = (thrown: unknown): never => {
    const status = this.#record.fail(errorOfCall(thrown, this.#call.signal));
    this.#end();
    throw status;
  };

  #end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#call.release();
    this.#record.end(this.#call.signal);
  }
}

/** Reports an inference to the observers of its call. */
class InferenceRecord {
  readonly inferenceId = inferenceIdOf();
  readonly #recorder: CallRecorder;
  readonly #requestedModel: string;
  #provider: string;
  #model: string;
  #usage: Usage | undefined;
  #error: SDKError | undefined;
  #hasOutput = false;

  constructor(inference: Inference, request: Request, context: HandlerContext) {
    this.#recorder = recorderOf(context);
    this.#requestedModel = request.model;
    this.#provider = bounded(request.provider || (inference.defaultProvider ?? ""));
    this.#model = bounded(request.model);
    this.#recorder.responseIds[INFERENCE_ID_HEADER] = this.inferenceId;
    this.#recorder.attempt({
      inferenceId: this.inferenceId,
      provider: this.#provider,
      model: this.#model,
    });
  }

  /** Options of the call to the provider. */
  optionsFor(signal: AbortSignal): CallOptions {
    return { signal, inferenceId: this.inferenceId, onTarget: (target) => this.#takeTarget(target) };
  }

  takeResponse(response: Response): void {
    this.#takeTarget(response);
    this.#usage = response.usage;
  }

  takeEvents(batch: Batch): void {
    // Only until the first output each event is looked at; the event that ends a stream is the last of its batch.
    if (!this.#hasOutput) for (const event of batch) this.#takeBeginning(event);
    const last = batch.at(-1)?.event;
    if (last?.case === "finish" || last?.case === "error") this.#usage = last.value.usage;
  }

  /** Takes the error of the call, and returns the status for it. */
  fail(error: SDKError): ConnectError {
    this.#error = error;
    this.#usage = error.usage ?? this.#usage;
    if (error instanceof ProviderError) this.#provider = bounded(error.provider) || this.#provider;
    return connectErrorOf(error, { model: this.#requestedModel });
  }

  end({ reason }: AbortSignal): void {
    const provider = this.#provider;
    const model = this.#model;
    const isCutOff = reason instanceof CutOffError;
    this.#recorder.report({ provider, model, usage: this.#usage, error: this.#error, isCutOff });
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
