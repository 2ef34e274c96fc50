/** Paths of a request to the engine -> paths of the body that it was read from. */
import { type JsonObject, objectsIn } from "../../kit/json/json.ts";
import type { MessagePaths } from "./message-drafts.ts";

/** The origins of a request's parts in the body. */
export interface RequestPaths {
  readonly messages: readonly MessagePaths[];
  readonly tools: readonly string[];
  readonly servers: readonly string[];
}

/**
 * Returns the paths of the contract's tools in `tools` of the body, as far as they can be derived: a namespace counts
 * as its tools, and an MCP server as none.
 */
export function getToolPaths(tools: readonly JsonObject[]): readonly string[] {
  return tools.flatMap(({ type, tools: members }, index) => {
    if (type === "mcp") return [];
    if (type !== "namespace") return [`tools[${index}]`];
    return objectsIn(members).map((_, member) => `tools[${index}].tools[${member}]`);
  });
}

/** Fields of the contract that have one counterpart, by the prefix of their paths. */
const FIELDS: readonly (readonly [string, string])[] = [
  ["max_tokens", "max_output_tokens"],
  ["reasoning_effort", "reasoning.effort"],
  ["response_format.schema_json", "text.format.schema"],
  ["response_format", "text.format"],
  ["tool_choice.parallel", "parallel_tool_calls"],
  ["tool_choice", "tool_choice"],
  ["limits.max_tool_calls", "max_tool_calls"],
  ["previous_run_id", "previous_response_id"],
  ["thread_id", "conversation"],
  ["system", "instructions"],
  ["provider", "model"],
  ["messages", "input"],
  ["input", "input"],
  ["approvals", "input"],
  ["mcp_servers", "tools"],
];

const ELEMENT = /^(messages|input|tools|mcp_servers)\[(\d+)\](?:\.content\[(\d+)\])?/;

/**
 * Returns the path in the body.
 * @param field Path with the names of the contract: `options.request.messages[2].content[0].image`.
 */
export function toBodyPath(field: string, paths: RequestPaths): string {
  const inner = field
    .replace(/^(options\.)?(request\.)?/, "")
    // Settings without a field in the contract are passed to the provider under their names.
    .replace(/^provider_options_json\["[^"]*"\]\.?/, "");
  const [, list, index, part] = ELEMENT.exec(inner) ?? [];
  const element = list === undefined ? undefined : elementPath(list, Number(index), part, paths);
  if (element !== undefined) return element;
  const { path, pointer } = splitPointer(inner);
  const known = FIELDS.find(
    ([name]) => path === name || path.startsWith(`${name}.`) || path.startsWith(`${name}[`),
  );
  return known === undefined ? inner : known[1] + pointer;
}

/** Splits the path of a location in a JSON Schema: `response_format.schema_json#/properties/a`. */
export function splitPointer(field: string): { readonly path: string; readonly pointer: string } {
  const end = field.includes("#") ? field.indexOf("#") : field.length;
  return { path: field.slice(0, end), pointer: field.slice(end) };
}

function elementPath(
  list: string,
  index: number,
  part: string | undefined,
  paths: RequestPaths,
): string | undefined {
  if (list === "tools") return paths.tools[index];
  if (list === "mcp_servers") return paths.servers[index];
  const message = paths.messages[index];
  return message?.parts[Number(part)] ?? message?.path;
}
