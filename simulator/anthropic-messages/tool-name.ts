import type { Tool } from "../../src/wire/anthropic-messages/request.ts";

/** Returns the name of a tool; undefined for a toolset, which has none. */
export function getName(tool: Tool): string | undefined {
  return "name" in tool ? tool.name : undefined;
}
