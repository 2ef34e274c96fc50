import { describe, expect, it } from "vitest";
import { toWarningsHeader } from "../../../src/endpoints/openai/warnings-header.ts";

const warning = (message: string) => ({ code: "unsupported_setting", param: "seed", message });

describe("toWarningsHeader()", () => {
  it("is absent if there are no warnings", () => {
    expect(toWarningsHeader([])).toEqual({});
  });

  it("writes JSON in ASCII, which reads as it was", () => {
    const warnings = [warning("Grüße 👋\n"), warning("b")];
    const { "outrigger-warnings": value = "" } = toWarningsHeader(warnings);
    expect(value).toMatch(/^[\x20-\x7e]+$/);
    expect(JSON.parse(value)).toEqual(warnings);
  });

  it("leaves out the warnings that do not fit into 4 KiB", () => {
    const many = Array.from({ length: 64 }, (_, index) => warning(`${index} ${"ü".repeat(100)}`));
    const { "outrigger-warnings": value = "" } = toWarningsHeader(many);
    expect(value.length).toBeLessThanOrEqual(4096);
    expect(JSON.parse(value)).toEqual(many.slice(0, JSON.parse(value).length));
    expect(JSON.parse(value).length).toBeGreaterThan(3);
  });
});
