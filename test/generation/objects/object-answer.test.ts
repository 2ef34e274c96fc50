import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { NoObjectGeneratedError } from "../../../src/core/errors.ts";
import { assistantMessage, userMessage } from "../../../src/core/message.ts";
import type { PartInput } from "../../../src/core/parts.ts";
import { RequestSchema, ResponseFormatSchema } from "../../../src/gen/outrigger/v1/request_pb.ts";
import { FinishReason_Reason, ResponseSchema } from "../../../src/gen/outrigger/v1/response_pb.ts";
import { ToolSchema } from "../../../src/gen/outrigger/v1/tool_pb.ts";
import { UsageSchema } from "../../../src/gen/outrigger/v1/usage_pb.ts";
import { readObject } from "../../../src/generation/objects/object-answer.ts";
import type { ObjectStrategy } from "../../../src/generation/objects/object-format.ts";
import { createObjectReader, type WantedObject } from "../../../src/generation/objects/object-reader.ts";

const PERSON = {
  type: "object",
  properties: { name: { type: "string" }, age: { type: "integer" } },
  required: ["name", "age"],
};
const FIELDS = { schema: "object.schema_json", name: "object.name", strategy: "object.strategy" };
const usage = create(UsageSchema, { inputTokens: 5, outputTokens: 7, totalTokens: 12 });

function readerFor(strategy: ObjectStrategy, schema: object = PERSON) {
  const wanted: WantedObject = { schemaJson: JSON.stringify(schema), name: "person", strategy };
  return createObjectReader(
    wanted,
    create(RequestSchema, { model: "m-1", messages: [userMessage("Who?")] }),
    {},
    FIELDS,
  );
}

function answer(content: readonly PartInput[], reason: FinishReason_Reason = FinishReason_Reason.STOP) {
  return create(ResponseSchema, { message: { ...assistantMessage(content) }, finishReason: { reason } });
}

const text = (value: string): PartInput => ({ part: { case: "text", value } });

function toolCall(name: string, value: string): PartInput {
  return { part: { case: "toolCall", value: { id: "c1", name, input: { case: "argumentsJson", value } } } };
}

function toFailure(run: () => unknown): NoObjectGeneratedError {
  try {
    run();
  } catch (error) {
    if (error instanceof NoObjectGeneratedError) return error;
    throw error;
  }
  throw new Error("the answer was accepted");
}

describe("readObject()", () => {
  it("returns the object, and the model's text", () => {
    const json = ' {"name":"Ann","age":30, "id": 12345678901234567890} ';
    const read = readObject(answer([text(json)]), readerFor("native"), usage);
    expect(read.object).toMatchObject({ name: "Ann", age: 30 });
    expect(read.json).toBe(json.trim());
  });

  it.each([
    ["a code fence", 'Sure:\n```json\n{"name":"Ann","age":30}\n```\nAnything else?'],
    ["several text parts", '{"name":"Ann",', '"age":30}'],
  ])("reads an object in %s", (_name, ...parts) => {
    const read = readObject(answer(parts.map(text)), readerFor("prompt"), usage);
    expect(read.object).toEqual({ name: "Ann", age: 30 });
    expect(JSON.parse(read.json)).toEqual({ name: "Ann", age: 30 });
  });

  it("reads the arguments of the tool, or the text of a model that called none", () => {
    const call = toolCall("person", '{"name":"Ann","age":30}');
    expect(readObject(answer([text("Here."), call]), readerFor("tool"), usage).object).toMatchObject({
      age: 30,
    });
    const spoken = answer([text('{"name":"Bob","age":31}')]);
    expect(readObject(spoken, readerFor("tool"), usage).object).toMatchObject({ age: 31 });
  });

  it("names the mismatch, with the text and the usage", () => {
    const json = '{"name":"Ann","age":"old"}';
    const error = toFailure(() => readObject(answer([text(json)]), readerFor("native"), usage));
    expect(error.message).toBe("the answer is not valid for the schema");
    expect(error).toMatchObject({ text: json, usage, outputStarted: true, retryable: false });
    expect(error.schemaViolations).toEqual([
      expect.stringMatching(/^\/age: expected .*integer.*found .*string/),
    ]);
  });

  it.each([
    ["prose", "Ann is thirty.", FinishReason_Reason.STOP, "the answer is not valid JSON"],
    [
      "half of an object",
      '{"name":"An',
      FinishReason_Reason.LENGTH,
      "the answer is not valid JSON (the answer was cut off at its token limit)",
    ],
    [
      "nothing",
      "",
      FinishReason_Reason.CONTENT_FILTER,
      "the answer is not valid JSON (the answer was stopped by a content filter)",
    ],
  ])("does not read %s as an object", (_name, written, reason, message) => {
    const error = toFailure(() => readObject(answer([text(written)], reason), readerFor("native"), usage));
    expect(error.message).toBe(message);
    expect(error.text).toBe(written);
    expect(error.schemaViolations).toHaveLength(1);
  });

  it("takes objects as the whole text only if another value is asked for", () => {
    const numbers = { type: "array", items: { type: "number" } };
    expect(readObject(answer([text("It is [1, 2].")]), readerFor("prompt", numbers), usage).object).toEqual([
      1, 2,
    ]);
    const word = { type: "string", enum: ["yes", "no"] };
    expect(readObject(answer([text('"yes"')]), readerFor("prompt", word), usage).object).toBe("yes");
  });
});

