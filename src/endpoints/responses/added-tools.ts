/**
 * Tools that items of the input add to those of the request: new ones, and those that a search found. Only OpenAI's API
 * takes such items; a model of another API gets the tools with all others.
 */
import { asObject, type JsonObject } from "../../kit/json/json.ts";
import type { InputItem } from "../../wire/openai-responses/request.ts";
import { type Element, Fields } from "../openai/fields.ts";

const TYPES: ReadonlySet<unknown> = new Set<InputItem["type"]>(["additional_tools", "tool_search_output"]);

/** Returns the tools that items of the input add. */
export function listAddedTools(fields: Fields): readonly Element[] {
  const { input } = fields.value;
  const adds = (item: unknown) => TYPES.has(asObject(item)?.type);
  if (!Array.isArray(input) || !input.some(adds)) return [];
  const items = (fields.list("input") ?? []).filter(({ value }) => adds(value));
  return items.flatMap((item) => Fields.of(item).list("tools") ?? []);
}

/** Returns tools as the answers need them, to give calls the caller's names: without the secrets of MCP servers. */
export function toNamedTools(tools: readonly Element[]): readonly JsonObject[] {
  return tools.map((tool) => Fields.of(tool).value).filter(({ type }) => type !== "mcp");
}
