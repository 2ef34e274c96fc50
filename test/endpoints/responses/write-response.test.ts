/** The response object of a run. */
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { defaultSettings } from "../../../src/endpoints/responses/settings.ts";
import { ResponseWriter, type RunOutput } from "../../../src/endpoints/responses/write-response.ts";
import { ErrorKind } from "../../../src/gen/outrigger/v1/error_pb.ts";
import { WarningSchema } from "../../../src/gen/outrigger/v1/response_pb.ts";
import { IncompleteReason, RunSchema, RunStatus } from "../../../src/gen/outrigger/v1/run_pb.ts";

const hex = "0123456789abcdef".repeat(2);
const NONE: RunOutput = { model: "", items: [], warnings: [], metadata: undefined };

function write(run: MessageInitShape<typeof RunSchema>, output = NONE, settings = defaultSettings) {
  const whole = create(RunSchema, { id: `run_${hex}`, model: "asked", ...run });
  return JSON.parse(new ResponseWriter(whole, settings).write(whole, output)) as Record<string, unknown>;
}

describe("A response object", () => {
  it.each([
    [RunStatus.UNSPECIFIED, "in_progress"],
    [RunStatus.QUEUED, "queued"],
    [RunStatus.IN_PROGRESS, "in_progress"],
    [RunStatus.REQUIRES_ACTION, "completed"],
    [RunStatus.COMPLETED, "completed"],
    [RunStatus.INCOMPLETE, "incomplete"],
    [RunStatus.FAILED, "failed"],
    [RunStatus.CANCELLED, "cancelled"],
  ])("of a run with status %i is %s", (status, written) => {
    const response = write({ status, endedAt: { seconds: 9n }, createdAt: { seconds: 5n } });
    expect(response).toMatchObject({
      id: `resp_${hex}`,
      object: "response",
      created_at: 5,
      status: written,
      completed_at: written === "completed" ? 9 : null,
      error: null,
      output: [],
      usage: null,
      model: "asked",
    });
    expect(response).not.toHaveProperty("warnings");
  });

  it.each([
    [RunStatus.INCOMPLETE, IncompleteReason.CONTENT_FILTER, { reason: "content_filter" }],
    [RunStatus.INCOMPLETE, IncompleteReason.LIMIT, { reason: "max_output_tokens" }],
    [RunStatus.COMPLETED, IncompleteReason.CONTENT_FILTER, null],
  ])("of a run with status %i and reason %i is incomplete by %j", (status, incompleteReason, details) => {
    expect(write({ status, incompleteReason }).incomplete_details).toEqual(details);
  });

  it("has the tier that the provider reports, or else the default tier", () => {
    const tier = (status: RunStatus, requested: string, reported?: string, params: string[] = []) => {
      const warnings = params.map((param) => ({ code: "unsupported_setting", param, message: "" }));
      const settings = {
        ...defaultSettings,
        echoed: { ...defaultSettings.echoed, service_tier: requested },
        warnings,
      };
      return write({ status }, { ...NONE, metadata: { tier: reported, further: {} } }, settings).service_tier;
    };
    const { IN_PROGRESS, COMPLETED } = RunStatus;
    expect(tier(IN_PROGRESS, "flex")).toBe("flex");
    expect(tier(IN_PROGRESS, "auto")).toBe("auto");
    expect(tier(COMPLETED, "flex", "default")).toBe("default");
    expect(tier(COMPLETED, "auto")).toBe("default");
    expect(tier(COMPLETED, "flex")).toBe("flex");
    // It was left out for the provider.
    expect(tier(IN_PROGRESS, "flex", undefined, ["service_tier"])).toBe("default");
    expect(tier(COMPLETED, "flex", undefined, ["service_tier"])).toBe("default");
  });

  it("has the items, the model that answered, the usage and the error", () => {
    const usage = { inputTokens: 1, outputTokens: 2, totalTokens: 3 };
    const output = { ...NONE, model: "served", items: ['{"a":1}', '{"b":2}'] };
    const error = { kind: ErrorKind.RATE_LIMIT, message: "slow" };
    expect(write({ usage, error }, output)).toMatchObject({
      model: "served",
      output: [{ a: 1 }, { b: 2 }],
      usage: {
        input_tokens: 1,
        input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
        output_tokens: 2,
        output_tokens_details: { reasoning_tokens: 0 },
        total_tokens: 3,
      },
      error: { code: "rate_limit_exceeded", message: "slow" },
      created_at: 0,
      completed_at: null,
    });
    const details = { ...usage, cacheReadTokens: 4, cacheWriteTokens: 5, reasoningTokens: 6 };
    expect(write({ usage: details }).usage).toMatchObject({
      input_tokens_details: { cached_tokens: 4, cache_write_tokens: 5 },
      output_tokens_details: { reasoning_tokens: 6 },
    });
  });

  it("has the warnings of its request, of the run and of the steps, by the paths of its request", () => {
    const warn = (field: string) => create(WarningSchema, { code: "c", field, message: "m" });
    const tools = [{ type: "mcp" }, { type: "function" }];
    const settings = {
      ...defaultSettings,
      echoed: { ...defaultSettings.echoed, tools },
      warnings: [{ code: "c", param: "user", message: "m" }],
    };
    const run = { warnings: [warn("options.request.tools[0].function")] };
    const response = write(run, { ...NONE, warnings: [warn("options.request.max_tokens")] }, settings);
    expect(response.warnings).toEqual([
      { code: "c", param: "user", message: "m" },
      { code: "c", param: "tools[1]", message: "m" },
      { code: "c", param: "max_output_tokens", message: "m" },
    ]);
  });
});
