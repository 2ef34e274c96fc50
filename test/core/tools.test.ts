import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { ConfigurationError, InvalidToolCallError } from "../../src/core/errors.ts";
import { textOf } from "../../src/core/message.ts";
import { imagePart, textPart } from "../../src/core/parts.ts";
import {
  argumentsOf,
  customTool,
  functionTool,
  hostedTool,
  toolChoice,
  toolInputOf,
  toolResult,
} from "../../src/core/tools.ts";
import { type ContentPart, type ToolCall, ToolCallSchema } from "../../src/gen/outrigger/v1/message_pb.ts";
import { ToolChoice_Mode } from "../../src/gen/outrigger/v1/request_pb.ts";
import { Grammar_Syntax } from "../../src/gen/outrigger/v1/tool_pb.ts";

const City = z.object({ city: z.string() });

function createCall(argumentsJson: string): ToolCall {
  return create(ToolCallSchema, {
    id: "call_1",
    name: "look",
    input: { case: "argumentsJson", value: argumentsJson },
  });
}

/** The parts of a tool result. */
function toResult(result: unknown): { content: ContentPart[]; failed: boolean } {
  const part = toolResult("call_1", result).content[0]?.part;
  if (part?.case !== "toolResult") throw new Error("the message has no tool result");
  return part.value;
}

describe("functionTool()", () => {
  it("writes the parameters as JSON text, with its keys in their order", () => {
    const parameters = { type: "object", properties: { z: { type: "string" }, a: {} } };
    const { tool } = functionTool({ name: "look", description: "Looks.", parameters, strict: true });
    const parametersJson = '{"type":"object","properties":{"z":{"type":"string"},"a":{}}}';
    expect(tool).toMatchObject({
      case: "function",
      value: { name: "look", description: "Looks.", strict: true, parametersJson },
    });
  });

  it("leaves everything but the name at the contract's default", () => {
    const { tool } = functionTool({ name: "now" });
    expect(tool.value).toMatchObject({ description: "", parametersJson: "", strict: false });
  });

  it("takes a schema of a library that can write it as JSON Schema", () => {
    const { tool } = functionTool({ name: "look", parameters: City });
    const schema = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
    expect(tool.case === "function" && JSON.parse(tool.value.parametersJson)).toEqual(schema);
  });

  it("rejects a schema of a library that cannot, and names the library", () => {
    const parameters = { "~standard": { version: 1, vendor: "acme", validate: () => ({ value: 1 }) } };
    const make = () => functionTool({ name: "look", parameters });
    expect(make).toThrow(ConfigurationError);
    expect(make).toThrow("a schema of acme cannot be written as JSON Schema");
  });
});

describe("the constructors of other tools", () => {
  it("make a custom tool, with or without a grammar", () => {
    expect(customTool({ name: "run" }).tool).toMatchObject({ case: "custom", value: { name: "run" } });
    const { tool } = customTool({ name: "run", grammar: { syntax: "regex", definition: "[a-z]+" } });
    const grammar = { syntax: Grammar_Syntax.REGEX, definition: "[a-z]+" };
    expect(tool.value).toMatchObject({ name: "run", grammar });
  });

  it("make a hosted tool from the provider's object", () => {
    const { tool } = hostedTool({ provider: "openai", config: { type: "web_search" } });
    expect(tool).toMatchObject({
      case: "hosted",
      value: { provider: "openai", configJson: '{"type":"web_search"}' },
    });
  });
});

describe("toolChoice()", () => {
  it.each([
    ["auto", ToolChoice_Mode.AUTO],
    ["none", ToolChoice_Mode.NONE],
    ["required", ToolChoice_Mode.REQUIRED],
  ] as const)("takes %s", (choice, mode) => {
    expect(toolChoice(choice)).toMatchObject({ mode, toolName: "" });
  });

  it("names one tool, and limits the model to one call", () => {
    const choice = toolChoice({ name: "look" }, { parallel: false });
    expect(choice).toMatchObject({ mode: ToolChoice_Mode.NAMED, toolName: "look", parallel: false });
    expect(toolChoice("auto").parallel).toBeUndefined();
  });
});

