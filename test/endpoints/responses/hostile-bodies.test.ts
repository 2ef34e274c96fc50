import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { InvalidRequestError } from "../../../src/core/errors.ts";
import { INHERITED, pathsIn, replaced } from "../support/changed-bodies.ts";
import { read } from "./support/reading.ts";

/** A body with every kind of field that is read. */
const whole = {
  model: "anthropic/m",
  instructions: "a",
  input: [
    {
      role: "user",
      content: [
        { type: "input_text", text: "a" },
        { type: "input_image", image_url: "b" },
      ],
    },
    { type: "input_file", file_data: "aGk=", filename: "a.txt" },
    { type: "reasoning", summary: [{ type: "summary_text", text: "a" }], encrypted_content: "or1.W10" },
    {
      type: "message",
      role: "assistant",
      content: [{ type: "output_text", text: "a", annotations: [{}] }],
      phase: "b",
    },
    {
      type: "function_call",
      call_id: "a",
      name: "b",
      arguments: "{}",
      namespace: "c",
      caller: { type: "direct" },
    },
    { type: "function_call_output", call_id: "a", output: [{ type: "input_text", text: "a" }] },
    { type: "custom_tool_call", call_id: "a", name: "b", input: "c" },
    { type: "custom_tool_call_output", call_id: "a", output: "b" },
    { type: "mcp_call", id: "a", server_label: "b", name: "c", arguments: "{}", error: { message: "d" } },
    { type: "mcp_approval_request", id: "a", server_label: "b", name: "c", arguments: "{}" },
    { type: "mcp_approval_response", approval_request_id: "a", approve: true, reason: "b" },
    { type: "image_generation_call", result: "aGk=", output_format: "png" },
    { type: "gemini:code", data: { a: [1] } },
    { type: "web_search_call", id: "a", action: {} },
  ],
  tools: [
    { type: "function", name: "a", parameters: { type: "object" }, strict: true, description: "b" },
    { type: "custom", name: "b", format: { type: "grammar", syntax: "lark", definition: "c" } },
    { type: "namespace", name: "c", description: "d", tools: [{ type: "function", name: "a" }] },
    {
      type: "mcp",
      server_label: "d",
      server_url: "e",
      headers: { a: "b" },
      allowed_tools: { tool_names: ["a"], read_only: true },
      require_approval: { always: { tool_names: ["a"] } },
    },
    { type: "web_search" },
  ],
  tool_choice: { type: "allowed_tools", mode: "auto", tools: [{ type: "function", name: "a" }] },
  text: { format: { type: "json_schema", name: "a", schema: {}, strict: true }, verbosity: "low" },
  reasoning: { effort: "low", summary: "auto" },
  metadata: { a: "b" },
  include: ["reasoning.encrypted_content"],
  stream_options: { include_obfuscation: true },
  parallel_tool_calls: true,
  temperature: 1,
  max_output_tokens: 1,
  service_tier: "auto",
};

const paths = pathsIn(whole);

describe("a body with the names of inherited properties", () => {
  it.each(["anthropic/m", "openai/m", "gemini/m", "local/m"])(
    "is read for %s like any unknown field",
    async (model) => {
      for (const name of INHERITED) {
        // An object literal would set the prototype.
        const body = `{"model":"${model}","input":"hi","${name}":{"a":1},"metadata":{"${name}":"b"}}`;
        await expect(read(body)).resolves.toBeDefined();
      }
    },
  );

  it("is read, or refused with the path of the field, at any path", async () => {
    for (const path of paths)
      for (const name of INHERITED)
        for (const value of [name, JSON.parse(`{"${name}":{"a":1}}`), [name]])
          await read(JSON.stringify(replaced(whole, path, value))).catch((thrown: unknown) =>
            expect(thrown, `${path.join(".")}: ${name}`).toBeInstanceOf(InvalidRequestError),
          );
  });
});

describe("a body with any value at any path", () => {
  it("is read, or refused with the path of the field, and throws nothing else", async () => {
    const outcomes = new Set<string>();
    await expect(read(whole)).resolves.toBeDefined();
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...paths), fc.jsonValue(), async (path, value) => {
        try {
          await read(JSON.stringify(replaced(whole, path, value)));
          outcomes.add("read");
        } catch (thrown) {
          expect(thrown).toBeInstanceOf(InvalidRequestError);
          const [violation] = (thrown as InvalidRequestError).violations;
          if (path.length > 0) expect(violation?.field).toMatch(/^\w/);
          outcomes.add("refused");
        }
      }),
      { numRuns: 1500 },
    );
    expect(outcomes).toEqual(new Set(["read", "refused"]));
  });
});
