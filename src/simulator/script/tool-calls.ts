import type { CallableTool } from "./prompt.ts";
import { instanceSourceOf, type Scene } from "./scene.ts";
import { type InstanceSource, instanceOfSchema } from "./schema-instance.ts";
import type { ToolCallPart } from "./turn.ts";

/** Whether a prompt leaves the model no choice but to call a tool of the caller. */
export function mustCallTool(scene: Scene): boolean {
  const { toolChoice, tools, toolResults } = scene.prompt;
  if (tools.length === 0 || toolResults.length > 0) return false;
  return toolChoice.mode === "required" || toolChoice.mode === "named";
}

/** Whether a script that likes to call tools does so now, or answers because it may not or has its results. */
export function shouldCallTool(scene: Scene): boolean {
  const { toolChoice, tools, toolRounds } = scene.prompt;
  if (tools.length === 0 || toolChoice.mode === "none") return false;
  return toolRounds < (scene.options.rounds ?? 1);
}

/**
 * Calls the tools of a prompt: as many calls as the option `calls` says (1 unless said), in the order of the tools and
 * from the first again when there are more calls than tools; only the named tool when one is named.
 */
export function callTools(scene: Scene): ToolCallPart[] {
  const { toolChoice, parallelToolCalls } = scene.prompt;
  const tools =
    toolChoice.mode === "named"
      ? scene.prompt.tools.filter((tool) => tool.name === toolChoice.name)
      : scene.prompt.tools;
  const wanted = tools.length === 0 ? 0 : (scene.options.calls ?? 1);
  const count = parallelToolCalls ? wanted : Math.min(wanted, 1);
  const source = instanceSourceOf(scene);
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
