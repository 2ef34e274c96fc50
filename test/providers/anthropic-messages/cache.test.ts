import { describe, expect, it } from "vitest";
import { assistantMessage, systemMessage, userMessage } from "../../../src/core/message.ts";
import { toolResult } from "../../../src/core/tools.ts";
import { build, type RequestInit } from "./build-request.ts";

const TOOL = { tool: { case: "function", value: { name: "look" } } } as const;
const hosted = (config: unknown) =>
  ({
    tool: { case: "hosted", value: { provider: "anthropic", configJson: JSON.stringify(config) } },
  }) as const;
const CONVERSATION = [
  systemMessage("A"),
  systemMessage("B"),
  userMessage("one"),
  assistantMessage("two"),
  userMessage("three"),
  assistantMessage({ part: { case: "toolCall", value: { id: "a", name: "look" } } }),
  toolResult("a", "four"),
];

/** The paths of all breakpoints, with their lifetime. */
async function breakpoints(request: RequestInit, fields: Record<string, unknown> = {}): Promise<string[]> {
  const providerOptionsJson = { anthropic: JSON.stringify(fields) };
  const { body } = await build({ messages: CONVERSATION, tools: [TOOL], ...request, providerOptionsJson });
  return collectPlaces(body, "");
}

function collectPlaces(value: unknown, path: string): string[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, member]) => {
    if (key !== "cache_control") return collectPlaces(member, `${path}.${key}`);
    const { type, ttl = "" } = member as Record<string, string>;
    return [`${path.slice(1) || "request"} ${type === "ephemeral" ? ttl : type}`.trim()];
  });
}

describe("cache breakpoints", () => {
  it("are set on the last tool, the last system block and the last two user turns", async () => {
    expect(await breakpoints({})).toEqual([
      "tools.0",
      "system.1",
      "messages.2.content.0",
      "messages.4.content.0",
    ]);
  });

  it("are set only on blocks that exist", async () => {
    expect(await breakpoints({ messages: [userMessage("one")], tools: [] })).toEqual([
      "messages.0.content.0",
    ]);
  });

  it("are not set if the caller turns them off", async () => {
    expect(await breakpoints({}, { auto_cache: false })).toEqual([]);
  });

  it("count together with the caller's breakpoints, four in total", async () => {
    const callerBreakpoint = hosted({ type: "x", name: "x", cache_control: { type: "ephemeral" } });
    expect(await breakpoints({ tools: [callerBreakpoint, TOOL] })).toEqual([
      "tools.0",
      "tools.1",
      "system.1",
      "messages.4.content.0",
    ]);
    const block = { type: "text", text: "s", cache_control: { type: "ephemeral" } };
    expect(await breakpoints({ tools: [callerBreakpoint, TOOL] }, { system: [block, block, block] })).toEqual(
      ["tools.0", "system.0", "system.1", "system.2"],
    );
  });

  it("are not set at the end of the conversation if the request itself has cache_control", async () => {
    expect(await breakpoints({}, { cache_control: { type: "ephemeral" } })).toEqual([
      "tools.0",
      "system.1",
      "request",
      "messages.2.content.0",
    ]);
  });

  it("last an hour if one of the caller's breakpoints after them does", async () => {
    const long = { type: "ephemeral", ttl: "1h" };
    expect(await breakpoints({}, { cache_control: long })).toContain("messages.2.content.0 1h");
    const block = { type: "text", text: "s", cache_control: long };
    expect(await breakpoints({}, { system: [block] })).toEqual([
      "tools.0 1h",
      "system.0 1h",
      "messages.2.content.0",
      "messages.4.content.0",
    ]);
  });

  it("are not set on deferred tools or on content that is a string", async () => {
    const deferred = hosted({ name: "later", input_schema: {}, defer_loading: true });
    expect(await breakpoints({ tools: [TOOL, deferred] }, { system: "plain" })).toEqual([
      "tools.0",
      "messages.2.content.0",
      "messages.4.content.0",
    ]);
  });

  it("are counted inside blocks too, and never set twice", async () => {
    const inner = { type: "text", text: "x", cache_control: { type: "ephemeral" } };
    const document = { type: "document", source: { type: "content", content: [inner, inner, inner] } };
    const native = {
      part: {
        case: "native",
        value: { provider: "anthropic", kind: "document", dataJson: JSON.stringify(document) },
      },
    } as const;
    expect(await breakpoints({ messages: [userMessage([native])], tools: [] })).toHaveLength(4);
  });
});
