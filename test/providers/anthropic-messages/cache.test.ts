import { describe, expect, it } from "vitest";
import { assistantMessage, systemMessage, toolResult, userMessage } from "../../../src/core/message.ts";
import { build, type RequestInit } from "./build.ts";

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
  toolResult({ toolCallId: "a", content: "four" }),
];

/** The places of all markers, with how long they keep. */
async function markers(request: RequestInit, own: Record<string, unknown> = {}): Promise<string[]> {
  const providerOptionsJson = { anthropic: JSON.stringify(own) };
  const { body } = await build({ messages: CONVERSATION, tools: [TOOL], ...request, providerOptionsJson });
  return placesOf(body, "");
}

function placesOf(value: unknown, path: string): string[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, member]) => {
    if (key !== "cache_control") return placesOf(member, `${path}.${key}`);
    const { type, ttl = "" } = member as Record<string, string>;
    return [`${path.slice(1) || "request"} ${type === "ephemeral" ? ttl : type}`.trim()];
  });
}

describe("cache markers", () => {
  it("stand on the last tool, the last system block and the last two user turns", async () => {
    expect(await markers({})).toEqual([
      "tools.0",
      "system.1",
      "messages.2.content.0",
      "messages.4.content.0",
    ]);
  });

  it("stand on what there is", async () => {
    expect(await markers({ messages: [userMessage("one")], tools: [] })).toEqual(["messages.0.content.0"]);
  });

  it("are gone where the caller switches them off", async () => {
    expect(await markers({}, { auto_cache: false })).toEqual([]);
  });

  it("leave room for the caller's own, four in all", async () => {
    const marked = hosted({ type: "x", name: "x", cache_control: { type: "ephemeral" } });
    expect(await markers({ tools: [marked, TOOL] })).toEqual([
      "tools.0",
      "tools.1",
      "system.1",
      "messages.4.content.0",
    ]);
    const block = { type: "text", text: "s", cache_control: { type: "ephemeral" } };
    expect(await markers({ tools: [marked, TOOL] }, { system: [block, block, block] })).toEqual([
      "tools.0",
      "system.0",
      "system.1",
      "system.2",
    ]);
  });

  it("leave the end of the conversation to a marker of the whole request", async () => {
    expect(await markers({}, { cache_control: { type: "ephemeral" } })).toEqual([
      "tools.0",
      "system.1",
      "request",
      "messages.2.content.0",
    ]);
  });

  it("keep as long as the caller's own that stand behind them", async () => {
    const long = { type: "ephemeral", ttl: "1h" };
    expect(await markers({}, { cache_control: long })).toContain("messages.2.content.0 1h");
    const block = { type: "text", text: "s", cache_control: long };
    expect(await markers({}, { system: [block] })).toEqual([
      "tools.0 1h",
      "system.0 1h",
      "messages.2.content.0",
      "messages.4.content.0",
    ]);
  });

  it("pass over tools that load later, and over text that is no list of blocks", async () => {
    const deferred = hosted({ name: "later", input_schema: {}, defer_loading: true });
    expect(await markers({ tools: [TOOL, deferred] }, { system: "plain" })).toEqual([
      "tools.0",
      "messages.2.content.0",
      "messages.4.content.0",
    ]);
  });

  it("are counted inside blocks too, and never doubled", async () => {
    const inner = { type: "text", text: "x", cache_control: { type: "ephemeral" } };
    const document = { type: "document", source: { type: "content", content: [inner, inner, inner] } };
    const native = {
      part: {
        case: "native",
        value: { provider: "anthropic", kind: "document", dataJson: JSON.stringify(document) },
      },
    } as const;
    expect(await markers({ messages: [userMessage([native])], tools: [] })).toHaveLength(4);
  });
});
