import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { StepResult } from "../../../src/gen/outrigger/v1/generation_pb.ts";
import { compileStopCondition } from "../../../src/generation/contract/stop-condition/compile.ts";
import { createStep, STEPS, STOP_CONDITIONS } from "../support/stop-conditions.ts";

async function evaluate(text: string, steps: readonly StepResult[] = STEPS): Promise<boolean> {
  return (await compileStopCondition(text, "stop_when"))(steps);
}

/** Conditions with values of every type. */
const TYPED: readonly (readonly [condition: string, result: boolean])[] = [
  ["1 == 1u && 1 == 1.0 && 1u > 0u && -1 == -1", true],
  ["b'a' == b'a' && null == null && true == !false", true],
  ["{1: 'a'}[1] == 'a' && {'a': true}.a", true],
  ["{'a': 1, 2: 3}.size() == 2", true],
  ["1 in [1, 2] && !(3 in [1, 2]) && 'a' in {'a': 1}", true],
  ["steps[0].response.created_at == steps[1].response.created_at", true],
  ["duration('60s') == duration('1m')", true],
  ["true ? false : true", false],
  ["(true ? dyn(1) : 'a') == 'a'", false],
  ["FinishReason.Reason.REASON_LENGTH == 2", true],
  ["outrigger.v1.FinishReason.Reason.REASON_LENGTH == 2", true],
  ["steps.exists(FinishReason, FinishReason.response.id == 'r1')", false],
  ["has(steps[0].response) && !has(steps[0].response.usage.reasoning_tokens)", true],
  ["has({'a': 1}.a) && !has({'a': 1}.b)", true],
  ["(steps + steps).size() == 4 && ([1] + ['a']).size() == 2", true],
  ["[[1], ['a']][0][0] == 1", true],
  ["'x'.matches('x{99}') || 'xx'.matches('x{2}')", true],
  ["steps[dyn(0)].response.id == '' && dyn(steps)[0].response.id == ''", true],
  ["dyn(steps).all(x, true) && {'a': true}.all(k, k == 'a')", true],
  ["1 in dyn(steps)", false],
  ["steps[0].response.message.role == 3", true],
  ["steps[0].response.usage.cost_nano_usd > 0", false],
  ["steps[0].response.message.content[0].image.data == b''", true],
  ["steps.map(s, s.response.id)[0] == ''", true],
  ["{'a': {'b': true}}.a.b", true],
];

