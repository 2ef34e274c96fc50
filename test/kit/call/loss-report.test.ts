import { describe, expect, it } from "vitest";
import { InvalidRequestError } from "../../../src/core/errors.ts";
import { LossPolicy } from "../../../src/gen/outrigger/v1/request_pb.ts";
import { LossReport, warning } from "../../../src/kit/call/loss-report.ts";

describe("LossReport", () => {
  it("warns about losses and notes, in the order in which they were found", () => {
    const loss = new LossReport();
    loss.note("messages[0]", "converted_content", "sent as text");
    loss.lose("top_p", "unsupported_setting", "left out");
    expect(loss.warnings).toEqual([
      warning("messages[0]", "converted_content", "sent as text"),
      warning("top_p", "unsupported_setting", "left out"),
    ]);
    expect(loss.warnings[1]).toMatchObject({
      field: "top_p",
      code: "unsupported_setting",
      message: "left out",
    });
  });

  it("refuses a strict request for everything that is lost, and for nothing that is noted", () => {
    const loss = new LossReport();
    loss.note("messages[0]", "converted_content", "sent as text");
    expect(() => loss.enforce(LossPolicy.REFUSE)).not.toThrow();
    loss.lose("top_p", "unsupported_setting", "left out");
    loss.lose("seed", "unsupported_setting", "left out, too");
    expect(() => loss.enforce(LossPolicy.REFUSE)).toThrow(InvalidRequestError);
    expect(() => loss.enforce(LossPolicy.REFUSE)).toThrow(
      expect.objectContaining({
        retryable: false,
        violations: [
          { field: "top_p", description: "left out" },
          { field: "seed", description: "left out, too" },
        ],
      }),
    );
  });

  it("lists at most 256 warnings and violations, and says in the last one that there are more", () => {
    const loss = new LossReport();
    for (let index = 0; index < 1000; index += 1)
      loss.lose(`messages[${index}].name`, "unsupported_setting", "left out");
    expect(loss.warnings).toHaveLength(256);
    expect(loss.warnings.at(-2)?.field).toBe("messages[254].name");
    expect(loss.warnings.at(-1)).toEqual(warning("", "limit_reached", "there are more warnings"));
    const violations = expect.arrayContaining([
      { field: "messages[254].name", description: "left out" },
      { field: "request", description: "has more parts that are not listed" },
    ]);
    const refusal = expect.objectContaining({ violations });
    expect(() => loss.enforce(LossPolicy.REFUSE)).toThrow(refusal);
    expect(() => loss.enforce(LossPolicy.REFUSE)).not.toThrow(/messages\[255\]/);
  });
});
