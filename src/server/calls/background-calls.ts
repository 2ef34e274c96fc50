/** Provider calls that no RPC waits for, such as the calls of background runs. */

import type { CallOptions } from "../../core/adapter.ts";
import { BatchStream } from "../../core/batches.ts";
import type { SDKError } from "../../core/errors.ts";
import type { ModelClient } from "../../generation/loop/model-calls.ts";
import { getCode } from "../status/status-code.ts";
import type { CallObserver } from "../telemetry/call-observer.ts";
import { CallRecorder } from "../telemetry/call-recorder.ts";
import { toCallError } from "./call-context.ts";
import { InferenceRecord } from "./inference-record.ts";

/** Name of these calls in logs and metrics, instead of an RPC. */
const BACKGROUND = "background run";

/** Calls the models, and reports each call to the observers as a separate call. */
export function createBackgroundClient(client: ModelClient, observers: readonly CallObserver[]): ModelClient {
  return {
    async complete(request, options = {}) {
      const call = new BackgroundCall(client, observers, options);
      try {
        return await call.record.complete(request, options);
      } catch (thrown) {
        throw call.fail(thrown);
      } finally {
        call.end();
      }
    },
    stream: (request, options = {}) =>
      new BatchStream({
        // The call begins when its events are read.
        [Symbol.asyncIterator]() {
          const call = new BackgroundCall(client, observers, options);
          return call.record.read(request, options, call);
        },
      }),
  };
}

const NEVER = new AbortController().signal;

class BackgroundCall {
  readonly record: InferenceRecord;
  readonly #recorder: CallRecorder;
  readonly #signal: AbortSignal;
  #error: SDKError | undefined;

  constructor(
    client: ModelClient,
    observers: readonly CallObserver[],
    { signal = NEVER, caller, trace }: CallOptions,
  ) {
    const init = {
      rpc: BACKGROUND,
      requestId: "",
      httpVersion: "",
      protocol: "",
      caller,
      trace,
      isBackground: true,
    };
    this.#recorder = new CallRecorder(init, observers);
    this.record = new InferenceRecord(client, this.#recorder);
    this.#signal = signal;
  }

  fail(thrown: unknown): SDKError {
    this.#error = toCallError(thrown, this.#signal);
    this.record.fail(this.#error);
    return this.#error;
  }

  end(): void {
    this.record.end(this.#signal);
    const code = this.#error === undefined ? undefined : getCode(this.#error.kind);
    this.#recorder.end({ code, disconnected: false });
  }
}
