import { fromJson, type JsonValue } from "@bufbuild/protobuf";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { RequestSchema } from "../../../src/gen/outrigger/v1/request_pb.ts";
import { findJsonViolations } from "../../../src/server/status/json-violations.ts";

const PROMPT = "tell no one";

function getViolations(json: unknown): string[] {
  return findJsonViolations(RequestSchema, json).map(({ field, description }) => `${field}: ${description}`);
}

/** A request with one message that has only this part. */
function withPart(part: unknown): object {
  return { model: "m", messages: [{ role: "ROLE_USER", content: [{ text: "a" }, part] }] };
}

describe("findJsonViolations()", () => {
  const cases: readonly [what: string, json: unknown, violations: (string | RegExp)[]][] = [
    [
      "a text in the place of a number",
      { maxTokens: PROMPT },
      ["max_tokens: expected a whole number, found a string of length 11"],
    ],
    ["a number in the place of a text", { model: 5 }, ["model: expected a string, found 5"]],
    [
      "a fraction in the place of a whole number",
      { max_tokens: 1.5 },
      ["max_tokens: expected a whole number, found 1.5"],
    ],
    [
      "a text in the place of parts",
      { messages: [{}, { content: PROMPT }] },
      ["messages[1].content: expected an array, found a string of length 11"],
    ],
    [
      "a text in the place of a part",
      { messages: [{ content: [PROMPT] }] },
      ["messages[0].content[0]: expected an object, found a string of length 11"],
    ],
    [
      "a list in the place of a message",
      { messages: [[]] },
      ["messages[0]: expected an object, found an array"],
    ],
    ["null in a list", { messages: [null] }, ["messages[0]: expected an object, found null"]],
    ["a list in the place of the request", [], ["request: expected an object, found an array"]],
    ["an unknown field", { mesages: [] }, ['mesages: is not a field of Request; did you mean "messages"?']],
    [
      "an unknown field of a part",
      withPart({ imgae: {} }),
      ['messages[0].content[1].imgae: is not a field of ContentPart; did you mean "image"?'],
    ],
    [
      "an unknown enum value",
      { messages: [{ role: "user" }] },
      [/^messages\[0\]\.role: expected one of ROLE_SYSTEM, .*ROLE_USER.*, found "user"$/],
    ],
    [
      "a text in the place of an enum value",
      { messages: [{ role: PROMPT }] },
      [/^messages\[0\]\.role: expected one of .*, found a string of length 11$/],
    ],
    [
      "invalid base64",
      withPart({ image: { data: "%%%" } }),
      ["messages[0].content[1].image.data: expected base64, found a string of length 3"],
    ],
    [
      "a oneof that is set twice",
      withPart({ text: "a", image: {} }),
      [
        "messages[0].content[1].image: expected once, found together with text, which sets the same oneof (part)",
      ],
    ],
    [
      "a field that is set by both of its names",
      { maxTokens: 1, max_tokens: 2 },
      ["max_tokens: expected once, found together with maxTokens, which sets the same field"],
    ],
    [
      "a duration without a unit",
      { timeouts: { request: "5" } },
      ['timeouts.request: expected a duration such as "1.5s", found a string of length 1'],
    ],
    [
      "a number in a map of texts",
      { metadata: { team: 5 } },
      ['metadata["team"]: expected a string, found 5'],
    ],
    [
      "several mistakes",
      { model: 5, messages: [{ role: 1.5 }], maxTokens: {} },
      [/^model/, /^messages\[0\]\.role/, /^max_tokens: expected a whole number, found an object$/],
    ],
  ];
  it.each(cases)("names the place of %s", (_what, json, expected) => {
    const found = getViolations(json);
    expect(found).toEqual(
      expected.map((each) => (typeof each === "string" ? each : expect.stringMatching(each))),
    );
    expect(found.join()).not.toContain(PROMPT);
  });

  it("stops after ten violations and at a hundred levels", () => {
    expect(getViolations({ messages: Array.from({ length: 100_000 }, () => 1) })).toHaveLength(10);
    let part: object = { text: "a" };
    for (let level = 0; level < 3000; level += 1) part = { toolResult: { content: [part] } };
    expect(getViolations(withPart(part))).toEqual([
      expect.stringMatching(/expected at most 100 levels of nesting$/),
    ]);
  });

  it("finds a violation in each value that protobuf-es refuses, and none in accepted values", () => {
    const leaf = fc.oneof(
      fc.constant(null),
      fc.boolean(),
      fc.integer(),
      fc.double(),
      fc.string(),
      fc.constant([]),
      fc.constant({}),
    );
    const names = [
      "model",
      "messages",
      "role",
      "content",
      "text",
      "image",
      "data",
      "url",
      "maxTokens",
      "max_tokens",
      "tools",
      "metadata",
      "timeouts",
      "request",
      "temperature",
      "includeRaw",
      "bogus",
    ];
    const { value } = fc.letrec((tie) => ({
      value: fc.oneof({ maxDepth: 5 }, leaf, fc.array(tie("value"), { maxLength: 3 }), tie("object")),
      object: fc.dictionary(fc.constantFrom(...names), tie("value"), { maxKeys: 4, noNullPrototype: true }),
    }));
    fc.assert(
      fc.property(value, (any) => {
        const json: unknown = JSON.parse(JSON.stringify(any));
        expect(findJsonViolations(RequestSchema, json).length > 0).toBe(isRefused(json));
      }),
      { numRuns: 3000 },
    );
  });
});

function isRefused(json: unknown): boolean {
  try {
    fromJson(RequestSchema, json as JsonValue);
    return false;
  } catch {
    return true;
  }
}
