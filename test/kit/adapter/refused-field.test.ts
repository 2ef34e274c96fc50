import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { ErrorKind } from "../../../src/gen/outrigger/v1/error_pb.ts";
import { RequestSchema } from "../../../src/gen/outrigger/v1/request_pb.ts";
import { ToolSchema } from "../../../src/gen/outrigger/v1/tool_pb.ts";
import { type FieldNames, toContractField } from "../../../src/kit/adapter/refused-field.ts";

const names: FieldNames = [
  ["input", "messages"],
  ["max_output_tokens", "max_tokens"],
  ["text.format.schema", "response_format.schema_json"],
  ["text.format", "response_format"],
  ["tools", "tools"],
];

const f = create(ToolSchema, { tool: { case: "function", value: { name: "f" } } });
const hosted = create(ToolSchema, { tool: { case: "hosted", value: {} } });
const request = create(RequestSchema, { tools: [f, f, hosted, f] });

function convert(path: string, kind: ErrorKind = ErrorKind.INVALID_REQUEST): string | undefined {
  return toContractField(path, names, { kind, options: "openai", request });
}

describe("toContractField()", () => {
  it.each([
    ["max_output_tokens", "max_tokens"],
    ["input[3].content[0].image_url", "messages"],
    ["input.3.content", "messages"],
    ["text.format.schema", "response_format.schema_json"],
    ["text.format.name", "response_format"],
    ["text.verbosity", 'provider_options_json["openai"].text.verbosity'],
    ["inputs", 'provider_options_json["openai"].inputs'],
    ["tools[1].parameters", "tools[1]"],
    ["tools.1.custom.input_schema", "tools[1]"],
    ["tools[3].parameters", "tools"],
    ["tools", "tools"],
  ])("names %s as %s", (path, field) => {
    expect(convert(path)).toBe(field);
  });

  it("names the message, or its part, that an element of the conversation was written from", () => {
    const elementFields = [undefined, "messages[1]", "messages[2].content[1]"];
    const settings = { kind: ErrorKind.INVALID_REQUEST, options: "openai", request, elementFields };
    const found = [0, 1, 2, 3].map((index) => toContractField(`input[${index}].content`, names, settings));
    expect(found).toEqual(["messages", "messages[1]", "messages[2].content[1]", "messages"]);
  });

  it.each(["", "(none)", "what you wrote", "input[x]", "a..b"])("takes %j for no field", (path) => {
    expect(convert(path)).toBeUndefined();
  });

  it("names no field in failures that are not about the request", () => {
    expect(convert("max_output_tokens", ErrorKind.RATE_LIMIT)).toBeUndefined();
    expect(convert("max_output_tokens", ErrorKind.NOT_FOUND)).toBe("max_tokens");
  });
});
