import { describe, expect, it } from "vitest";
import { freeToolName } from "../../../src/runs/mcp/result.ts";

const none: ReadonlySet<string> = new Set();

describe("freeToolName()", () => {
  it("joins label and tool if that is a name that every provider accepts", () => {
    expect(freeToolName("docs", "search_all", none)).toBe("docs__search_all");
    expect(freeToolName("a".repeat(30), "b".repeat(32), none)).toHaveLength(64);
  });

  it("replaces and shortens names that providers refuse, with a digest that keeps names unique", () => {
    const dotted = freeToolName("docs", "search.all", none);
    expect(dotted).toMatch(/^docs__search_all_[0-9a-f]{8}$/);
    expect(freeToolName("docs", "search/all", none)).not.toBe(dotted);
    const long = freeToolName("docs", "x".repeat(200), none);
    expect(long).toMatch(/^docs__x+_[0-9a-f]{8}$/);
    expect(long).toHaveLength(64);
  });

  it("gives the same tool the same name", () => {
    expect(freeToolName("docs", "über", none)).toBe(freeToolName("docs", "über", none));
  });

  it("avoids names that are taken", () => {
    const taken = new Set(["docs__a"]);
    const first = freeToolName("docs", "a", taken);
    taken.add(first);
    const second = freeToolName("docs", "a", taken);
    expect(new Set(["docs__a", first, second]).size).toBe(3);
  });
});
