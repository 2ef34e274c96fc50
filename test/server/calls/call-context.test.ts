/** What a service gets of a call, and when its signal is aborted. */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { AbortError, RateLimitError, RequestTimeoutError, ServerError } from "../../../src/core/errors.ts";
import { InferenceService } from "../../../src/gen/outrigger/v1/inference_service_pb.ts";
import {
  CallContext,
  type ContextOptions,
  createDisconnect,
  toCallError,
} from "../../../src/server/calls/call-context.ts";
import { CallRecorder } from "../../../src/server/telemetry/call-recorder.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function createContext(changes: Partial<ContextOptions> = {}): CallContext {
  const recorder = new CallRecorder({ rpc: "a/B", requestId: "r", httpVersion: "2.0", protocol: "grpc" }, []);
  const options = { protocolName: "grpc", headers: { host: "one:1" }, path: "/a/B?c", ...changes };
  return new CallContext(InferenceService.method.complete, recorder, options);
}

describe("The context of a call", () => {
  it("has the facts of the request", () => {
    const context = createContext();
    expect(context).toMatchObject({ requestMethod: "POST", protocolName: "grpc", url: "http://one:1/a/B?c" });
    expect(context.service).toBe(InferenceService);
    expect(context.requestHeader.get("host")).toBe("one:1");
    const headers = { ":scheme": "https", ":authority": "two:2", host: "one:1" };
    expect(createContext({ headers }).url).toBe("https://two:2/a/B?c");
    expect(createContext({ headers: {} }).url).toBe("http://localhost/a/B?c");
  });

  it("keeps the headers and trailers that the service sets", () => {
    const context = createContext();
    expect([context.serviceHeader, context.serviceTrailer]).toEqual([undefined, undefined]);
    context.responseHeader.set("a", "1");
    context.responseTrailer.set("b", "2");
    expect([context.responseHeader.get("a"), context.responseTrailer.get("b")]).toEqual(["1", "2"]);
    expect([context.serviceHeader, context.serviceTrailer]).toEqual([
      context.responseHeader,
      context.responseTrailer,
    ]);
  });

  it("aborts the signal at the deadline, and notifies the transport once", () => {
    const context = createContext();
    const onAbort = vi.fn();
    context.onAbort = onAbort;
    expect(context.timeoutMs()).toBeUndefined();
    context.expireIn(1000);
    vi.advanceTimersByTime(400);
    expect([context.timeoutMs(), context.signal.aborted]).toEqual([600, false]);
    vi.advanceTimersByTime(600);
    expect(context.signal.reason).toBeInstanceOf(RequestTimeoutError);
    context.abort(createDisconnect());
    expect(onAbort).toHaveBeenCalledExactlyOnceWith(context.signal.reason);
  });

  it("has an aborted signal also if the service asks for it later", () => {
    const context = createContext();
    const reason = createDisconnect();
    context.abort(reason);
    expect(context.signal.reason).toBe(reason);
  });

  it("leaves the signal alone once the call has ended, and no timer behind", () => {
    const context = createContext();
    context.expireIn(1000);
    context.finish();
    context.expireIn(1000);
    context.abort(createDisconnect());
    expect([vi.getTimerCount(), context.signal.aborted]).toEqual([0, false]);
  });
});

it("The error of a call is the reason of its signal, unless the thrown one has the same kind", () => {
  const running = new AbortController().signal;
  const aborted = AbortSignal.abort(createDisconnect());
  const thrown = new ServerError("down");
  expect(toCallError(thrown, running)).toBe(thrown);
  expect(toCallError(thrown, aborted)).toBe(aborted.reason);
  expect(toCallError(new RateLimitError("slow"), aborted)).toBe(aborted.reason);
  const detailed = new AbortError("the caller left while the tool ran");
  expect(toCallError(detailed, aborted)).toBe(detailed);
});
