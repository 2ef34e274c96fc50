import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { developerMessage, systemMessage, textOf, userMessage } from "../../../src/core/message.ts";
import {
  RequestSchema,
  ResponseFormat_Type,
  ToolChoice_Mode,
} from "../../../src/gen/outrigger/v1/request_pb.ts";
import {
  chooseStrategies,
  type ObjectFormat,
  type ObjectStrategy,
} from "../../../src/generation/objects/object-format.ts";
import { objectRequest } from "../../../src/generation/objects/object-request.ts";

const schema = { type: "object", properties: { name: { type: "string" } } };
const request = create(RequestSchema, {
  model: "m-1",
  messages: [systemMessage("Be brief."), developerMessage("No slang."), userMessage("Who?")],
});

function getFormat(strategy: ObjectStrategy, fields: Partial<ObjectFormat> = {}): ObjectFormat {
  return { schemaJson: JSON.stringify(schema), schema, name: "person", description: "", strategy, ...fields };
}

describe("objectRequest()", () => {
  it("asks for the provider's structured output, held to the schema", () => {
    const { responseFormat, messages } = objectRequest(request, getFormat("native"));
    expect(responseFormat).toMatchObject({
      type: ResponseFormat_Type.JSON_SCHEMA,
      name: "person",
      schemaJson: JSON.stringify(schema),
      strict: true,
    });
    expect(messages).toBe(request.messages);
  });

  it("puts the description into a schema that has none", () => {
    const described = objectRequest(request, getFormat("native", { description: "a person" }));
    expect(JSON.parse(described.responseFormat?.schemaJson ?? "")).toEqual({
      description: "a person",
      ...schema,
    });
    const withDescription = { description: "kept", ...schema };
    const kept = objectRequest(
      request,
      getFormat("native", {
        description: "a person",
        schema: withDescription,
        schemaJson: JSON.stringify(withDescription),
      }),
    );
    expect(kept.responseFormat?.schemaJson).toBe(JSON.stringify(withDescription));
  });

  it("makes the model call a tool whose parameters are the schema", () => {
    const { tools, toolChoice } = objectRequest(request, getFormat("tool", { description: "a person" }));
    const value = { name: "person", description: "a person", parametersJson: JSON.stringify(schema) };
    expect(tools).toMatchObject([{ tool: { case: "function", value } }]);
    expect(toolChoice).toMatchObject({ mode: ToolChoice_Mode.NAMED, toolName: "person", parallel: false });
  });

  it("puts the schema behind the leading system messages", () => {
    const { messages } = objectRequest(request, getFormat("prompt", { description: "a person" }));
    expect(messages.map(textOf)).toEqual([
      "Be brief.",
      "No slang.",
      expect.stringMatching(/JSON Schema below .*a person\n\{"type":"object"/s),
      "Who?",
    ]);
    expect(request.messages).toHaveLength(3);
  });
});

describe("chooseStrategies()", () => {
  const cases: [
    string,
    { native: boolean; tools: boolean; effort?: string; type?: string },
    ObjectStrategy[],
  ][] = [
    ["a model with structured output", { native: true, tools: true }, ["native", "tool"]],
    ["a model with structured output alone", { native: true, tools: false }, ["native", "prompt"]],
    ["a model without it that can be made to call a tool", { native: false, tools: true }, ["tool"]],
    ["a model that has neither", { native: false, tools: false }, ["prompt"]],
    [
      "a request that names an effort of reasoning",
      { native: false, tools: true, effort: "high" },
      ["prompt"],
    ],
    ["a schema that is not of an object", { native: true, tools: true, type: "array" }, ["native", "tool"]],
  ];
  it.each(cases)("for %s", (_name, { native, tools, effort = "", type = "object" }, strategy) => {
    const support = { supportsJsonSchema: () => native, supportsToolChoice: () => tools };
    const asked = { ...request, reasoningEffort: effort };
    expect(chooseStrategies(support, asked, { type })).toEqual(strategy);
  });

  it("takes a client that says nothing for one that has everything", () => {
    expect(chooseStrategies({}, request, schema)[0]).toBe("native");
  });

  it("puts a schema that cannot be wrapped into the prompt", () => {
    const list = { type: "array", items: { $ref: "#" } };
    expect(chooseStrategies({}, request, list)).toEqual(["prompt"]);
  });
});
