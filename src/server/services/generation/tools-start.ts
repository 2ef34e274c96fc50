import { quote, Violations } from "../../../client/violations.ts";
import type { RunToolsStart } from "../../../gen/outrigger/v1/generation_service_pb.ts";
import type { Tool } from "../../../gen/outrigger/v1/tool_pb.ts";
import type { GenerationCall, NamedGeneration } from "./generation-call.ts";
import { ToolArguments } from "./tool-arguments.ts";

/** A tool loop that a caller has opened. */
export interface ToolsStart {
  readonly generation: NamedGeneration;
  /** Names of the tools that the caller executes in the loop. */
  readonly active: ReadonlySet<string>;
  readonly toolArguments: ToolArguments;
  /** Whether calls with invalid arguments are sent to the caller for repair. */
  readonly repairCalls: boolean;
  /** Longest wait for one tool in milliseconds. 0 means no limit. */
  readonly perToolMs: number;
}

/** See `GenerationTimeouts.per_tool`. */
const DEFAULT_PER_TOOL_MS = 300_000;

/**
 * Reads the message that opens a tool loop, which is the field `start` of the caller's message.
 * @throws InvalidRequestError with the invalid fields.
 */
export async function readStart(call: GenerationCall, start: RunToolsStart): Promise<ToolsStart> {
  const generation = await call.read(start.options, "start.options");
  const { tools } = generation.request;
  const names = new Set(tools.flatMap(executableName));
  const violations = new Violations();
  for (const [index, name] of start.passiveTools.entries())
    if (!names.has(name)) {
      const expected = "expected a function or custom tool of start.options.request.tools";
      violations.add(`start.passive_tools[${index}]`, `${expected}, found ${quote(name)}`);
    }
  violations.throwIfAny();
  for (const name of start.passiveTools) names.delete(name);
  return {
    generation,
    active: names,
    toolArguments: new ToolArguments(tools, "start.options.request.tools"),
    repairCalls: start.repairCalls,
    perToolMs: generation.perToolMs ?? DEFAULT_PER_TOOL_MS,
  };
}

function executableName({ tool }: Tool): string[] {
  return tool.case === "function" || tool.case === "custom" ? [tool.value.name] : [];
}
