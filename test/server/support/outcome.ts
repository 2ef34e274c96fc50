import { codeName } from "../../../src/server/status/status-code.ts";
import type { Attempt, Call, Outcome } from "../../../src/server/telemetry/call-observer.ts";
import { type CallInit, CallRecorder } from "../../../src/server/telemetry/call-recorder.ts";

/** The outcome of a successful call without details, with changes. */
export function toOutcome(changes: Partial<Outcome> = {}): Outcome {
  return {
    code: undefined,
    codeName: changes.code === undefined ? "OK" : codeName(changes.code),
    disconnected: false,
    durationMs: 1,
    firstOutputMs: undefined,
    inferenceId: undefined,
    attempts: 0,
    times: undefined,
    ...changes,
  };
}

/** A request to a provider, with changes. */
export function createAttempt(changes: Partial<Attempt> = {}): Attempt {
  return {
    operation: "chat",
    isStreamed: true,
    step: undefined,
    inferenceId: "i",
    provider: "acme",
    model: "m",
    ...changes,
  };
}

/** A gRPC call that arrives now. */
export function createCall(init: Partial<CallInit> = {}): Call {
  const defaults = { rpc: "acme.Service/Do", requestId: "r", httpVersion: "2.0", protocol: "grpc" };
  return new CallRecorder({ ...defaults, ...init }, []).call;
}
