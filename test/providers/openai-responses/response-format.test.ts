import { describe, expect, it } from "vitest";
import { assistantMessage, systemMessage, userMessage } from "../../../src/core/message.ts";
import { ResponseFormat_Type as Format, LossPolicy } from "../../../src/gen/outrigger/v1/request_pb.ts";
import { build, PLAIN_BODY, toRefusal } from "./build.ts";

describe("the response format", () => {
  const schema = '{"type":"object","properties":{"z":{"type":"string"},"1":{"type":"integer"}}}';
  const asking = (text: string) => ({ ...PLAIN_BODY, input: [message("user", text)] });
  const message = (role: string, text: string) => ({
    type: "message",
    role,
    content: [{ type: "input_text", text }],
  });
  const jsonMode = { text: { format: { type: "json_object" } } };
  const sentence = message("developer", "Answer with a JSON object.");

  it("sends nothing for text and if it is unset", async () => {
    expect((await build({ responseFormat: { type: Format.TEXT } })).body).toEqual(PLAIN_BODY);
    expect((await build({ responseFormat: {} })).body).toEqual(PLAIN_BODY);
  });

  it("is the JSON mode if the user asks for JSON", async () => {
    const { body, warnings } = await build({
      messages: [userMessage("Answer in json, please.")],
      responseFormat: { type: Format.JSON },
    });
    expect(body).toEqual({ ...asking("Answer in json, please."), ...jsonMode });
    expect(warnings).toEqual([]);
  });

  it("adds the word JSON at the beginning of the input if it is missing", async () => {
    const { body, warnings } = await build({
      messages: [systemMessage("Reply in JSON."), userMessage("hi")],
      responseFormat: { type: Format.JSON },
    });
    expect(body).toEqual({
      ...PLAIN_BODY,
      instructions: "Reply in JSON.",
      input: [sentence, message("user", "hi")],
      ...jsonMode,
    });
    expect(warnings).toEqual(["converted_content response_format"]);
  });

  it("keeps the added word in its place when later messages mention JSON", async () => {
    const responseFormat = { type: Format.JSON };
    const first = await build({ messages: [userMessage("hi")], responseFormat });
    const second = await build({
      messages: [userMessage("hi"), assistantMessage('{"json":1}'), userMessage("More JSON.")],
      responseFormat,
    });
    expect((second.body.input as unknown[]).slice(0, 2)).toEqual(first.body.input);
  });

  it("is not refused for JSON under LOSS_POLICY_REFUSE", async () => {
    const { body } = await build({ responseFormat: { type: Format.JSON }, lossPolicy: LossPolicy.REFUSE });
    expect(body).toEqual({ ...PLAIN_BODY, input: [sentence, message("user", "hi")], ...jsonMode });
  });

  it("sends a schema flat, with a name, and with its original spelling", async () => {
    const { body, text } = await build({ responseFormat: { type: Format.JSON_SCHEMA, schemaJson: schema } });
    const format = { type: "json_schema", name: "response", schema: JSON.parse(schema), strict: false };
    expect(body).toEqual({ ...PLAIN_BODY, text: { format } });
    expect(text).toContain(`"schema":${schema},`);
  });

  it("sends a schema enforced, with its name", async () => {
    const closed =
      '{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}';
    const { body, warnings } = await build({
      responseFormat: { type: Format.JSON_SCHEMA, schemaJson: closed, name: "answer", strict: true },
    });
    const format = { type: "json_schema", name: "answer", schema: JSON.parse(closed), strict: true };
    expect(body).toEqual({ ...PLAIN_BODY, text: { format } });
    expect(warnings).toEqual([]);
  });

  const FREE = '{"type":"object","additionalProperties":{"type":"string"}}';

  it("sends a schema that cannot be enforced as a hint, with a warning", async () => {
    const responseFormat = { type: Format.JSON_SCHEMA, schemaJson: FREE, strict: true };
    const { body, warnings } = await build({ responseFormat });
    const format = { type: "json_schema", name: "response", schema: JSON.parse(FREE), strict: false };
    expect(body).toEqual({ ...PLAIN_BODY, text: { format } });
    expect(warnings).toEqual([expect.stringMatching(/^adjusted_schema response_format.schema_json/)]);
    expect(await toRefusal(build({ responseFormat, lossPolicy: LossPolicy.REFUSE }))).toHaveLength(1);
  });

  it("describes the schema in the input if the model has no schemas", async () => {
    const responseFormat = { type: Format.JSON_SCHEMA, schemaJson: schema };
    const { body, warnings } = await build({ model: "gpt-4", responseFormat });
    const words =
      "Answer with one JSON value that fits the JSON Schema below and nothing else: no text before or after it and no code fence.";
    expect(body).toEqual({
      ...PLAIN_BODY,
      model: "gpt-4",
      input: [message("developer", `${words}\n${schema}`), message("user", "hi")],
    });
    expect(warnings).toEqual(["adjusted_setting response_format"]);
    const violations = await toRefusal(
      build({ model: "gpt-4", responseFormat, lossPolicy: LossPolicy.REFUSE }),
    );
    expect(violations.map(({ field }) => field)).toEqual(["response_format"]);
  });

  it("sends a list as the member of an object, since the API requires an object at the root", async () => {
    const list = { type: "array", items: { type: "string" } };
    const responseFormat = { type: Format.JSON_SCHEMA, schemaJson: JSON.stringify(list), strict: true };
    const { body, warnings } = await build({ responseFormat, lossPolicy: LossPolicy.REFUSE });
    const wrapped = {
      type: "object",
      properties: { value: list },
      required: ["value"],
      additionalProperties: false,
    };
    const format = { type: "json_schema", name: "response", schema: wrapped, strict: true };
    expect(body).toEqual({ ...PLAIN_BODY, text: { format } });
    expect(warnings).toEqual(["adjusted_schema response_format.schema_json"]);
  });

  it.each(["", "[]", "null", '"x"', "{"])(
    "a schema that is %j is refused by its field",
    async (schemaJson) => {
      for (const model of ["gpt-4o", "gpt-4"]) {
        const init = { model, responseFormat: { type: Format.JSON_SCHEMA, schemaJson } };
        const [violation] = await toRefusal(build(init));
        expect(violation?.field).toBe("response_format.schema_json");
      }
    },
  );
});
