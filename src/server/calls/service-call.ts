import type { ConnectError, HandlerContext } from "@connectrpc/connect";
import type { SDKError } from "../../core/errors.ts";
import type { ModelClient } from "../../generation/loop/model-calls.ts";
import {
  CallContext,
  type CallsInProgress,
  type CallWork,
  ForwardedWork,
  getServedCall,
  type ServedCall,
  toCallError,
} from "./call-context.ts";
import { InferenceRecord } from "./inference-record.ts";

/** The parts that all calls of a service share. */
export interface ServiceParts {
  /** Calls the models. */
  readonly client: ModelClient;
  readonly calls: CallsInProgress;
}

/** One call of a service that may call models, from its request to its status. */
export class ServiceCall {
  /** Calls the models, and reports the calls to the log and the metrics of this one. */
  readonly record: InferenceRecord;
  readonly served: ServedCall;
  /** Aborted when the caller disconnects, its deadline expires, the server stops, or the call is aborted. */
  readonly signal: AbortSignal;
  /** The time of the deadline, in milliseconds of `performance.now()`; undefined if there is none. */
  readonly deadline: number | undefined;
  readonly #calls: CallsInProgress;
  readonly #work: CallWork;

  /** @param use Kind of the answers that the call keeps in memory. */
  constructor(
    { client, calls }: ServiceParts,
    context: HandlerContext,
    use: "answers" | "runAnswers" = "answers",
  ) {
    const isOurs = context instanceof CallContext;
    this.served = isOurs ? context : getServedCall(context);
    this.record = new InferenceRecord(client, this.served.recorder, this.served.share?.[use]);
    this.#calls = calls;
    this.#work = isOurs ? context : new ForwardedWork(context.signal);
    calls.add(this.#work);
    this.signal = this.#work.signal;
    this.deadline = isOurs ? context.deadline : getDeadline(context);
  }

  /** Aborts the call: nothing further is sent to providers. */
  abort(reason: SDKError): void {
    this.#work.abort(reason);
  }

  /** Returns the status of the call after a failure. */
  fail(thrown: unknown): ConnectError {
    return this.record.fail(toCallError(thrown, this.signal));
  }

  /** Ends the call. Can be called again. */
  end(): void {
    this.#calls.delete(this.#work);
    this.#work.release?.();
    this.record.end(this.signal);
  }
}

function getDeadline(context: HandlerContext): number | undefined {
  const left = context.timeoutMs();
  return left === undefined ? undefined : performance.now() + left;
}
