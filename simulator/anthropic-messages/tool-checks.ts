import type { Tool } from "../../src/wire/anthropic-messages/request.ts";
import { cacheControl } from "./block-checks.ts";
import {
  anything,
  array,
  boolean,
  type Check,
  dictionary,
  literal,
  nullable,
  object,
  openObject,
  required,
  string,
  tagged,
} from "./check.ts";
import type { CreateRequest } from "./create-request.ts";
import { invalidRequest } from "./problem.ts";
import { checkClosedSchema } from "./schema-checks.ts";
import { getName } from "./tool-name.ts";

/** Tools that the provider runs or defines. Their fields are not checked. */
const typedTools: readonly (Tool["type"] | "agent_toolset_20260401")[] = [
  "web_search_20250305",
  "web_search_20260209",
  "web_search_20260318",
  "web_fetch_20250910",
  "web_fetch_20260209",
  "web_fetch_20260309",
  "web_fetch_20260318",
  "code_execution_20250522",
  "code_execution_20250825",
  "code_execution_20260120",
  "code_execution_20260521",
  "tool_search_tool_bm25_20251119",
  "tool_search_tool_regex_20251119",
  "bash_20250124",
  "text_editor_20250124",
  "text_editor_20250429",
  "text_editor_20250728",
  "memory_20250818",
  "computer_20250124",
  "computer_20251124",
  "computer_toolset_20260801",
  "browser_toolset_20260801",
  "agent_toolset_20260401",
  "advisor_20260301",
  "mcp_toolset",
];

/** Checks one of `tools`. A tool without a type is the caller's. */
export const tool: Check = tagged(
  {
    custom: object({
      type: anything,
      name: required(string({ pattern: /^[a-zA-Z0-9_-]{1,128}$/ })),
      description: string(),
      input_schema: required(openObject({ type: required(literal(["object"])) })),
      strict: nullable(boolean),
      cache_control: cacheControl,
      defer_loading: nullable(boolean),
      eager_input_streaming: nullable(boolean),
      input_examples: nullable(array(dictionary)),
      allowed_callers: nullable(array(string())),
    }),
    ...Object.fromEntries(typedTools.map((type) => [type, openObject({ cache_control: cacheControl })])),
  },
  "custom",
);

const parallelFields = { type: anything, disable_parallel_tool_use: nullable(boolean) };

/** Checks `tool_choice`. */
export const toolChoice: Check = tagged({
  auto: object(parallelFields),
  any: object(parallelFields),
  tool: object({ ...parallelFields, name: required(string({ minimum: 1 })) }),
  none: object({ type: anything }),
});

/** Checks the parameters about tools together. Throws the problem that Anthropic would find. */
export function checkToolUse(request: CreateRequest): void {
  const tools = request.tools ?? [];
  const names = tools.map(getName).filter((name) => name !== undefined);
  if (new Set(names).size < names.length) throw invalidRequest("tools: Tool names must be unique.");
  tools.forEach((each, index) => {
    if ("input_schema" in each && each.strict === true)
      checkClosedSchema(each.input_schema, `tools.${index}.custom.input_schema`);
  });
  checkChoice(request, names);
}

function checkChoice({ tool_choice: choice, thinking }: CreateRequest, names: readonly string[]): void {
  if (choice === undefined || choice === null) return;
  const isForced = choice.type === "any" || choice.type === "tool";
  if (isForced && names.length === 0) {
    throw invalidRequest("tool_choice: tool_choice may only be specified while providing tools");
  }
  if (choice.type === "tool" && !names.includes(choice.name)) {
    throw invalidRequest(`Tool '${choice.name}' not found in provided tools`);
  }
  if (isForced && thinking?.type === "enabled") {
    throw invalidRequest("Thinking may not be enabled when tool_choice forces tool use.");
  }
}
