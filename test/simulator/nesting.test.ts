/** Bodies that are nested deeper than the parsers of the providers allow. */
import { describe, expect, it } from "vitest";
import { useSimulator } from "./support.ts";

const simulator = useSimulator();

/** More levels than a body has around its nested value. */
const LEVELS_OF_BODY = 20;

/** An object with the given number of levels. */
function nested(levels: number): string {
  return `${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`;
}

const anthropicBody = (input: string): string =>
  `{"model":"sim-text","max_tokens":10,"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[
    {"type":"tool_use","id":"toolu_1","name":"f","input":${input}}]},{"role":"user","content":[
    {"type":"tool_result","tool_use_id":"toolu_1","content":"x"}]}]}`;

const geminiBody = (input: string): string =>
  `{"contents":[{"role":"user","parts":[{"text":"hi"}]},{"role":"model","parts":[
    {"functionCall":{"name":"f","args":${input}}}]},{"role":"user","parts":[
    {"functionResponse":{"name":"f","response":{}}}]}],"tools":[{"functionDeclarations":[{"name":"f"}]}]}`;

const responsesBody = (schema: string): string =>
  `{"model":"sim-text","input":"hi","tools":[{"type":"function","name":"f","parameters":${schema}}]}`;

const chatBody = (schema: string): string =>
  `{"model":"sim-text","messages":[{"role":"user","content":"hi"}],"tools":[
    {"type":"function","function":{"name":"f","parameters":${schema}}}]}`;

describe.each([
  ["Anthropic", "/v1/messages", anthropicBody],
  ["Gemini", "/v1beta/models/sim-text:generateContent", geminiBody],
  ["the Responses API", "/v1/responses", responsesBody],
  ["the Chat Completions API", "/v1/chat/completions", chatBody],
])("a body for %s", (_, path, bodyWith) => {
  async function post(levels: number): Promise<{ status: number; text: string }> {
    const response = await fetch(`${simulator().url}${path}`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        authorization: "Bearer k",
        "x-api-key": "k",
        "x-goog-api-key": "k",
        "anthropic-version": "2023-06-01",
      },
      body: bodyWith(nested(levels)),
    });
    return { status: response.status, text: await response.text() };
  }

  it("is answered if it is nested no deeper than parsers allow", async () => {
    expect(await post(1000 - LEVELS_OF_BODY)).toMatchObject({ status: 200 });
  });

  it.each([1001, 5000, 100_000])("of %i levels gets 400, as one that is not JSON", async (levels) => {
    const { status, text } = await post(levels);
    expect(status).toBe(400);
    expect(text).toContain("JSON");
  });
});
