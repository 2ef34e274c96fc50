import type { InstanceSource } from "./instance-source.ts";
import type { CallableTool } from "./prompt.ts";
import { instanceOfSchema } from "./schema-instance.ts";
import { instanceSourceOf, type ScriptInput } from "./script-input.ts";
import type { ToolCallPart } from "./turn.ts";

/** Whether the model must call one of the caller's tools. */
export function mustCallTool(input: ScriptInput): boolean {
  const { toolChoice, tools, toolResults } = input.prompt;
  if (tools.length === 0 || toolResults.length > 0) return false;
  return toolChoice.mode === "required" || toolChoice.mode === "named";
}

/** Whether a script that calls tools calls them now, or answers because it must not or already has the results. */
export function shouldCallTool(input: ScriptInput): boolean {
  const { toolChoice, tools, toolRounds } = input.prompt;
  if (tools.length === 0 || toolChoice.mode === "none") return false;
  return toolRounds < (input.options.rounds ?? 1);
}

/**
 * Calls the tools of a prompt: as many calls as the option `calls` says (default 1), in the order of the tools and
 * from the first again when there are more calls than tools; only the named tool when one is named.
 */
export function callTools(input: ScriptInput): ToolCallPart[] {
  const { toolChoice, parallelToolCalls } = input.prompt;
  const tools =
    toolChoice.mode === "named"
      ? input.prompt.tools.filter((tool) => tool.name === toolChoice.name)
      : input.prompt.tools;
  const wanted = tools.length === 0 ? 0 : (input.options.calls ?? 1);
  const count = parallelToolCalls ? wanted : Math.min(wanted, 1);
  const source = instanceSourceOf(input);
  return Array.from({ length: count }, (_, index) => tools[index % tools.length])
    .filter((tool) => tool !== undefined)
    .map((tool) => callTool(tool, source));
}

function callTool(tool: CallableTool, source: InstanceSource): ToolCallPart {
  return {
    kind: "tool_call",
    name: tool.name,
    input: tool.freeform ? writeFreeInput(source) : JSON.stringify(instanceOfSchema(tool.parameters, source)),
    freeform: tool.freeform,
    firstDelta: 0,
    cut: false,
  };
}

function writeFreeInput(source: InstanceSource): string {
  return `print("${source.nextWord()} ${source.nextWord()}")\n`;
}
