import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { LossPolicy } from "../../../src/gen/outrigger/v1/request_pb.ts";
import { CustomToolSchema, Grammar_Syntax } from "../../../src/gen/outrigger/v1/tool_pb.ts";
import { functionForCustomTool } from "../../../src/kit/adapter/custom-tool.ts";
import { LossReport } from "../../../src/kit/call/loss-report.ts";

describe("functionForCustomTool()", () => {
  it("is a function with one required string argument, with a warning", () => {
    const loss = new LossReport();
    const tool = create(CustomToolSchema, { name: "run_sql", description: "Runs SQL." });
    const { name, description, parametersJson } = functionForCustomTool(tool, "tools[0].custom", loss);
    expect({ name, description }).toEqual({ name: "run_sql", description: "Runs SQL." });
    expect(JSON.parse(parametersJson)).toMatchObject({
      properties: { input: { type: "string" } },
      required: ["input"],
    });
    expect(loss.warnings).toMatchObject([{ code: "adjusted_setting", field: "tools[0].custom" }]);
  });

  it("says that a grammar is not enforced, and LOSS_POLICY_REFUSE refuses the call", () => {
    const loss = new LossReport();
    const grammar = { syntax: Grammar_Syntax.REGEX, definition: "a+" };
    functionForCustomTool(create(CustomToolSchema, { name: "a", grammar }), "tools[0].custom", loss);
    expect(loss.warnings[0]?.message).toContain("grammar");
    expect(() => loss.enforce(LossPolicy.REFUSE)).toThrow("tools[0].custom");
    expect(() => loss.enforce(LossPolicy.WARN)).not.toThrow();
  });
});
