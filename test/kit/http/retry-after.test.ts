import { describe, expect, it } from "vitest";
import {
  findRetryDelayInText,
  getRetryAfter,
  getShouldRetry,
  parseGoDuration,
  parseRetryDelay,
} from "../../../src/kit/http/retry-after.ts";
import { createHeaders } from "../../../src/kit/http/transport.ts";

const NOW = Date.UTC(2026, 10, 21, 12, 0, 0);

describe("getRetryAfter()", () => {
  it.each([
    [{ "retry-after": "3" }, 3],
    [{ "retry-after": " 2.5 " }, 2.5],
    [{ "retry-after": "0" }, 0],
    [{ "Retry-After-Ms": "1500", "retry-after": "9" }, 1.5],
    [{ "retry-after-ms": "soon", "retry-after": "9" }, 9],
    [{ "retry-after-ms": "-1", "retry-after": "9" }, 9],
    [{ "retry-after": "Sat, 21 Nov 2026 12:00:30 GMT" }, 30],
    [{ "retry-after": "Saturday, 21-Nov-26 12:01:00 GMT" }, 60],
    [{ "retry-after": "Sat Nov 21 12:00:05 2026 GMT" }, 5],
    [{ "retry-after": "Sat, 21 Nov 2026 11:59:59 GMT" }, undefined],
    [{ "retry-after": "-3" }, undefined],
    [{ "retry-after": "1e3" }, undefined],
    [{ "retry-after": "in a while" }, undefined],
    [{ "retry-after": "Sat, nonsense" }, undefined],
    [{ "retry-after": "1795262400" }, undefined],
    [{ "retry-after": "9".repeat(400) }, undefined],
    [{ "retry-after": "" }, undefined],
    [{}, undefined],
  ])("reads %j as %s", (headers, want) => {
    expect(getRetryAfter(createHeaders(headers), NOW)).toBe(want);
  });
});

describe("getShouldRetry()", () => {
  it.each([
    ["true", true],
    ["False", false],
    ["yes", undefined],
    [undefined, undefined],
  ])("reads %s as %s", (value, want) => {
    expect(getShouldRetry(createHeaders({ "x-should-retry": value }))).toBe(want);
  });
});

describe("parseGoDuration()", () => {
  it.each([
    ["0", 0],
    ["1s", 1],
    ["6m0s", 360],
    ["20ms", 0.02],
    ["1h2m3.5s", 3723.5],
    [".5s", 0.5],
    ["1.s", 1],
    ["1500us", 0.0015],
    ["1500µs", 0.0015],
    ["1500\u03bcs", 0.0015],
    ["2000000ns", 0.002],
    ["5", undefined],
    ["", undefined],
    ["-1s", undefined],
    ["1s ", undefined],
    ["s", undefined],
    ["1d", undefined],
    ["1s1", undefined],
    ["99999999999999h", undefined],
  ])("reads %j as %s", (text, want) => {
    const seconds = parseGoDuration(text);
    if (want === undefined) expect(seconds).toBeUndefined();
    else expect(seconds).toBeCloseTo(want, 12);
  });
});

describe("parseRetryDelay()", () => {
  it.each([
    ["46s", 46],
    ["3.5s", 3.5],
    ["0s", 0],
    ["46", undefined],
    ["-1s", undefined],
    ["1m", undefined],
    ["s", undefined],
  ])("reads %j as %s", (text, want) => {
    expect(parseRetryDelay(text)).toBe(want);
  });
});

describe("findRetryDelayInText()", () => {
  it.each([
    ["Quota exceeded. Please retry in 46.5s.", 46.5],
    ["Please retry in 10h17m5.7s", 37_025.7],
    ["Rate limit reached. Please try again in 6m0s. Visit https://example.com", 360],
    ["Please try again in 20ms.", 0.02],
    ["Please retry later", undefined],
    ["Please retry in 5 minutes", undefined],
    ["The user said: retry in 5s", undefined],
    [`Please retry in ${"9".repeat(10_000)}`, undefined],
    ["", undefined],
  ])("reads %j as %s", (text, want) => {
    expect(findRetryDelayInText(text)).toBe(want);
  });
});
