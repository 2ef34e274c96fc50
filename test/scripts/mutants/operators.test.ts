import { describe, expect, it } from "vitest";
import { applyMutant, listMutants } from "../../../scripts/mutants/operators.ts";

/** The texts that mutating a text produces. */
function mutate(text: string): string[] {
  return listMutants("src/x.ts", text).map((mutant) => applyMutant(text, mutant));
}

describe("listMutants", () => {
  it.each([
    ["a condition", "if (a) b;", ["if (true) b;", "if (false) b;", "if (a) ;"]],
    ["a ternary", "const c = a ? b : d;", ["const c = true ? b : d;", "const c = false ? b : d;"]],
    ["a loop", "while (a) {}", ["while (false) {}"]],
    ["a boundary", "const c = a < b;", ["const c = a <= b;", "const c = a >= b;"]],
    ["an equality", "const c = a /* === */ === b;", ["const c = a /* === */ !== b;"]],
    ["a logical operator", "const c = a && b;", ["const c = a || b;"]],
    ["a default", "const c = a ?? b;", ["const c = a;"]],
    ["a negation", "const c = !a;", ["const c = a;"]],
    ["arithmetic", "const c = a * b;", ["const c = a / b;"]],
    ["a count", "i++;", ["i--;", ";"]],
    ["a boolean", "const c = true;", ["const c = false;"]],
    ["a number", "const c = 256;", ["const c = 0;", "const c = 256000;"]],
    ["zero", "const c = 0;", ["const c = 1;"]],
    ["a word", 'const c = "text";', ['const c = "";']],
    ["a call", "close();", [";"]],
    ["an awaited call", "async () => { await close(); };", ["async () => { ; };", ";"]],
    ["an early return", "() => { if (a) return; };", expect.arrayContaining(["() => { if (a) ; };"])],
    ["code in a private method", "class A { #m() { go(); } }", ["class A { #m() { ; } }"]],
  ])("changes %s", (_what, text, expected) => {
    expect(mutate(text).sort()).toEqual(Array.isArray(expected) ? expected.sort() : expected);
  });

  it.each([
    ["types", 'type A = "a" | 1; const c: Array<"x"> = d as Array<"y">;'],
    [
      "paths of modules",
      'import { a } from "./a.ts"; export { b } from "./b.ts"; const c = import("./c.ts");',
    ],
    ["text for readers", 'const c = "a run was not found";'],
    ["names of fields", 'const c = { "name": d, 1: e };'],
    ["the joining of texts", 'const c = "a b" + d;'],
    ["the call of a base class", "class A extends B { constructor() { super(); } }"],
    ["a result that is returned in any case", "() => { return a; };"],
  ])("leaves %s as they are", (_what, text) => {
    expect(mutate(text).filter((mutated) => mutated !== ";")).toEqual([]);
  });

  it("names the line and its text", () => {
    const [mutant] = listMutants("src/x.ts", "\n  const limit = a > b;\n");
    expect(mutant).toMatchObject({ line: 2, lineText: "const limit = a > b;", before: ">", after: ">=" });
  });
});
