import { describe, expect, it } from "vitest";
import { defaultTraits } from "../../../src/catalog/model-traits.ts";
import { LossReport } from "../../../src/kit/call/loss-report.ts";
import { reasoningSettings } from "../../../src/providers/gemini/reasoning.ts";

describe("thinking budgets", () => {
  it.each([
    ["minimal", 0, 24_576, 1024],
    ["low", 0, 24_576, 1024],
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

  it("leave an effort out that has none, with a warning", () => {
    const loss = new LossReport();
    const traits = { ...defaultTraits, reasoningControl: "budget" } as const;
    expect(reasoningSettings("turbo", traits, loss)).toEqual({});
    expect(loss.warnings).toMatchObject([{ field: "reasoning_effort", code: "unsupported_setting" }]);
  });
});
