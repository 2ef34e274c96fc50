/** The guide shows programs that are compiled and run by run.ts, and no others. */
import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { describe, expect, it } from "vitest";
import { programFiles } from "./programs.ts";

const guide = readFileSync(new URL("../../docs/library.md", import.meta.url), "utf8");
const snippets = [...guide.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code = ""]) => code);

describe.each(programFiles.map((file) => [basename(file, ".ts"), readFileSync(file, "utf8")]))(
  "the program %s",
  (_name, code) => {
    it("is in docs/library.md as it is", () => {
      expect(snippets).toContain(code);
    });

    it("has at most 25 lines", () => {
      expect(code.trimEnd().split("\n").length).toBeLessThanOrEqual(25);
    });

    it("needs no cast, no assertion that something is there, and no JSON.stringify", () => {
      expect(code).not.toMatch(/\bas (?!z\b)|[\w)\]]!|JSON\.stringify|\bany\b|@ts-/);
    });
  },
);

describe("docs/library.md", () => {
  it("has the programs that people write first", () => {
    expect(programFiles.map((file) => basename(file, ".ts")).sort()).toEqual([
      "chat",
      "generate",
      "image-input",
      "middleware",
      "object",
      "reasoning",
      "streamed-generation",
      "streamed-object",
      "structured-output",
      "tools",
    ]);
  });
});
