import { describe, expect, it } from "vitest";
import { closestWord, didYouMean } from "../../src/config/suggest.ts";

describe("The suggested known word", () => {
  it.each([
    ["prot", "port"],
    ["opne", "open"],
    ["lsitne", "listen"],
    ["PORT", "port"],
    ["port_", "port"],
    ["listenerz", undefined],
    ["xort", "port"],
    ["xxrt", undefined],
  ])("for %j is %j: letters that changed places are one edit", (word, meant) => {
    expect(closestWord(word, ["listen", "port", "open"])).toBe(meant);
  });

  it("is the first of the closest", () => {
    expect(closestWord("timeouts", ["timeour", "timeout", "timeoutz"])).toBe("timeout");
    expect(didYouMean("prot", ["port", "pot"])).toBe('; did you mean "port"?');
  });
});
