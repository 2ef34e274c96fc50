import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { CallRecorder } from "../../../src/server/telemetry/call-recorder.ts";

describe("CallRecorder", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it("splits the time of a call into its parts, and counts requests at the same time once", () => {
    const times: unknown[] = [];
    const observer = { end: (_: unknown, outcome: { times?: unknown }) => void times.push(outcome.times) };
    const recorder = new CallRecorder({ rpc: "a", requestId: "", httpVersion: "", protocol: "" }, [observer]);
    const attempt = { operation: "chat", isStreamed: false, step: undefined } as const;
    recorder.attempt({ ...attempt, inferenceId: "inf_1", provider: "p", model: "m" }, undefined);
    const after = (ms: number) => vi.advanceTimersByTime(ms);
    after(1);
    recorder.beginWait("queue");
    after(10);
    recorder.endWait("queue");
    after(2);
    recorder.beginWait("provider");
    after(100);
    recorder.beginWait("provider");
    after(100);
    recorder.endWait("provider");
    expect(recorder.getTimingHeader()).toEqual({
      "outrigger-timing": "ours;dur=3, provider;dur=200, queue;dur=10, total;dur=213",
    });
    after(50);
    recorder.endWait("provider");
    after(4);
    recorder.end({ code: undefined, disconnected: false });
    expect(times).toEqual([{ total: 267, ours: 7, provider: 250, queue: 10 }]);
  });
});
