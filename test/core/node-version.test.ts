import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { checkNodeVersion } from "../../src/core/node-version.ts";

describe("checkNodeVersion()", () => {
  it.each(["20.20.2", "22.0.0", "18.1.0"])("refuses Node %s, and names the required version", (version) => {
    expect(() => checkNodeVersion(version)).toThrow(`outrigger needs Node 24 or newer, found ${version}`);
  });

  it.each(["24.0.0", "25.1.0", "100.0.0"])("accepts Node %s", (version) => {
    expect(() => checkNodeVersion(version)).not.toThrow();
  });

  it("runs before any module of the library is loaded", () => {
    const index = readFileSync(new URL("../../src/index.ts", import.meta.url), "utf8");
    expect(/^import .*$/m.exec(index)?.[0]).toBe('import "./core/node-version.ts";');
  });
});
