import { globSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { type JsonObject, type JsonValue, parseJson } from "../../../src/kit/json/json.ts";
import * as dialects from "../../../src/providers/schema-dialects.ts";
import { accepted } from "./compiled.ts";

const { PLAIN, TOOL_PARAMETERS, ...TRANSLATED } = dialects;
const ROOT = new URL("../../recordings/", import.meta.url).pathname;

/** Members of the providers' requests that hold a schema. */
const HOLDERS = new Set([
  "parameters",
  "input_schema",
  "schema",
  "parametersJsonSchema",
  "responseJsonSchema",
  "responseSchema",
]);

/** The schemas of all recorded requests, each once, with the first file that has it. */
const RECORDED = [
  ...new Map(
    globSync("**/*.request.json", { cwd: ROOT })
      .sort()
      .flatMap((file) =>
        schemasIn(parseJson(readFileSync(`${ROOT}${file}`, "utf8"))).map((schema) => ({ file, schema })),
      )
      .map((each) => [JSON.stringify(each.schema), each]),
  ).values(),
];

function schemasIn(value: unknown): JsonObject[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value as Record<string, JsonValue>).flatMap(([key, each]) =>
    HOLDERS.has(key) && typeof each === "object" ? [each as JsonObject] : schemasIn(each),
  );
}

describe("the schemas of recorded requests", () => {
  it("are found", () => expect(RECORDED.length).toBeGreaterThan(15));

  it.each(RECORDED)("are accepted by every dialect without a loss: $file", ({ schema }) => {
    for (const dialect of Object.values(TRANSLATED)) {
      const outcome = accepted(schema, dialect);
      expect(outcome.messages.filter((message) => !message.startsWith("is not required, which"))).toEqual([]);
      expect(accepted(outcome.schema, dialect)).toEqual({
        schema: outcome.schema,
        reported: [],
        messages: [],
      });
    }
  });

  it.each(RECORDED)("are not changed if they are not enforced: $file", ({ schema }) => {
    expect(accepted(schema, PLAIN).schema).toBe(schema);
    expect(accepted(schema, TOOL_PARAMETERS).schema).toBe(schema);
  });
});