describe("a value that is not an object", () => {
  const LIST = { type: "array", items: { type: "number" } };

  it.each([
    ["native", (json: string) => text(json)],
    ["tool", (json: string) => toolCall("person", json)],
  ] as const)("is read from the object that wraps it, digit by digit, with strategy %s", (strategy, part) => {
    const reader = readerFor(strategy, LIST);
    expect(JSON.parse(reader.format.schemaJson)).toMatchObject({
      type: "object",
      properties: { value: LIST },
    });
    const read = readObject(answer([part('{"value": [1.0, 2.50]}')]), reader, usage);
    expect(read).toEqual({ object: [1, 2.5], json: "[1.0, 2.50]" });
  });

  it.each(["[1, 2]", "Here it is: [1, 2]."])(
    "is read as it is from a model that writes %s instead",
    (written) => {
      expect(readObject(answer([text(written)]), readerFor("native", LIST), usage).object).toEqual([1, 2]);
    },
  );

  it("has to match the caller's schema", () => {
    const failed = toFailure(() =>
      readObject(answer([text('{"value":["a"]}')]), readerFor("native", LIST), usage),
    );
    expect(failed.schemaViolations[0]).toMatch(/^\/0: /);
  });

  it("is not wrapped in the prompt", () => {
    expect(readerFor("prompt", LIST).format).toMatchObject({ schema: LIST });
  });
});

describe("createObjectReader()", () => {
  it.each(["[1]", "null", "{", '"text"'])("refuses the schema %s, which is no JSON object", (schemaJson) => {
    const request = create(RequestSchema, { model: "m-1", messages: [userMessage("Who?")] });
    const run = () => createObjectReader({ schemaJson, name: "person" }, request, {}, FIELDS);
    expect(run).toThrow("object.schema_json: expected the text of a JSON object");
  });

  const request = create(RequestSchema, { model: "m-1", messages: [userMessage("Who?")] });
  const functionTool = { tool: { case: "function", value: { name: "f" } } } as const;
  const cases: [string, Partial<WantedObject>, object, string][] = [
    ["no schema", { schemaJson: "" }, {}, "object.schema_json"],
    ["a schema that is no object", { schemaJson: "[]" }, {}, "object.schema_json"],
    ["a schema that is none", { schemaJson: '{"type":"thing"}' }, {}, "object.schema_json"],
    ["a name with spaces", { name: "a b" }, {}, "object.name"],
    [
      "a tool for a list of lists like itself",
      { schemaJson: '{"type":"array","items":{"$ref":"#"}}', strategy: "tool" },
      {},
      "object.strategy",
    ],
    ["a response format", {}, { responseFormat: create(ResponseFormatSchema) }, "response_format"],
    ["a tool of the caller", {}, { tools: [create(ToolSchema, functionTool)] }, "tools[0]"],
  ];
  it.each(cases)("refuses %s", (_name, wanted, fields, field) => {
    const full = { schemaJson: JSON.stringify(PERSON), ...wanted };
    const asked = create(RequestSchema, { ...request, ...fields });
    const read = () => createObjectReader(full, asked, {}, FIELDS);
    expect(read).toThrow(field);
  });
});
