/** Provider calls that report to the record of their RPC. */
import type { CallOptions } from "../../core/adapter.ts";
import { type Batches, BatchStream, lazyBatches } from "../../core/batches.ts";
import { toSdkError } from "../../core/errors.ts";
import type { Request } from "../../gen/outrigger/v1/request_pb.ts";
import type { Response } from "../../gen/outrigger/v1/response_pb.ts";
import type { StreamEvent } from "../../gen/outrigger/v1/stream_event_pb.ts";
import type { ModelClient } from "../../generation/loop/model-calls.ts";
import type { Inference } from "./inference.ts";
import type { InferenceRecord, RecordedCall } from "./inference-record.ts";

/**
 * Creates an inference whose calls report to a record.
 * @param onFailure Returns the error to throw for a failed call.
 */
export function createRecordedClient(
  record: InferenceRecord,
  inference: Inference,
  onFailure: (thrown: unknown) => unknown = (thrown) => thrown,
): ModelClient {
  return {
    resolveModel: (name) => inference.resolveModel?.(name) ?? name,
    async complete(request, options = {}) {
      try {
        return await recordComplete(record, inference, request, options);
      } catch (thrown) {
        throw onFailure(thrown);
      }
    },
    stream: (request, options = {}) =>
      new BatchStream(lazyBatches(() => recordStream(record, inference, request, options, { onFailure }))),
  };
}

/** Calls a provider for its whole response. Throws the errors of the inference. */
export async function recordComplete(
  record: InferenceRecord,
  inference: Inference,
  request: Request,
  options: CallOptions,
): Promise<Response> {
  const call = record.begin(request, options);
  try {
    const response = await inference.complete(request, call.options);
    call.takeResponse(response);
    return response;
  } catch (thrown) {
    call.takeFailure(toSdkError(thrown));
    throw thrown;
  } finally {
    call.end();
  }
}

/** Hooks for the end of a recorded stream. */
export interface StreamHooks {
  /** Returns the error that the iteration throws. Default: the error of the inference. */
  readonly onFailure?: (thrown: unknown) => unknown;
  /** Called once, however the stream ends. */
  readonly onEnd?: () => void;
}

/** Calls a provider for events. */
export function recordStream(
  record: InferenceRecord,
  inference: Inference,
  request: Request,
  options: CallOptions,
  hooks: StreamHooks = {},
): Batches<StreamEvent> {
  const call = record.begin(request, options);
  const events = inference.stream(request, call.options);
  const recorded = new RecordedStream(events.batches()[Symbol.asyncIterator](), call, hooks);
  return { [Symbol.asyncIterator]: () => recorded };
}

type Batch = readonly StreamEvent[];

/** A stream that reports its call. Not a generator, which would need several more promises for every batch. */
class RecordedStream implements AsyncIterator<Batch> {
  readonly #events: AsyncIterator<Batch>;
  readonly #call: RecordedCall;
  readonly #hooks: StreamHooks;
  #isOver = false;

  constructor(events: AsyncIterator<Batch>, call: RecordedCall, hooks: StreamHooks) {
    this.#events = events;
    this.#call = call;
    this.#hooks = hooks;
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
    else this.#call.takeEvents(result.value);
    return result;
  };

  readonly #onFailure = (thrown: unknown): never => {
    this.#call.takeFailure(toSdkError(thrown));
    const failure = this.#hooks.onFailure?.(thrown) ?? thrown;
    this.#end();
    throw failure;
  };

  #end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#call.end();
    this.#hooks.onEnd?.();
  }
}
