import { describe, expect, it } from "vitest";
import { describeKeyMistake } from "../../src/client/check-key.ts";

describe("describeKeyMistake()", () => {
  it.each(["sk-proj_abc.DEF-123", "!", "~", ""])("accepts %s", (key) => {
    expect(describeKeyMistake(key)).toBeUndefined();
  });

  it.each([
    ['"sk-1"', "expected a key, found one in quotes; write it without them"],
    ["'sk-1'", "expected a key, found one in quotes; write it without them"],
    ["`sk\n1`", "expected a key, found one in quotes; write it without them"],
    ["Bearer sk-1", 'expected a key, found "Bearer" in front of it; write the key alone'],
    ["sk-1 sk-2", "expected one key, found spaces or line breaks in it"],
    ["sk-1\n", "expected one key, found spaces or line breaks in it"],
    ["sk–1", "expected a key, found U+2013 as its character 3, which keys do not have; copy the key again"],
    [
      "sk-😀1",
      "expected a key, found U+1F600 as its character 4, which keys do not have; copy the key again",
    ],
    ["\u007f", "expected a key, found U+007F as its character 1, which keys do not have; copy the key again"],
  ])("explains what is wrong with %j", (key, problem) => {
    expect(describeKeyMistake(key)).toBe(problem);
  });
});
