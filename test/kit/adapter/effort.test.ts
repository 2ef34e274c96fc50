import { describe, expect, it } from "vitest";
import { LossPolicy } from "../../../src/gen/outrigger/v1/request_pb.ts";
import { EFFORTS, effortFor } from "../../../src/kit/adapter/effort.ts";
import { LossReport } from "../../../src/kit/call/loss-report.ts";

describe("effortFor()", () => {
  it.each([
    ["what the model has", "high", ["low", "high"], "high"],
    ["nothing where the caller wants nothing", "", ["low", "high"], undefined],
    ["what the caller wants where the levels are not known", "xhigh", undefined, "xhigh"],
    ["a word that is no shared level", "ludicrous", ["low"], "ludicrous"],
    ["a level of the model that no other model has", "auto", ["auto"], "auto"],
    ["nothing for `none` where the model does not reason", "none", [], undefined],
  ])("requests %s, and reports nothing", (_what, wanted, allowed, want) => {
    const loss = new LossReport();
    expect(effortFor(wanted, allowed, loss)).toBe(want);
    expect(loss.warnings).toEqual([]);
  });

  it.each([
    ["max", ["low", "medium", "high"], "high"],
    ["none", ["low", "high"], "low"],
    ["medium", ["low", "high"], "low"],
    ["medium", ["high", "low"], "low"],
    ["xhigh", ["none", "max"], "max"],
    ["minimal", ["none", "low"], "low"],
    ["low", ["none", "high"], "high"],
    ["none", ["minimal", "low"], "minimal"],
    ["high", ["auto", "medium"], "medium"],
  ])("requests the nearest level instead of %s from %j, and reports it", (wanted, allowed, want) => {
    const loss = new LossReport();
    expect(effortFor(wanted, allowed, loss)).toBe(want);
    expect(loss.warnings).toMatchObject([{ field: "reasoning_effort", code: "adjusted_setting" }]);
    expect(loss.warnings[0]?.message).toBe(
      `the model has no effort "${wanted}"; the nearest, "${want}", was sent`,
    );
    expect(() => loss.enforce(LossPolicy.REFUSE)).toThrow("reasoning_effort");
  });

  it.each([[[]], [["auto"]], [["none"]]])(
    "leaves the effort out if the model has none of the levels (%j), and reports it",
    (allowed) => {
      const loss = new LossReport();
      expect(effortFor("high", allowed, loss)).toBeUndefined();
      expect(loss.warnings).toMatchObject([{ field: "reasoning_effort", code: "unsupported_setting" }]);
    },
  );

  it("never chooses a level that is further away than necessary", () => {
    for (const wanted of EFFORTS) {
      for (const only of EFFORTS.filter((effort) => effort !== "none"))
        expect(effortFor(wanted, [only], new LossReport())).toBe(only);
      expect(effortFor(wanted, EFFORTS, new LossReport())).toBe(wanted);
    }
  });
});
