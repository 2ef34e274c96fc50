import { describe, expect, it } from "vitest";
import { addressOrOff, flag } from "../../src/config/leaves.ts";
import { closestWord } from "../../src/config/suggest.ts";
import { parseDuration, parseSize } from "../../src/config/units.ts";

describe("parseDuration()", () => {
  it.each([
    ["500ms", 500],
    ["10s", 10_000],
    ["1m30s", 90_000],
    ["2h", 7_200_000],
    ["0.5s", 500],
    ["0", 0],
    [0, 0],
  ])("reads %s", (value, milliseconds) => {
    expect(parseDuration(value)).toBe(milliseconds);
  });

  it.each(["10", "10 s", "-1s", "s", "1d", "", 10, null, "10s ", "1.s"])("rejects %s", (value) => {
    expect(parseDuration(value)).toBeUndefined();
  });
});

describe("parseSize()", () => {
  it.each([
    ["32MiB", 33_554_432],
    ["64 KB", 64_000],
    ["3MB", 3_000_000],
    ["2GB", 2_000_000_000],
    ["2GiB", 2_147_483_648],
    ["0.5KiB", 512],
    ["10B", 10],
    [1024, 1024],
    ["1024", 1024],
  ])("reads %s", (value, bytes) => {
    expect(parseSize(value)).toBe(bytes);
  });

  it.each(["0", 0, -1, "32mib", "1.5", "MiB", "", null, "9007199254740993GiB"])("rejects %s", (value) => {
    expect(parseSize(value)).toBeUndefined();
  });
});

it.each([
  [true, [true, "true", "1", "yes", "on", "Yes"]],
  [false, [false, "false", "0", "no", "off", "OFF"]],
  [undefined, ["", "maybe", 1, null]],
])("A setting that is true or false is %s for %j", (expected, values) => {
  for (const value of values) expect(flag.safeParse(value).data).toBe(expected);
});

it("An address is off as the word, and as a program writes it that has made it false", () => {
  const read = (value: unknown) => addressOrOff.safeParse(value).data;
  expect(["off", false, true, ":6191"].map(read)).toEqual(["off", "off", undefined, ":6191"]);
});

describe("closestWord()", () => {
  const words = ["listen", "admin_listen", "log_level"];

  it.each([
    ["lisen", "listen"],
    ["litsen", "listen"],
    ["Listen", "listen"],
    ["loglevel", "log_level"],
    ["adminlisten", "admin_listen"],
  ])("returns the closest word for %s: %s", (word, meant) => {
    expect(closestWord(word, words)).toBe(meant);
  });

  it.each(["tls", "li", "", "drain"])("returns no word for %s", (word) => {
    expect(closestWord(word, words)).toBeUndefined();
  });
});
