import { describe, expect, it } from "vitest";
import { compare } from "./compare.ts";
import { type CaseResult, readReport } from "./report.ts";

const PREFACE = "http2/3.5: Sends invalid connection preface";

function results(failing: readonly string[]): CaseResult[] {
  return ["a", "b", PREFACE].map((name) => ({ name, passed: !failing.includes(name) }));
}

describe("readReport()", () => {
  it("reads the cases of a report, although the quoted bytes are not valid XML", () => {
    const report = `<testsuite name="6.7. PING" tests="2">
      <testcase package="http2/6.7" classname="Sends a PING frame" time="0.0013"></testcase>
      <testcase package="http2/6.7" classname="Sends a PING frame with ACK" time="2.0010">
        <failure>Actual: \u0001<\u0000</failure>
      </testcase>
      <testcase package="hpack/2.3" classname="Sends an index of 0" time="0"><error>reset</error></testcase>
    </testsuite>`;
    expect(readReport(report)).toEqual([
      { name: "http2/6.7: Sends a PING frame", passed: true },
      { name: "http2/6.7: Sends a PING frame with ACK", passed: false },
      { name: "hpack/2.3: Sends an index of 0", passed: false },
    ]);
  });
});

describe("compare()", () => {
  it("does not count failures that Node has, too, or that are intended", () => {
    const { tally, lines } = compare(results(["a", PREFACE]), results(["a"]));
    expect(tally).toEqual({ passed: 1, failed: 0, skipped: 2 });
    expect(lines).toContain("like Node: a");
  });

  it("counts failures of cases that Node passes", () => {
    const { tally, lines } = compare(results(["b", PREFACE]), results(["a"]));
    expect(tally).toEqual({ passed: 1, failed: 1, skipped: 1 });
    expect(lines).toContain("FAIL unlike Node: b");
  });

  it("reports a known difference that no longer exists", () => {
    expect(compare(results([]), results([])).tally.failed).toBe(1);
    expect(compare(results([PREFACE]), results([PREFACE])).tally.failed).toBe(1);
  });

  it("does not accept a run without cases, or with other cases, as a success", () => {
    expect(compare([], []).tally.failed).toBeGreaterThan(0);
    expect(compare(results([PREFACE]), results([]).slice(1)).tally.failed).toBe(1);
  });
});
