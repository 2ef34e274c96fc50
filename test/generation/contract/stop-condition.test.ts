import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { StepResult } from "../../../src/gen/outrigger/v1/generation_pb.ts";
import { compileStopCondition } from "../../../src/generation/contract/stop-condition/compile.ts";
import { createStep, STEPS, STOP_CONDITIONS } from "../support/stop-conditions.ts";

async function evaluate(text: string, steps: readonly StepResult[] = STEPS): Promise<boolean | undefined> {
  return (await compileStopCondition(text, "stop_when"))?.(steps);
}

describe("a stop condition", () => {
  it.each(STOP_CONDITIONS)("%s gives %s", async (text, expected) => {
    expect(await evaluate(text)).toBe(expected);
  });

  it("that is empty is none", async () => {
    expect(await compileStopCondition("", "stop_when")).toBeUndefined();
  });

  it.each([
    ["steps.size( > 1", "line 1, column 6: syntax error in the CEL expression"],
    ["true &&\n  steps.size( > 1", "line 2, column 8: syntax error in the CEL expression"],
    ["steps.size()", "line 1, column 6: expected an expression of type bool, found int"],
    ["step.size() > 1", 'line 1, column 1: there is no variable "step", expected "steps"'],
    ["true ||\n steps.sizes() > 1", 'line 2, column 7: there is no function "sizes"'],
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

  it("may do as much in each evaluation as in the first", async () => {
    const condition = await compileStopCondition("steps.all(a, steps.all(b, true))", "stop_when");
    const many = Array.from({ length: 100 }, (_step, index) => createStep(index, "x"));
    for (let evaluation = 0; evaluation < 30; evaluation += 1) expect(condition?.(many)).toBe(true);
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

  it("that is any text is refused or compiled, and never breaks", async () => {
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
