import { cacheControl } from "./block-checks.ts";
import {
  anything,
  array,
  boolean,
  type Check,
  dictionary,
  nullable,
  object,
  oneOf,
  openObject,
  required,
  string,
  tagged,
} from "./check.ts";
import { invalidRequest } from "./problem.ts";
import { checkClosedSchema } from "./schema-checks.ts";
import type { CreateRequest } from "./wire.ts";

/** Tools that the provider runs or knows itself. They are taken as they are. */
const typedTools = [
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

/** Checks one of `tools`. One without a type is a tool of the caller. */
export const tool: Check = tagged(
  {
    custom: object({
      type: anything,
      name: required(string({ pattern: /^[a-zA-Z0-9_-]{1,128}$/ })),
      description: string(),
      input_schema: required(openObject({ type: required(oneOf(["object"])) })),
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

const parallelSwitch = { type: anything, disable_parallel_tool_use: nullable(boolean) };

/** Checks `tool_choice`. */
export const toolChoice: Check = tagged({
  auto: object(parallelSwitch),
  any: object(parallelSwitch),
  tool: object({ ...parallelSwitch, name: required(string({ minimum: 1 })) }),
  none: object({ type: anything }),
});

/** Checks what the parameters about tools say together. Throws the problem that Anthropic would find. */
export function checkToolUse(request: CreateRequest): void {
  const tools = request.tools ?? [];
  const names = tools.map(({ name }) => name).filter((name) => name !== undefined);
  if (new Set(names).size < names.length) throw invalidRequest("tools: Tool names must be unique.");
  tools.forEach(({ strict, input_schema: schema }, index) => {
    if (strict === true) checkClosedSchema(schema, `tools.${index}.custom.input_schema`);
  });
  checkChoice(request, names);
}

function checkChoice({ tool_choice: choice, thinking }: CreateRequest, names: readonly string[]): void {
  if (choice === undefined || choice === null) return;
  const forces = choice.type === "any" || choice.type === "tool";
  if (forces && names.length === 0) {
    throw invalidRequest("tool_choice: tool_choice may only be specified while providing tools");
  }
  if (choice.type === "tool" && !names.includes(choice.name ?? "")) {
    throw invalidRequest(`Tool '${choice.name}' not found in provided tools`);
  }
  if (forces && thinking?.type === "enabled") {
    throw invalidRequest("Thinking may not be enabled when tool_choice forces tool use.");
  }
}
