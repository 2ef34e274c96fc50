import { describe, expect, it } from "vitest";
import { fitsPattern } from "../../src/catalog/model-names.ts";

describe("fitsPattern()", () => {
  const cases = [
    ["gpt-5", "gpt-5", true],
    ["gpt-5", "gpt-5.1", false],
    ["gpt-5", "gpt-", false],
    ["gpt-5*", "gpt-5", true],
    ["gpt-5*", "gpt-5.1", true],
    ["gpt-5.#-pro*", "gpt-5.2-pro", true],
    ["gpt-5.#-pro*", "gpt-5.x-pro", false],
    ["gpt-5.#", "gpt-5.", false],
    ["*-tts", "gemini-tts", true],
    ["*-tts", "gemini-tts-2", false],
    ["*a*b*", "xxaxxbxx", true],
    ["*a*b*", "xxbxxaxx", false],
    ["gpt.5", "gpt-5", false],
    ["*", "", true],
    ["", "", true],
    ["", "a", false],
  ] as const;
  it.each(cases)("'%s' and '%s': %s", (pattern, text, want) => {
    expect(fitsPattern(pattern, text)).toBe(want);
  });
});
