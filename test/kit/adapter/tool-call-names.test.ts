import { describe, expect, it } from "vitest";
import { LossPolicy } from "../../../src/gen/outrigger/v1/request_pb.ts";
import { wireToolCallName } from "../../../src/kit/adapter/tool-call-names.ts";
import { LossReport } from "../../../src/kit/call/loss-report.ts";

const rule = { refused: /[^a-zA-Z0-9_-]/g, maxChars: 12 };

describe("wireToolCallName()", () => {
  it("leaves a name that is taken as it is", () => {
    const loss = new LossReport();
    expect(wireToolCallName("get_weather", rule, "name", loss)).toBe("get_weather");
    expect(loss.warnings).toEqual([]);
  });

  it.each([
    ["weather.get", "weather_get"],
    ["wetter holen", "wetter_holen"],
    ["get_weather_of_a_city", "get_weather_"],
    ["météo", "m_t_o"],
  ])("writes %s as %s, with a warning", (name, taken) => {
    const loss = new LossReport();
    expect(wireToolCallName(name, rule, "messages[0].content[0].tool_call.name", loss)).toBe(taken);
    expect(loss.warnings).toMatchObject([
      { code: "converted_content", field: "messages[0].content[0].tool_call.name" },
    ]);
    expect(() => loss.enforce(LossPolicy.REFUSE)).not.toThrow();
  });
});
