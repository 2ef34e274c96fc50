import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { LossPolicy } from "../../../src/gen/outrigger/v1/request_pb.ts";
import { ToolCallIdMapper, type ToolCallIdRule } from "../../../src/kit/adapter/tool-call-id-mapper.ts";
import { LossReport } from "../../../src/kit/call/loss-report.ts";

const NINE: ToolCallIdRule = { pattern: /^[a-zA-Z0-9]{9}$/, prefix: "", length: 9 };
const WORDS: ToolCallIdRule = { pattern: /^[a-zA-Z0-9_-]{1,64}$/, prefix: "call_", length: 24 };
/** So few ids that they collide. */
const FEW: ToolCallIdRule = { pattern: /^[a-zA-Z0-9]$/, prefix: "", length: 1 };

function collectIds(rule: ToolCallIdRule, ids: readonly string[]): { sent: string[]; notes: string[] } {
  const loss = new LossReport();
  const calls = new ToolCallIdMapper(rule, loss);
  const sent = ids.map((id, index) => calls.ofCall(id, `messages[${index}].id`));
  return { sent, notes: loss.warnings.map(({ field, code }) => `${code} ${field}`) };
}

describe("ToolCallIdMapper", () => {
  it("keeps the ids that the provider takes, without a warning", () => {
    expect(collectIds(WORDS, ["toolu_01", "call-2"])).toEqual({ sent: ["toolu_01", "call-2"], notes: [] });
  });

  it("makes ids that the provider takes, with one warning", () => {
    const { sent, notes } = collectIds(NINE, ["abcdefghi", "call_1", "toolu_2"]);
    expect(sent).toEqual([
      "abcdefghi",
      expect.stringMatching(NINE.pattern),
      expect.stringMatching(NINE.pattern),
    ]);
    expect(notes).toEqual(["converted_content messages[1].id"]);
  });

  it("never makes a strict request fail", () => {
    const loss = new LossReport();
    new ToolCallIdMapper(NINE, loss).ofCall("call_1", "messages[0].id");
    expect(() => loss.enforce(LossPolicy.REFUSE)).not.toThrow();
  });

  it("gives a result the id of the latest call that it can answer", () => {
    const calls = new ToolCallIdMapper(NINE, new LossReport());
    const first = calls.ofCall("call_1", "");
    expect(calls.ofResult("call_1")).toBe(first);
    const second = calls.ofCall("call_1", "");
    expect(second).not.toBe(first);
    expect(calls.ofResult("call_1")).toBe(second);
  });

  it("gives a result without a call an id that the provider takes", () => {
    const calls = new ToolCallIdMapper(NINE, new LossReport());
    expect(calls.ofResult("abcdefghi")).toBe("abcdefghi");
    expect(calls.ofResult("call_1")).toMatch(NINE.pattern);
  });

  it("makes the same id from the same id on every machine", () => {
    expect(collectIds(NINE, ["call_1"]).sent).toEqual(collectIds(NINE, ["call_1"]).sent);
    expect(collectIds(WORDS, ["functions.look:0"]).sent).toEqual(["call_ugpEWjZsO9bPlzWG1GGz4GzK"]);
  });

  it("makes no id twice, and keeps its ids while the conversation grows", () => {
    const id = fc.oneof(fc.constantFrom("a", "b", "c", "call_1", "call_2"), fc.string({ maxLength: 3 }));
    const check = fc.property(
      fc.constantFrom(NINE, WORDS, FEW),
      fc.array(id, { maxLength: 20 }),
      fc.array(id, { maxLength: 10 }),
      (rule, turn, more) => {
        const { sent } = collectIds(rule, turn);
        for (const each of sent) expect(each).toMatch(rule.pattern);
        expect(new Set(sent).size).toBe(sent.length);
        expect(collectIds(rule, [...turn, ...more]).sent.slice(0, turn.length)).toEqual(sent);
      },
    );
    fc.assert(check, { numRuns: 200, seed: 7 });
  });
});
