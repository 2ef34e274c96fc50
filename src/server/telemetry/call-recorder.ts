import { createContextKey, type HandlerContext } from "@connectrpc/connect";
import { REQUEST_ID_HEADER } from "../base/id-headers.ts";
import { type Call, createCall } from "./call.ts";
import type { Attempt, AttemptOutcome, CallObserver, FirstOutput } from "./call-observer.ts";
import type { ServiceOutcome, TransportOutcome } from "./outcome.ts";

/**
 * Follows one call for the observers. The transport that carries the call creates and ends the recorder; the service
 * that answers the call finds it in the context values and reports what it knows.
 */
export class CallRecorder {
  readonly call: Call;
  /**
   * Headers by which a client can name this call. A transport sends them with the first frame of the response, even if
   * that frame holds the trailers of a failed call.
   */
  readonly responseIds: Record<string, string>;
  readonly #observers: readonly CallObserver[];
  #attempt: Attempt | undefined;
  #firstOutputMs: number | undefined;
  #report: ServiceOutcome | undefined;

  constructor(call: Call, observers: readonly CallObserver[]) {
    this.call = call;
    this.responseIds = { [REQUEST_ID_HEADER]: call.requestId };
    this.#observers = observers;
    for (const observer of observers) observer.begin(call);
  }

  /** Reports that a request to a provider begins. */
  attempt(attempt: Attempt): void {
    this.#attempt = attempt;
    for (const observer of this.#observers) observer.attempt?.(this.call, attempt);
  }

  /** A request to a provider has ended. */
  attemptEnd(attempt: Attempt, outcome: AttemptOutcome): void {
    for (const observer of this.#observers) observer.attemptEnd?.(this.call, attempt, outcome);
  }

  /** Reports that the first output of a stream has arrived. */
  firstOutput(source: Omit<FirstOutput, "elapsedMs">): void {
    const elapsedMs = performance.now() - this.call.startedAt;
    this.#firstOutputMs ??= elapsedMs;
    const output = { ...source, elapsedMs };
    for (const observer of this.#observers) observer.firstOutput?.(this.call, output);
  }

  /** Takes the service's outcome of the call. Must be called once, before the transport ends the call. */
  report(outcome: ServiceOutcome): void {
    this.#report = outcome;
  }

  /** Takes the transport's outcome of the call. Must be called once, and last. */
  end({ code, disconnected, fault }: TransportOutcome): void {
    const attempt = this.#attempt;
    const report = this.#report;
    const outcome = {
      code,
      disconnected,
      fault,
      durationMs: performance.now() - this.call.startedAt,
      firstOutputMs: this.#firstOutputMs,
      inferenceId: attempt?.inferenceId,
      provider: report?.provider ?? attempt?.provider,
      model: report?.model ?? attempt?.model,
      usage: report?.usage,
      error: report?.error,
      isCutOff: report?.isCutOff,
    };
    for (const observer of this.#observers) observer.end(this.call, outcome);
  }
}

/** Key under which a transport puts the CallRecorder into the context values of a call. */
export const recorderKey = createContextKey<CallRecorder | undefined>(undefined, {
  description: "the recorder of the call being served",
});

/** Returns the recorder of a service's call. If the transport has set none, returns a recorder without observers. */
export function createRecorder({ method, values }: Pick<HandlerContext, "method" | "values">): CallRecorder {
  const recorder = values.get(recorderKey);
  if (recorder !== undefined) return recorder;
  const rpc = `${method.parent.typeName}/${method.name}`;
  return new CallRecorder(createCall({ rpc, requestId: "", httpVersion: "", protocol: "" }), []);
}
