import { describe, expect, it } from "vitest";
import { ToolNames } from "../../../src/endpoints/responses/tool-names.ts";

function namespace(name: string, ...tools: readonly object[]) {
  return { type: "namespace", name, description: "", tools: tools as never };
}

const read = { type: "function", name: "read" };

describe("the names of tools", () => {
  it("are the caller's names for functions and custom tools, and joined names for the tools of a namespace", () => {
    const names = new ToolNames([
      read,
      { type: "custom", name: "patch" },
      { type: "web_search" },
      namespace("agents", read, { type: "custom", name: "say" }),
    ]);
    expect(names.findByModelName("read")).toEqual({ ...read, callerName: "read", namespace: undefined });
    expect(names.findByModelName("patch")?.type).toBe("custom");
    expect(names.findByModelName("agents__read")).toEqual({
      type: "function",
      name: "agents__read",
      callerName: "read",
      namespace: "agents",
    });
    expect(names.findByModelName("agents__say")?.type).toBe("custom");
    expect(names.findByModelName("web_search")).toBeUndefined();
    expect(names.getName("read", undefined)).toBe("read");
    expect(names.getName("read", "agents")).toBe("agents__read");
  });

  it("are unique if a function has the joined name", () => {
    const names = new ToolNames([
      namespace("a", { type: "function", name: "b" }),
      { type: "function", name: "a__b" },
    ]);
    const joined = names.getName("b", "a");
    expect(joined).toMatch(/^a__b_[0-9a-f]{8}$/);
    expect(names.findByModelName(joined)?.namespace).toBe("a");
    expect(names.findByModelName("a__b")?.namespace).toBeUndefined();
  });

  it("have at most 64 characters that every provider accepts, and stay different", () => {
    const long = "x".repeat(70);
    const names = new ToolNames([
      namespace("fs.v1", { type: "function", name: `${long}1` }, { type: "function", name: `${long}2` }),
    ]);
    const [first, second] = [names.getName(`${long}1`, "fs.v1"), names.getName(`${long}2`, "fs.v1")];
    expect(first).toMatch(/^fs_v1__x+_[0-9a-f]{8}$/);
    expect(first).toHaveLength(64);
    expect(first).not.toBe(second);
    expect(names.findByModelName(second)?.callerName).toBe(`${long}2`);
  });

  it("are the same for a tool that an earlier turn had", () => {
    expect(new ToolNames([]).getName("read", "agents")).toBe("agents__read");
    expect(new ToolNames([]).getName("gone", undefined)).toBe("gone");
  });
});
