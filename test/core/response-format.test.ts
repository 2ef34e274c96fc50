import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { NoObjectGeneratedError } from "../../src/core/errors.ts";
import { assistantMessage } from "../../src/core/message.ts";
import { jsonObject, jsonOf, jsonSchema } from "../../src/core/response-format.ts";
import { ResponseFormat_Type } from "../../src/gen/outrigger/v1/request_pb.ts";
import { FinishReason_Reason, ResponseSchema } from "../../src/gen/outrigger/v1/response_pb.ts";

const Person = z.object({ name: z.string(), age: z.number() });

describe("jsonSchema()", () => {
  it("names a schema and writes it as JSON text", () => {
    expect(jsonSchema("person", { type: "object" })).toMatchObject({
      type: ResponseFormat_Type.JSON_SCHEMA,
      name: "person",
      schemaJson: '{"type":"object"}',
      strict: false,
    });
  });

  it("takes a schema of a library, without its $schema", () => {
    const { schemaJson, strict } = jsonSchema("person", Person, { strict: true });
    expect(strict).toBe(true);
    expect(JSON.parse(schemaJson)).toMatchObject({ type: "object", required: ["name", "age"] });
    expect(JSON.parse(schemaJson)).not.toHaveProperty("$schema");
  });
});

describe("jsonObject()", () => {
  it("asks for any JSON object", () => {
    expect(jsonObject()).toMatchObject({ type: ResponseFormat_Type.JSON, schemaJson: "" });
  });
});

describe("jsonOf()", () => {
  const answer = (text: string) => assistantMessage(text);

  it("parses the text of a message or a response", () => {
    const message = answer('{"name":"Ann","age":30}');
    const value = { name: "Ann", age: 30 };
    expect(jsonOf(message)).toEqual({ ok: true, value });
    expect(jsonOf(create(ResponseSchema, { message }), Person)).toEqual({ ok: true, value });
  });

  it("returns an error if the text is not JSON, or not valid for the schema", () => {
    const [prose, other] = [jsonOf(answer("Sure!")), jsonOf(answer('{"name":"Ann"}'), Person)];
    if (prose.ok || other.ok) throw new Error("the answers were accepted");
    expect(prose.error).toBeInstanceOf(NoObjectGeneratedError);
    expect(prose.error.message).toBe("the answer is not valid JSON");
    expect(other.error.message).toMatch(/^the answer is not valid for the schema: age: /);
  });

  it("says that the answer was cut off", () => {
    const finishReason = { reason: FinishReason_Reason.LENGTH };
    const cut = jsonOf(create(ResponseSchema, { message: answer('{"name":"A'), finishReason }));
    expect(!cut.ok && cut.error.message).toBe(
      "the answer is not valid JSON (the answer was cut off at its token limit)",
    );
  });
});
