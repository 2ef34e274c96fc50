import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { type Tool, ToolSchema } from "../../src/gen/outrigger/v1/tool_pb.ts";
import {
  ANTHROPIC_TOOL_NAMES,
  checkToolNames,
  GEMINI_TOOL_NAMES,
  OPENAI_TOOL_NAMES,
  type ToolNameRule,
} from "../../src/kit/tool-names.ts";
import { InvalidRequestError } from "../../src/spec/errors.ts";

const tool = (name: string): Tool => create(ToolSchema, { tool: { case: "function", value: { name } } });
const hosted = create(ToolSchema, {
  tool: { case: "hosted", value: { provider: "p", configJson: '{"name":"any thing"}' } },
});

function wrongIn(tools: readonly Tool[], rule: ToolNameRule): string[] {
  try {
    checkToolNames(tools, rule);
    return [];
  } catch (error) {
    if (!(error instanceof InvalidRequestError)) throw error;
    return error.violations.map(({ field, description }) => `${field}: ${description}`);
  }
}

describe("checkToolNames()", () => {
  it.each([
    [
      "OpenAI",
      OPENAI_TOOL_NAMES,
      ["a", "get_weather", "9-lives", "x".repeat(64)],
      ["", "a.b", "é", "x".repeat(65)],
    ],
    ["Anthropic", ANTHROPIC_TOOL_NAMES, ["a", "-", "x".repeat(128)], ["", "a b", "a\n", "x".repeat(129)]],
    [
      "Gemini",
      GEMINI_TOOL_NAMES,
      ["_", "ns.look:up-2", "x".repeat(128)],
      ["", "1a", "-a", "a/b", "x".repeat(129)],
    ],
  ])("knows the names that %s takes", (_name, rule, taken, refused) => {
    expect(wrongIn(taken.map(tool), rule)).toEqual([]);
    expect(wrongIn(refused.map(tool), rule)).toHaveLength(refused.length);
  });

  it("names the field, what was found and what was expected", () => {
    expect(wrongIn([tool("look"), hosted, tool("look up")], OPENAI_TOOL_NAMES)).toEqual([
      'tools[2].function.name: expected 1 to 64 letters, digits, "_" or "-", found "look up"',
    ]);
  });

  it("shows no more of a name, and of many names, than one can read", () => {
    const tools = Array.from({ length: 200 }, (_, index) => tool(`${index} ${"x".repeat(500)}`));
    const wrong = wrongIn(tools, OPENAI_TOOL_NAMES);
    expect(wrong).toHaveLength(10);
    expect(wrong.every((line) => line.length < 160)).toBe(true);
  });
});
