import { describe, expect, it } from "vitest";
import { readTraceContext } from "../../src/core/trace-context.ts";

const TRACE_ID = "4bf92f3577b34da6a3ce929d0e0e4736";
const TRACEPARENT = `00-${TRACE_ID}-00f067aa0ba902b7-01`;

describe("the trace context of a request", () => {
  it("has the trace, the parent and the vendors' data", () => {
    expect(readTraceContext({ traceparent: TRACEPARENT, tracestate: "congo=t61rcWkgMzE" })).toEqual({
      traceparent: TRACEPARENT,
      tracestate: "congo=t61rcWkgMzE",
      traceId: TRACE_ID,
    });
    expect(readTraceContext({ traceparent: TRACEPARENT })?.tracestate).toBe("");
  });

  it("leaves out what a later version adds", () => {
    const later = TRACEPARENT.replace(/^00/, "01");
    expect(readTraceContext({ traceparent: `${later}-what-comes` })?.traceparent).toBe(later);
  });

  it("drops vendors' data of more than 512 characters", () => {
    expect(
      readTraceContext({ traceparent: TRACEPARENT, tracestate: "a".repeat(512) })?.tracestate,
    ).toHaveLength(512);
    expect(readTraceContext({ traceparent: TRACEPARENT, tracestate: "a".repeat(513) })?.tracestate).toBe("");
  });

  it.each([
    ["absent", undefined],
    ["of version ff", TRACEPARENT.replace(/^00/, "ff")],
    ["longer than version 00 allows", `${TRACEPARENT}-1`],
    ["without a trace", TRACEPARENT.replace(TRACE_ID, "0".repeat(32))],
    ["without a parent", TRACEPARENT.replace("00f067aa0ba902b7", "0".repeat(16))],
    ["in capitals", TRACEPARENT.toUpperCase()],
    ["too short", TRACEPARENT.slice(0, -1)],
    ["followed by other characters", `${TRACEPARENT}x`],
  ])("is undefined if the header is %s", (_name, traceparent) => {
    expect(readTraceContext({ ...(traceparent !== undefined && { traceparent }) })).toBeUndefined();
  });
});