describe("toolResult()", () => {
  it.each<[string, unknown, string]>([
    ["a text", "sunny", "sunny"],
    ["an object", { degrees: 21, at: ["here"] }, '{"degrees":21,"at":["here"]}'],
    ["a list", [1, 2], "[1,2]"],
    ["an empty list", [], "[]"],
    ["a number", 21, "21"],
    ["null", null, "null"],
    ["a number beyond the precision of a double", 12345678901234567890n, "12345678901234567890"],
    ["an object that looks like a part in one field", { part: "left" }, '{"part":"left"}'],
  ])("sends %s", (_what, result, text) => {
    expect(textOf({ ...toolResult("c", ""), content: toResult(result).content })).toBe(text);
  });

  it("sends no content for a tool that returns nothing", () => {
    expect(toResult(undefined).content).toEqual([]);
  });

  it("sends parts as parts", () => {
    const image = imagePart("https://example.com/a.png");
    expect(toResult(image).content).toEqual([image]);
    expect(toResult([textPart("See:"), image]).content).toEqual([textPart("See:"), image]);
    expect(toResult({ part: { case: "text", value: "hi" } }).content).toEqual([textPart("hi")]);
  });

  it("marks an Error as a failure and sends its message", () => {
    const { content, failed } = toResult(new Error("no such city"));
    expect([content, failed]).toEqual([[textPart("no such city")], true]);
    expect(toResult("fine").failed).toBe(false);
  });

  it("names the call by itself or by its id", () => {
    expect(toolResult(createCall("{}"), 1)).toEqual(toolResult("call_1", 1));
  });

  it("throws if a value refers to itself", () => {
    const circle: { self?: unknown } = {};
    circle.self = circle;
    expect(() => toolResult("c", circle)).toThrow(TypeError);
  });
});

describe("argumentsOf()", () => {
  it("parses the arguments", () => {
    expect(argumentsOf(createCall('{"city":"Paris"}'))).toEqual({ ok: true, value: { city: "Paris" } });
  });

  it("reads no arguments as an empty object", () => {
    expect(argumentsOf(createCall(""))).toEqual({ ok: true, value: {} });
  });

  it.each([
    ["no JSON", '{"city":', "are not valid JSON"],
    ["a list", "[1]", "are not a JSON object"],
    ["null", "null", "are not a JSON object"],
  ])("gives an error for %s, without the text", (_what, text, message) => {
    const result = argumentsOf(createCall(text));
    if (result.ok) throw new Error("the arguments were accepted");
    expect(result.error).toBeInstanceOf(InvalidToolCallError);
    expect(result.error.message).toBe(`the arguments of the call to "look" ${message}`);
  });

  it("gives an error for no arguments if the answer was stopped in the call", () => {
    const result = argumentsOf({ ...createCall(""), argumentsInvalid: true });
    expect(!result.ok && result.error.message).toBe(
      'the arguments of the call to "look" are missing: the answer was stopped before the model wrote them',
    );
  });

  it("checks the arguments by a schema and gives them its type", () => {
    const result = argumentsOf(createCall('{"city":"Paris","extra":1}'), City);
    expect(result.ok && result.value.city).toBe("Paris");
    const wrong = argumentsOf(createCall('{"city":7}'), City);
    expect(!wrong.ok && wrong.error.message).toMatch(/are not valid for the schema: city: .*string/);
  });

  it("names five of many issues", () => {
    const schema = z.object(Object.fromEntries([..."abcdefg"].map((key) => [key, z.string()])));
    const wrong = argumentsOf(createCall("{}"), schema);
    expect(!wrong.ok && wrong.error.message).toMatch(/; and 2 more$/);
  });

  it("refuses the free text of a custom tool, which toolInputOf() reads", () => {
    const call = create(ToolCallSchema, { name: "run", input: { case: "text", value: "ls" } });
    expect(argumentsOf(call).ok).toBe(false);
    expect(toolInputOf(call)).toBe("ls");
  });

  it("throws for a schema that checks asynchronously", () => {
    const schema = {
      "~standard": { version: 1, vendor: "acme", validate: async () => ({ value: 1 }) },
    } as const;
    expect(() => argumentsOf(createCall("{}"), schema)).toThrow(ConfigurationError);
  });
});

describe("The name of a tool", () => {
  it.each(["get weather", "", "wetter_für", "a".repeat(129), undefined])("is checked at once: %s", (name) => {
    const input = { name: name as string };
    expect(() => functionTool(input)).toThrow('name: expected 1 to 128 letters, digits, "_" or "-", found ');
    expect(() => customTool({ ...input, execute: () => "" })).toThrow("name: expected 1 to 128 letters");
  });
});
