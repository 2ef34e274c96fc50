import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { isOpenAiItem } from "../../../src/endpoints/responses/item-types.ts";
import { NativePartSchema } from "../../../src/gen/outrigger/v1/message_pb.ts";
import openai from "../schemas/openai.json" with { type: "json" };

/** Items that the contract has as parts of its own. */
const UNIFIED = ["message", "function_call", "custom_tool_call", "reasoning"];

/** The types of items that OpenAI's schema allows in the output of a response. */
function listTypes(): string[] {
  const schemas: Readonly<Record<string, object>> = openai.schemas;
  return openai.schemas.OutputItem.oneOf.flatMap(({ $ref }) => {
    const { properties } = schemas[$ref.split("/").at(-1) ?? ""] as {
      properties?: { type?: { enum?: string[] } };
    };
    return properties?.type?.enum ?? [];
  });
}

function isItem(kind: string, data: object = { id: "item_1" }): boolean {
  return isOpenAiItem(create(NativePartSchema, { kind, dataJson: JSON.stringify(data) }));
}

describe("isOpenAiItem()", () => {
  it.each(listTypes().filter((type) => !UNIFIED.includes(type)))("knows %s from OpenAI's schema", (type) => {
    expect(isItem(type)).toBe(true);
  });

  it("takes compaction without an id for a block of Anthropic", () => {
    expect(isItem("compaction")).toBe(true);
    expect(isItem("compaction", { content: "a summary" })).toBe(false);
  });

  it.each([...UNIFIED, "server_tool_use", "web_search_tool_result", ""])("does not know %j", (type) => {
    expect(isItem(type)).toBe(false);
  });
});
