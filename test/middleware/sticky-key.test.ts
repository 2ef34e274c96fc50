import { assistantMessage, systemMessage, userMessage } from "outrigger";
import { describe, expect, it } from "vitest";
import { type RequestInput, toRequest } from "../../src/client/request-input.ts";
import type { CallOptions } from "../../src/core/adapter.ts";
import { AnswerRelay } from "../../src/core/answer-relay.ts";
import { readStickyKey, type StickyField } from "../../src/middleware/sticky-key.ts";

/** Reads the key of a call with these changes. */
function read(
  fields: readonly StickyField[],
  changes: Partial<RequestInput> = {},
  options: CallOptions = {},
): string | undefined {
  const request = toRequest({ model: "m", messages: [userMessage("Hello")], ...changes });
  return readStickyKey(fields, request, options);
}

const settings = (object: object) => ({ providerOptionsJson: { openai: JSON.stringify(object) } });

/** The form of a caller whose body has these members. */
function toSource(members: Readonly<Record<string, unknown>>): CallOptions {
  const texts = new Map(Object.entries(members).map(([name, value]) => [name, JSON.stringify(value)]));
  return {
    source: {
      api: "openai-chat",
      request: toRequest({ model: "m", messages: [userMessage("Hello")] }),
      headers: {},
      getMembers: () => texts,
      restored: { hasReasoning: false, hasCallState: false },
      relay: new AnswerRelay(),
    },
  };
}

describe("readStickyKey()", () => {
  it("takes the first field that the call has, and passes over empty values", () => {
    const fields = ["metadata.a", "metadata.b"] as const;
    expect(read(fields, { metadata: { b: "x" } })).toBe("metadata.b=x");
    expect(read(fields, { metadata: { a: "", b: "x" } })).toBe("metadata.b=x");
    expect(read(fields, { metadata: { a: "x", b: "y" } })).toBe("metadata.a=x");
    expect(read(fields, { metadata: { a: "" } })).toBeUndefined();
    const caller = { name: "", allowsModel: () => true, isRestricted: false };
    expect(read(["caller"], {}, { caller })).toBeUndefined();
    expect(read(["caller"], {}, { caller: { ...caller, name: "checkout" } })).toBe("caller=checkout");
  });

  it.each<[string, Partial<RequestInput>, CallOptions]>([
    ["safety_identifier", settings({ safety_identifier: "u", user: "v" }), {}],
    ["user", settings({ user: "u", user_id: "v" }), {}],
    ["user_id in Anthropic's metadata", settings({ metadata: { user_id: "u" } }), {}],
    ["user in the caller's body", {}, toSource({ user: "u" })],
    ["user in the metadata of the request", { metadata: { user: "u" } }, {}],
    ["user_id, if the others are no texts", settings({ safety_identifier: 7, user: "", user_id: "u" }), {}],
  ])("finds the user in %s", (_name, changes, options) => {
    expect(read(["user"], changes, options)).toBe("user=u");
  });

  it("finds the key of the prompt cache in the settings and in the caller's body", () => {
    expect(read(["prompt_cache_key"], settings({ prompt_cache_key: "k" }))).toBe("prompt_cache_key=k");
    expect(read(["prompt_cache_key"], {}, toSource({ prompt_cache_key: "k" }))).toBe("prompt_cache_key=k");
    expect(read(["prompt_cache_key"], settings({ user: "k" }))).toBeUndefined();
  });

  it("is the same for all turns of a conversation, and differs by system message and first question", () => {
    const beginning = [systemMessage("Be brief."), userMessage("Hello")];
    const first = read(["conversation"], { messages: beginning });
    const later = [...beginning, assistantMessage("Hi"), userMessage("And now?")];
    expect(read(["conversation"], { messages: later })).toBe(first);
    const others = [
      [systemMessage("Be long."), userMessage("Hello")],
      [systemMessage("Be brief."), userMessage("Hello!")],
      [userMessage("Be brief."), userMessage("Hello")],
    ].map((messages) => read(["conversation"], { messages }));
    expect(new Set([first, ...others]).size).toBe(4);
  });
});
