/** Facts alongside the choices of an answer, and in a choice, that have no unified form. */
import { describe, expect, it } from "vitest";
import type { Response } from "../../../src/gen/outrigger/v1/response_pb.ts";
import { ProviderMetadata } from "../../../src/kit/call/provider-metadata.ts";
import { chunk, decodeEvents, getFinal, respond } from "./support.ts";

const choice = { index: 0, message: { role: "assistant", content: "a" }, finish_reason: "stop" };
const filtered = { hate: { filtered: false, severity: "safe" } };

function readMetadata({ providerMetadataJson }: Response): unknown {
  return providerMetadataJson === "" ? "" : JSON.parse(providerMetadataJson);
}

/** Facts by the server that reports them, from its documentation. */
const FACTS: readonly [string, object][] = [
  ["OpenAI", { service_tier: "flex", system_fingerprint: "fp_1" }],
  ["Azure", { prompt_filter_results: [{ prompt_index: 0, content_filter_results: filtered }] }],
  ["llama.cpp", { timings: { prompt_n: 3, prompt_ms: 1.5, predicted_n: 7, cache_n: 0 } }],
  ["Groq", { x_groq: { id: "req_1", seed: 7 } }],
  ["Cerebras", { time_info: { queue_time: 0.1, total_time: 0.5 } }],
  ["Perplexity", { citations: ["https://a"], search_results: [{ title: "A", url: "https://a" }] }],
  ["OpenRouter", { provider: "Together" }],
  ["MiniMax", { input_sensitive: false, output_sensitive: true, base_resp: { status_code: 0 } }],
  ["NVIDIA", { nvext: { worker_id: { prefill: 1 } } }],
  ["an unknown server", { __proto: 1, mood: "good", shape: [1, { edges: 12 }] }],
];

describe("The metadata of an answer", () => {
  it.each(FACTS)("has what %s reports alongside the choices", async (_, facts) => {
    const ids = { id: "c", object: "chat.completion", created: 1, model: "m" };
    expect(readMetadata(respond({ ...ids, choices: [choice], ...facts }))).toEqual(facts);
    for (const more of [facts, { ...facts, usage: null }]) {
      const first = [chunk({ content: "a" }, null, more), chunk({}, "stop"), "[DONE]"];
      expect(readMetadata(getFinal(await decodeEvents(first)))).toEqual(facts);
      const last = [chunk({ content: "a" }), chunk({}, "stop", more), "[DONE]"];
      expect(readMetadata(getFinal(await decodeEvents(last)))).toEqual(facts);
      const each = [chunk({ content: "a" }, null, more), chunk({}, "stop", more), "[DONE]"];
      expect(readMetadata(getFinal(await decodeEvents(each)))).toEqual(facts);
    }
  });

  it("joins what several chunks report", async () => {
    const events = [
      { ...chunk({ content: "a" }), x_groq: { id: "req_1" }, timings: null },
      { ...chunk({}, "stop"), x_groq: { usage: { queue_time: 1 } }, service_tier: "default" },
      "[DONE]",
    ];
    const joined = { x_groq: { id: "req_1", usage: { queue_time: 1 } }, service_tier: "default" };
    expect(readMetadata(getFinal(await decodeEvents(events)))).toMatchObject(joined);
  });

  it("has the further members of the choice", async () => {
    const facts = { content_filter_results: filtered, stop_reason: 7, native_finish_reason: "end_turn" };
    const expected = { choice: facts };
    expect(readMetadata(respond({ choices: [{ ...choice, ...facts, token_ids: null }] }))).toEqual(expected);
    const events = [
      { model: "m", choices: [{ index: 0, delta: { content: "a" }, content_filter_results: filtered }] },
      { choices: [{ index: 0, delta: {}, finish_reason: "stop", ...facts, content_filter_results: {} }] },
      "[DONE]",
    ];
    expect(readMetadata(getFinal(await decodeEvents(events)))).toEqual(expected);
  });

  it("has the counts if the contract has no fields for some of them", async () => {
    const plain = { prompt_tokens: 3, completion_tokens: 7, total_tokens: 10 };
    const usage = { ...plain, completion_tokens_details: { accepted_prediction_tokens: 2 } };
    expect(readMetadata(respond({ choices: [choice], usage: plain }))).toBe("");
    expect(readMetadata(respond({ choices: [choice], usage }))).toEqual({ usage });
    const events = [chunk({ content: "a" }), chunk({}, "stop"), { choices: [], usage }, "[DONE]"];
    expect(readMetadata(getFinal(await decodeEvents(events)))).toEqual({ usage });
  });

  it("is empty if there is nothing, and has no text that only fills up chunks", async () => {
    expect(readMetadata(respond({ choices: [choice], service_tier: null, citations: [] }))).toBe("");
    const padded = [
      chunk({ content: "a" }, null, { obfuscation: "x", p: "abc" }),
      chunk({}, "stop"),
      "[DONE]",
    ];
    expect(readMetadata(getFinal(await decodeEvents(padded)))).toBe("");
  });

  it("leaves out what exceeds its limit", () => {
    const metadata = { large: "x".repeat(65_536), service_tier: "flex" };
    expect(readMetadata(respond({ choices: [choice], ...metadata }))).toEqual({ service_tier: "flex" });
    const many = Object.fromEntries(Array.from({ length: 100 }, (_, at) => [`m${at}`, "x".repeat(1000)]));
    const { providerMetadataJson } = respond({ choices: [choice], ...many });
    expect(providerMetadataJson.length).toBeLessThanOrEqual(65_536);
    expect(Object.keys(JSON.parse(providerMetadataJson))).toHaveLength(64);
  });

  it("counts the names and values of members, and does nothing twice for those of earlier chunks", () => {
    const metadata = new ProviderMetadata();
    let bytes = 0;
    // A copy for each chunk would take minutes.
    for (let at = 0; at < 30_000; at += 1) bytes += metadata.add("nvext", { [`member${at}`]: true });
    expect(bytes).toBeGreaterThan(30_000 * "member".length);
    expect(metadata.add("nvext", { member0: true })).toBe(0);
    expect(metadata.add("nvext", { member0: "x".repeat(100) })).toBe(100);
    expect(metadata.add("nvext", { member0: "y" })).toBe(0);
    expect(metadata.add("nvext", {})).toBe(0);
    expect(metadata.add("name", "")).toBe(0);
  });

  it("keeps a member named __proto__", () => {
    const metadata = new ProviderMetadata();
    metadata.add("x", JSON.parse('{"__proto__":{"a":1}}'));
    metadata.add("__proto__", { b: 2 });
    expect(metadata.toJson()).toBe('{"__proto__":{"b":2},"x":{"__proto__":{"a":1}}}');
  });
});
