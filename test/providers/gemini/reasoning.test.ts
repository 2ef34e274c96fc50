import { describe, expect, it } from "vitest";
import { defaultTraits } from "../../../src/catalog/model-traits.ts";
import { LossReport } from "../../../src/kit/call/loss-report.ts";
import { reasoningSettings } from "../../../src/providers/gemini/reasoning.ts";

describe("thinking budgets", () => {
  it.each([
    ["minimal", 0, 99_999, 1024],
    ["low", 0, 99_999, 1024],
    ["high", 0, 99_999, 24_576],
    ["low", 2000, 9000, 2000],
    ["medium", 2000, 9000, 8192],
    ["high", 2000, 9000, 9000],
  ])(
    "stay within the model's limits for the effort %s",
    (effort, minThinkingBudget, maxThinkingBudget, thinkingBudget) => {
      const traits = {
        ...defaultTraits,
        reasoningControl: "budget",
        minThinkingBudget,
        maxThinkingBudget,
      } as const;
      expect(reasoningSettings(effort, traits, new LossReport())).toEqual({
        thinkingConfig: { thinkingBudget, includeThoughts: true },
      });
    },
  );

  it.each(["none", "fixed", "budget", "unknown"] as const)(
    "are not sent if there is no effort: %s",
    (control) => {
      const loss = new LossReport();
      expect(reasoningSettings("", { ...defaultTraits, reasoningControl: control }, loss)).toEqual({});
      expect(loss.warnings).toEqual([]);
    },
  );

  it.each(["none", "fixed"] as const)("are not sent to a model without them: %s", (reasoningControl) => {
    const loss = new LossReport();
    const traits = { ...defaultTraits, reasoningControl, reasoningEfforts: ["low"] };
    expect(reasoningSettings("low", traits, loss)).toEqual({});
    expect(loss.warnings).toMatchObject([{ field: "reasoning_effort", code: "unsupported_setting" }]);
  });

  it("leave an effort out that has none, with a warning", () => {
    const loss = new LossReport();
    const traits = { ...defaultTraits, reasoningControl: "budget" } as const;
    expect(reasoningSettings("turbo", traits, loss)).toEqual({});
    expect(loss.warnings).toMatchObject([{ field: "reasoning_effort", code: "unsupported_setting" }]);
  });
});
