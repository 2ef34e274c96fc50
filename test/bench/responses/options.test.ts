import { resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { PART_NAMES, readOptions } from "../../../bench/responses/options.ts";

describe("the options of the benchmark of responses", () => {
  it("measure all parts without a comparison by default", () => {
    expect(readOptions([])).toEqual({
      parts: PART_NAMES,
      rounds: undefined,
      quick: false,
      write: false,
      base: undefined,
    });
  });

  it("choose parts, rounds and a base", () => {
    expect(readOptions(["readers", "--rounds", "3", "--quick", "--base", "../before", "full"])).toEqual({
      parts: ["full", "readers"],
      rounds: 3,
      quick: true,
      write: false,
      base: resolve("../before"),
    });
  });

  it("name what was found and what was expected", () => {
    expect(() => readOptions(["fool"])).toThrow(
      '"fool" is no part; expected some of streams, background, stored, full, readers',
    );
    expect(() => readOptions(["--rounds", "0"])).toThrow('--rounds is "0"; expected a number from 1 to 999');
    expect(() => readOptions(["--bass", "x"])).toThrow("--bass");
  });

  it("refuse to write a comparison to the results", () => {
    expect(() => readOptions(["--write", "--base", "x"])).toThrow("--write and --base were both given");
  });
});