describe("a stop condition", () => {
  it.each([...STOP_CONDITIONS, ...TYPED])("%s gives %s", async (text, expected) => {
    expect(await evaluate(text)).toBe(expected);
  });

  it("may have 4096 characters, and no more", async () => {
    const longest = `true${" ".repeat(4092)}`;
    expect(await evaluate(longest)).toBe(true);
    await expect(evaluate(`${longest} `)).rejects.toThrow("expected at most 4096 characters, found 4097");
  });

  it.each([
    ["steps.size( > 1", "line 1, column 6: syntax error in the CEL expression"],
    ["true &&\n  steps.size( > 1", "line 2, column 8: syntax error in the CEL expression"],
    ["steps.size()", "line 1, column 6: expected an expression of type bool, found int"],
    ["step.size() > 1", 'line 1, column 1: found the variable "step", expected "steps"'],
    ["true ||\n steps.sizes() > 1", 'line 2, column 7: found the function "sizes", which does not exist'],
    ["steps.size() >= 'a'", 'line 1, column 13: ">=" does not take (int, string)'],
    ["steps[0].respons.id == ''", 'line 1, column 9: outrigger.v1.StepResult has no field "respons"'],
    ["steps[0].response.id.x == ''", 'line 1, column 21: a value of type string has no field "x"'],
    ["steps == steps", "line 1, column 6: cannot compare list(outrigger.v1.StepResult)"],
    ["steps['a'].response.id == ''", "cannot be indexed by string"],
    ["steps.size().all(x, true)", "expected a list or a map to loop over, found int"],
    ["StepResult{}.response.id == ''", "messages cannot be constructed"],
    ["steps[0].response.id.matches('a(')", "expected a pattern in the syntax of RE2"],
    ["steps[0].response.id.matches(steps[0].response.id)", "expected a string literal as the pattern"],
    ["steps[0].response.id.matches('x{1000}')", "expected no more than 99 repetitions"],
    ["1 && true", "expected a bool, found int"],
    [`${"[".repeat(70)}1${"]".repeat(70)}.size() > 0`, "expected at most 64 levels of nesting"],
    [`${"(".repeat(2000)}true${")".repeat(2000)}`, "expected at most 64 levels of nesting"],
    [`${"true || ".repeat(600)}true`, "expected at most 4096 characters, found 4804"],
  ])("that is wrong (%s) is refused with its position", async (text, problem) => {
    const failure = await compileStopCondition(text, "options.stop_when").catch((error: unknown) => error);
    expect(failure).toMatchObject({ violations: [{ field: "options.stop_when" }] });
    expect(String(failure)).toContain(problem);
  });

  const comparable = "expected two numbers, texts, bools or times";

  it.each([
    ["'a' == 1", 4, `cannot compare string with int; ${comparable}`],
    ["[1] == [1]", 4, `cannot compare list(int) with list(int); ${comparable}`],
    ["steps[0].response == steps[1].response", 19, "cannot compare outrigger.v1.Response"],
    [
      "steps[0].response.created_at == duration('1s')",
      30,
      "cannot compare google.protobuf.Timestamp with google.protobuf.Duration",
    ],
    ["(true ? 1 : 2) == 'a'", 15, "cannot compare int with string"],
    ["[[1], [2]][0][0] == 'a'", 17, "cannot compare int with string"],
    ["([1] + [2])[0] == 'a'", 15, "cannot compare int with string"],
    ["steps.map(s, s.response.id)[0] == 1", 31, "cannot compare string with int"],
    ["steps[0].response.message.role == 'a'", 32, "cannot compare int with string"],
    ["steps[0].response.message.content[0].image.data == ''", 49, "cannot compare bytes with string"],
    ["steps[0].tool_results[0].content[0].text == 1", 42, "cannot compare string with int"],
    ["{1.5: 'a'}.size() == 1", 1, "a map cannot have keys of type double"],
    ["{[1]: 1}.size() == 1", 1, "a map cannot have keys of type list(int)"],
    ["'x' in steps", 4, '"in" does not take (string, list(outrigger.v1.StepResult))'],
    ["1 in ['a']", 2, '"in" does not take (int, list(string))'],
    ["1 in 1", 2, '"in" does not take (int, int)'],
    ["1 ? true : false", 1, "expected a bool, found int"],
    ["'a' || true", 1, "expected a bool, found string"],
    ["true && 'a'", 9, "expected a bool, found string"],
    ["steps.all(s, s.response.id)", 24, "expected a bool, found string"],
    ["steps.filter(s, s.response.id).size() > 0", 27, "expected a bool, found string"],
    ["FinishReason.Reason.REASON_NONE == 2", 1, 'found the variable "FinishReason", expected "steps"'],
    [
      "has(steps[0].respons)",
      1,
      'outrigger.v1.StepResult has no field "respons", expected one of response, tool_results, repaired_calls',
    ],
    ["!1", 1, '"!" does not take (int)'],
    ["-'a' == 1", 1, '"-" does not take (string)'],
    ["'a'.contains(1)", 4, '"contains" does not take (string, int)'],
    ["contains('a', 'b')", 1, '"contains" does not take (string, string)'],
    ["'a'.size('b') == 1", 4, '"size" does not take (string, string)'],
    ["size(steps, 1) > 0", 1, '"size" does not take (list(outrigger.v1.StepResult), int)'],
    ["'x'.matches('x{100}')", 13, "expected no more than 99 repetitions"],
    ["'x'.matches('x{1,100}')", 13, "expected no more than 99 repetitions"],
    ["'x'.matches(dyn('x'))", 13, "expected a string literal as the pattern"],
    [
      "steps[0u].response.id == 'x'",
      6,
      "a value of type list(outrigger.v1.StepResult) cannot be indexed by uint",
    ],
    ["'abc'[0] == 'a'", 6, "a value of type string cannot be indexed by int"],
    ["{'a': 1}['a'].b == 1", 14, 'a value of type int has no field "b"'],
  ])("that is of a wrong type (%s) is refused at column %i", async (text, column, problem) => {
    await expect(evaluate(text)).rejects.toThrow(`stop_when: line 1, column ${column}: ${problem}`);
  });

  it.each(["\n", "\r", "\r\n"])("has lines that end with %j", async (end) => {
    await expect(evaluate(`true ||${end} steps.sizes() > 1`)).rejects.toThrow("line 2, column 7: ");
  });

  it("may be nested up to its limit", async () => {
    const nested = (levels: number) => `${"[".repeat(levels)}1${"]".repeat(levels)}.size() == 1`;
    expect(await evaluate(nested(61))).toBe(true);
    await expect(evaluate(nested(62))).rejects.toThrow("expected at most 64 levels of nesting, found more");
    const key = (operators: number) => `{${"1 + ".repeat(operators)}1: 2}.size() == 1`;
    expect(await evaluate(key(10))).toBe(true);
    await expect(evaluate(key(70))).rejects.toThrow("expected at most 64 levels of nesting, found more");
  });

  it.each([
    ["1 % 0 == 1", "line 1, column 2: int modulus by zero"],
    ["9223372036854775807 + 1 > 0", "line 1, column 20: int overflow"],
    ["[][0] == 1", "line 1, column 1: index 0 out of bounds"],
    ["true ? 1 : 'a'", "the result is not a bool"],
  ])("that fails (%s) names its place", async (text, problem) => {
    await expect(evaluate(text)).rejects.toThrow(`stop_when: failed after step 2: ${problem}`);
  });

  it.each([
    ["steps[9].response.id == ''", "failed after step 2: line 1, column 1: index 9 out of bounds"],
    ["1 / (steps.size() - 2) == 1", "int divide by zero"],
    ["bool(steps[0].response.message.content[0].text)", "a value is missing or cannot be converted"],
    ["dyn(steps.size())", "the result is not a bool"],
  ])("that fails (%s) ends the generation, and does not quote the answer", async (text, problem) => {
    const failure = await evaluate(text).catch((error: unknown) => error);
    expect(failure).toMatchObject({ violations: [{ field: "stop_when" }] });
    expect(String(failure)).toContain(problem);
    expect(String(failure)).not.toContain("hi'");
  });

  it("has the same work limit in each evaluation", async () => {
    const condition = await compileStopCondition("steps.all(a, steps.all(b, true))", "stop_when");
    const many = Array.from({ length: 100 }, (_step, index) => createStep(index, "x"));
    for (let evaluation = 0; evaluation < 30; evaluation += 1) expect(condition?.(many)).toBe(true);
  });

  it("may call a function for each of many steps", async () => {
    const many = Array.from({ length: 500 }, (_step, index) => createStep(index, "x"));
    expect(await evaluate("steps.all(s, s.response.id.size() == 0)", many)).toBe(true);
  });

  it.each(["matches", "contains"])("counts each turn of a loop and each call of %s as work", async (name) => {
    const condition = `steps.exists(a, steps.exists(b, ''.${name}('x')))`;
    // Three units a turn: the turn, the operator of the loop, and the call.
    const largest = Array.from({ length: 178 }, () => createStep(1, "x"));
    expect(await evaluate(condition, largest)).toBe(false);
    const larger = Array.from({ length: 186 }, () => createStep(1, "x"));
    await expect(evaluate(condition, larger)).rejects.toThrow("the evaluation takes too long");
  });

  it("sees the steps of each evaluation", async () => {
    const condition = await compileStopCondition("steps.size() == 2", "stop_when");
    expect([condition?.(STEPS.slice(0, 1)), condition?.(STEPS)]).toEqual([false, true]);
  });

  it.each([
    "steps.all(a, steps.all(b, steps.all(c, true)))",
    "steps.exists(a, steps.exists(b, steps.exists(c, c.response.id == 'x')))",
    "steps.map(a, steps.map(b, steps.map(c, 1))).size() > 0",
    "steps.all(a, steps.all(b, !a.response.message.content[0].text.contains(b.response.id + 'y')))",
    "steps.all(a, steps.all(b, a.response.created_at.getHours('Europe/Oslo') >= 0))",
  ])("that takes too long (%s) is ended", async (text) => {
    const many = Array.from({ length: 100 }, (_step, index) => createStep(index, "x".repeat(2000)));
    await expect(evaluate(text, many)).rejects.toThrow("the evaluation takes too long");
    expect(await evaluate("steps.size() == 100", many)).toBe(true);
  });

  it("of any text is compiled or refused, without another error", async () => {
    const piece = fc.constantFrom(
      "steps",
      ".",
      "size()",
      "[0]",
      "response",
      "(",
      ")",
      "all(s, ",
      "s",
      " > ",
      "1",
      "'a'",
      " && ",
      "!",
      "?",
      ":",
      "{",
      "}",
      ",",
      "has(",
      "\n",
    );
    const text = fc.oneof(
      fc.string({ maxLength: 40 }),
      fc.array(piece, { maxLength: 14 }).map((pieces) => pieces.join("")),
    );
    await fc.assert(
      fc.asyncProperty(text, async (source) => {
        const outcome = await evaluate(source).catch((error: unknown) => error);
        if (outcome !== undefined && typeof outcome !== "boolean")
          expect(outcome).toMatchObject({ violations: [{ field: "stop_when" }] });
      }),
      { numRuns: 500 },
    );
  });
});
