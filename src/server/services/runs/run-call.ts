import { ConnectError, type HandlerContext } from "@connectrpc/connect";
import type { SDKError } from "../../../core/errors.ts";
import type { RunEngine, RunOptions } from "../../../runs/engine.ts";
import { type CallSignal, type CallSignals, errorOfCall, getDeadline } from "../../calls/call-signal.ts";
import type { Inference } from "../../calls/inference.ts";
import { InferenceRecord } from "../../calls/inference-record.ts";
import { createRecordedClient } from "../../calls/recorded-calls.ts";
import { getRequestShare } from "../../requests/request-memory.ts";
import { createRecorder } from "../../telemetry/call-recorder.ts";

/** The parts that all calls of RunService share. */
export interface RunParts {
  readonly engine: RunEngine;
  /** Calls the models for runs whose callers wait for them. */
  readonly inference: Inference;
  /** The signals of the calls in progress. */
  readonly signals: CallSignals;
}

/** One call of RunService, from its request to its status. */
export class RunCall {
  /** Name of the caller's access key. Data of other owners does not exist for this call. */
  readonly owner: string;
  readonly #parts: RunParts;
  readonly #context: HandlerContext;
  readonly #record: InferenceRecord;
  readonly #call: CallSignal;

  constructor(parts: RunParts, context: HandlerContext) {
    const recorder = createRecorder(context);
    this.owner = recorder.call.caller.name;
    this.#parts = parts;
    this.#context = context;
    this.#record = new InferenceRecord(
      parts.inference,
      recorder,
      getRequestShare(context)?.memory.runAnswers,
    );
    this.#call = parts.signals.open(context.signal);
  }

  get engine(): RunEngine {
    return this.#parts.engine;
  }

  /** Aborted when the caller disconnects, its deadline expires, or the server stops. */
  get signal(): AbortSignal {
    return this.#call.signal;
  }

  /** Options for the runs that this call starts or continues. */
  get options(): RunOptions {
    return {
      owner: this.owner,
      signal: this.signal,
      deadline: getDeadline(this.#context),
      client: createRecordedClient(this.#record, this.#parts.inference),
    };
  }

  /** Reads stored data, within the memory for concurrent reads. */
  readStored<Value>(read: () => Promise<Value>): Promise<Value> {
    return getRequestShare(this.#context)?.memory.reads.read(read, this.signal) ?? read();
  }

  /** Returns the status of a failed call. */
  fail(thrown: unknown): ConnectError {
    // The errors of limits and of malformed requests are statuses already.
    if (thrown instanceof ConnectError && !this.signal.aborted) return thrown;
    return this.#record.fail(errorOfCall(thrown, this.signal));
  }

  /** Records for the log that a run failed although its call succeeds. */
  noteFailure(error: SDKError): void {
    this.#record.fail(error);
  }

  /** Ends the call. Must be called once. */
  end(): void {
    this.#call.release();
    this.#record.end(this.signal);
  }
}

/** Serves a call with one response. */
export async function answer<Output>(
  parts: RunParts,
  context: HandlerContext,
  serve: (call: RunCall) => Promise<Output>,
): Promise<Output> {
  const call = new RunCall(parts, context);
  try {
    return await serve(call);
  } catch (thrown) {
    throw call.fail(thrown);
  } finally {
    call.end();
  }
}
