import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { type InvalidRequestError, invalidFields } from "../../../src/core/errors.ts";
import { GenerationOptionsSchema } from "../../../src/gen/outrigger/v1/generation_pb.ts";
import { RequestFields } from "../../../src/generation/contract/request-fields.ts";

type Options = MessageInitShape<typeof GenerationOptionsSchema>;

function createFields(options: Options): RequestFields {
  return new RequestFields(create(GenerationOptionsSchema, options), "options");
}

/** Returns the caller's name of a field. */
function rename(fields: RequestFields, field: string): string | undefined {
  const renamed = fields.rename(invalidFields([{ field, description: "is wrong" }])) as InvalidRequestError;
  expect(renamed.message).toBe(`${renamed.violations[0]?.field}: is wrong`);
  return renamed.violations[0]?.field;
}

describe("The fields of a model's request", () => {
  it.each<[string, Options, string, string]>([
    ["a setting", {}, "top_p", "options.request.top_p"],
    ["the request as a whole", {}, "request", "options.request"],
    ["a message", {}, "messages[0].content[1].text", "options.request.messages[0].content[1].text"],
    ["a message of two digits", {}, "messages[12]", "options.request.messages[12]"],
    ["the prompt", { prompt: "hi" }, "messages[0].content[0].text", "options.prompt"],
    ["the system prompt", { system: "Be brief.", prompt: "hi" }, "messages[0]", "options.system"],
    ["the prompt after it", { system: "Be brief.", prompt: "hi" }, "messages[1]", "options.prompt"],
    [
      "a message after a system prompt",
      { system: "S" },
      "messages[2].role",
      "options.request.messages[1].role",
    ],
    [
      "the schema of a format",
      {},
      "response_format.schema_json",
      "options.request.response_format.schema_json",
    ],
    ["the options of an object", {}, "object.schema_json", "object.schema_json"],
    ["these options as a whole", {}, "object", "object"],
    ["a field that only begins alike", {}, "objects", "options.request.objects"],
  ])("are named as the caller's: %s", (_what, options, field, expected) => {
    expect(rename(createFields(options), field)).toBe(expected);
  });

  it.each([
    ["its format", 0, "response_format.schema_json", "object.schema_json"],
    ["a part of its schema", 0, "response_format.schema_json.properties", "object.schema_json.properties"],
    ["its tool", 0, "tools[0].function.parameters_json", "object.schema_json"],
    ["its tool behind the caller's", 2, "tools[2].function.parameters_json", "object.schema_json"],
    ["a tool of the caller", 2, "tools[1].function.name", "options.request.tools[1].function.name"],
  ])("that ask for an object are its schema: %s", (_what, count, field, expected) => {
    const tools = Array.from({ length: count }, () => ({}));
    const options = count === 0 ? {} : { request: { tools } };
    expect(rename(createFields(options).forObject(), field)).toBe(expected);
  });
});
