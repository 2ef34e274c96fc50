import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { getRecordings } from "../../support/recordings.ts";
import { build } from "./build.ts";
import { list, readRequest } from "./read-recorded-request.ts";

type Wire = Record<string, unknown>;

const ROOT = new URL("../../recordings/", import.meta.url).pathname;

const requests = ([".sse", ".json"] as const).flatMap((ending) =>
  getRecordings("openai-responses", ending).flatMap(({ file }) => {
    try {
      const text = readFileSync(`${ROOT}${file.slice(0, -ending.length)}.request.json`, "utf8");
      return [{ file, recorded: JSON.parse(text) as Wire }];
    } catch {
      return [];
    }
  }),
);

/** The intended differences, each with its reason, as functions that apply them to a recorded body. */
const DIFFERENCES: Readonly<Record<string, (body: Wire) => Wire>> = {
  "`store` is always sent: the API stores answers by default": (body) => ({
    store: true,
    ...body,
  }),
  "streams are requested without padding, which a sidecar does not need": (body) =>
    body.stream === true ? { ...body, stream_options: { include_obfuscation: false } } : body,
  "`strict` of a function is always sent: where it is absent, the API rewrites the schema": (body) =>
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
  "system messages at the beginning are instructions": (body) => {
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
  it("has recordings to compare with", () => expect(requests.length).toBeGreaterThan(55));

  it.each(requests)("equals the recorded body of $file", async ({ recorded }) => {
    const expected = Object.values(DIFFERENCES).reduce((body, change) => change(body), recorded);
    const { body, warnings } = await build(readRequest(recorded), {}, recorded.stream === true);
    expect(body).toEqual(expected);
    expect(warnings).toEqual([]);
  });

  it.each(Object.entries(DIFFERENCES))(
    "differs deliberately in at least one recording: %s",
    (_reason, change) => {
      expect(
        requests.some(({ recorded }) => JSON.stringify(change(recorded)) !== JSON.stringify(recorded)),
      ).toBe(true);
    },
  );
});
