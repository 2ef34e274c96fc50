import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { InvalidRequestError } from "../../../src/core/errors.ts";
import { textPart } from "../../../src/core/parts.ts";
import { type ContentPart, ContentPartSchema } from "../../../src/gen/outrigger/v1/message_pb.ts";
import { LossPolicy, StatePolicy } from "../../../src/gen/outrigger/v1/request_pb.ts";
import { replaceForeignPart } from "../../../src/kit/adapter/foreign-state.ts";
import { LossReport } from "../../../src/kit/call/loss-report.ts";

function thinking(text: string): ContentPart {
  const providerState = { provider: "other", model: "m", dataJson: '{"signature":"x"}' };
  return create(ContentPartSchema, { part: { case: "reasoning", value: { text } }, providerState });
}

const native = create(ContentPartSchema, {
  part: { case: "native", value: { provider: "other", kind: "web_search_call", dataJson: "{}" } },
});

const FIELD = "messages[1].content[0]";

describe("replaceForeignPart()", () => {
  it.each([
    ["UNSPECIFIED", "reasoning", thinking("hm")],
    ["STRIP", "reasoning", thinking("hm")],
    ["STRIP", "a native part", native],
    ["TO_TEXT", "a native part", native],
    ["TO_TEXT", "reasoning", thinking("")],
  ] as const)("with policy %s leaves %s out, and reports it", (policy, what, part) => {
    const loss = new LossReport();
    expect(replaceForeignPart(part, StatePolicy[policy], FIELD, loss)).toBeUndefined();
    expect(loss.warnings).toMatchObject([{ field: FIELD, code: "foreign_state_stripped" }]);
    expect(loss.warnings[0]?.message).toBe(`${what} of another provider or model was left out`);
    expect(() => loss.enforce(LossPolicy.REFUSE)).toThrow(FIELD);
  });

  it("with policy TO_TEXT sends thinking as text, without its signature, and reports it", () => {
    const loss = new LossReport();
    expect(replaceForeignPart(thinking("hm"), StatePolicy.TO_TEXT, FIELD, loss)).toEqual(textPart("hm"));
    expect(loss.warnings).toMatchObject([{ field: FIELD, code: "foreign_state_to_text" }]);
  });

  it.each([
    ["reasoning", thinking("secret thought")],
    ["a native part", native],
  ])("with policy REJECT refuses %s, naming its path", (what, part) => {
    const loss = new LossReport();
    const replace = () => replaceForeignPart(part, StatePolicy.REJECT, FIELD, loss);
    expect(replace).toThrow(InvalidRequestError);
    const description = `${what} of another provider or model, and foreign_state is REJECT`;
    expect(replace).toThrow(expect.objectContaining({ violations: [{ field: FIELD, description }] }));
    expect(loss.warnings).toEqual([]);
  });
});
