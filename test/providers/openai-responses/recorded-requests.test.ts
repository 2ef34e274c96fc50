import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { recordingsOf } from "../../support/recordings.ts";
import { list, readRequest } from "./asking.ts";
import { build } from "./build.ts";

type Wire = Record<string, unknown>;

const ROOT = new URL("../../recordings/", import.meta.url).pathname;

const requests = ([".sse", ".json"] as const).flatMap((ending) =>
  recordingsOf("openai-responses", ending).flatMap(({ file }) => {
    try {
      const text = readFileSync(`${ROOT}${file.slice(0, -ending.length)}.request.json`, "utf8");
      return [{ file, asked: JSON.parse(text) as Wire }];
    } catch {
      return [];
    }
  }),
);

/** What we say otherwise on purpose, each with its reason, as what becomes of a recorded body. */
const DIFFERENCES: Readonly<Record<string, (body: Wire) => Wire>> = {
  "whether the answer is kept is always said: the API's default is to keep it": (body) => ({
    store: true,
    ...body,
  }),
  "a stream is asked for without padding, which a sidecar has no use for": (body) =>
    body.stream === true ? { ...body, stream_options: { include_obfuscation: false } } : body,
  "whether a function tool is strict is always said: unsaid, the API rewrites its schema": (body) =>
    "tools" in body ? { ...body, tools: list(body.tools).map((tool) => ({ strict: false, ...tool })) } : body,
  "instructions that say nothing are left out": ({ instructions, ...body }) =>
    instructions === undefined || instructions === "" ? body : { ...body, instructions },
  "text is always a list of parts, as the API itself writes it": (body) => ({
    ...body,
    input: list(body.input).map((item) =>
      typeof item.content === "string"
        ? { ...item, content: [{ type: "input_text", text: item.content }] }
        : item,
    ),
  }),
  "system messages at the beginning are instructions (specification §7.3)": (body) => {
    const input = list(body.input);
    const leading = input.slice(
      0,
      input.findIndex(({ role }) => role !== "system"),
    );
    const text = leading.flatMap(({ content }) => list(content)).map((part) => part.text);
    return leading.length === 0
      ? body
      : { ...body, instructions: text.join(), input: input.slice(leading.length) };
  },
  "what the model wrote goes back with the list of its annotations, which the API gives too": (body) => ({
    ...body,
    input: list(body.input).map((item) =>
      item.role === "assistant"
        ? { ...item, content: list(item.content).map((part) => ({ ...part, annotations: [] })) }
        : item,
    ),
  }),
  "a schema that is enforced requires its properties in the order in which it has them": (body) =>
    JSON.parse(JSON.stringify(body), (_key, value: Wire) =>
      value?.strict === true ? { ...value, schema: inOrder(value.schema as Wire) } : value,
    ),
  "results have no status: the API takes them without, and compatible servers know none": (body) => ({
    ...body,
    input: list(body.input).map(({ status, ...item }) =>
      status === undefined || item.type === "function_call_output" ? item : { ...item, status },
    ),
  }),
};

function inOrder(schema: Wire): Wire {
  return { ...schema, required: Object.keys(schema.properties as Wire) };
}

describe("our request for a recorded conversation", () => {
  it("is there", () => expect(requests.length).toBeGreaterThan(55));

  it.each(requests)("$file is the recorded one, field by field", async ({ asked }) => {
    const expected = Object.values(DIFFERENCES).reduce((body, change) => change(body), asked);
    const { body, warnings } = await build(readRequest(asked), {}, asked.stream === true);
    expect(body).toEqual(expected);
    expect(warnings).toEqual([]);
  });

  it.each(Object.entries(DIFFERENCES))("differs on purpose: %s", (_reason, change) => {
    expect(requests.some(({ asked }) => JSON.stringify(change(asked)) !== JSON.stringify(asked))).toBe(true);
  });
});
