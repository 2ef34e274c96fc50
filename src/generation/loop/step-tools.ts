import { InternalError } from "../../core/errors.ts";
import type { Message, ToolCall, ToolResult } from "../../gen/outrigger/v1/message_pb.ts";
import type { Tool } from "../../gen/outrigger/v1/tool_pb.ts";
import { untilAborted } from "../../kit/call/linked-signal.ts";
import { asObject, tryReadJson } from "../../kit/json/json.ts";
import { failedResult } from "./failed-result.ts";

/** Executes the tool calls of one step. */
export interface ToolExecutor {
  /**
   * Whether the loop executes calls of this tool. Calls of other tools that the request defines are passive: they end
   * the loop. A call of a tool that the request does not define gets an error result.
   */
  isActive(toolName: string): boolean;
  /**
   * Returns the results in the order of the calls, one for each. Rejects only if the signal is aborted, or with an
   * SDKError that ends the loop.
   */
  execute(calls: readonly ToolCall[], context: StepContext): Promise<readonly ToolOutcome[]>;
}

/** Executes nothing: all tools are left to the caller. */
export const NO_TOOLS: ToolExecutor = { isActive: () => false, execute: async () => [] };

/** The step whose tools are executed. */
export interface StepContext {
  /** Number of the step, from 1. */
  readonly step: number;
  /** The conversation, including the assistant message with the calls. It grows while the loop continues. */
  readonly messages: readonly Message[];
  /** Ends the loop. */
  readonly signal: AbortSignal;
}

/** The outcome of a tool call. */
export interface ToolOutcome {
  readonly result: ToolResult;
  /** The call as it was executed, if its arguments were repaired. */
  readonly repairedCall?: ToolCall | undefined;
}

/** The outcomes of the calls of a step. */
export interface StepOutcomes {
  /** One for each call that is not passive, in the order of the calls. */
  readonly outcomes: readonly ToolOutcome[];
  /** Whether some calls are left for the caller. */
  readonly hasPassive: boolean;
}

/** Maximum number of defined tools that the error result for an unknown one lists. */
const MAX_LISTED = 32;

/** The tools of a loop. */
export class StepTools {
  readonly #executor: ToolExecutor;
  readonly #defined: ReadonlySet<string>;

  constructor(tools: readonly Tool[], executor: ToolExecutor) {
    this.#executor = executor;
    this.#defined = new Set(tools.flatMap(listNames));
  }

  /**
   * Executes the calls of active tools, and answers calls of unknown ones. Rejects at once if the signal is aborted.
   */
  async execute(calls: readonly ToolCall[], context: StepContext): Promise<StepOutcomes> {
    const active = calls.filter(({ name }) => this.#executor.isActive(name));
    const executed = await this.#executeActive(active, context);
    if (active.length === calls.length) return { outcomes: executed, hasPassive: false };
    const byCall = new Map<ToolCall, ToolOutcome>();
    for (const [index, outcome] of executed.entries()) {
      const call = active[index];
      if (call !== undefined) byCall.set(call, outcome);
    }
    for (const call of calls)
      if (!byCall.has(call) && !this.#defined.has(call.name))
        byCall.set(call, { result: failedResult(call, this.#unknownTool(call)) });
    const outcomes = calls.flatMap((call) => byCall.get(call) ?? []);
    return { outcomes, hasPassive: outcomes.length < calls.length };
  }

  async #executeActive(calls: readonly ToolCall[], context: StepContext): Promise<readonly ToolOutcome[]> {
    if (calls.length === 0) return [];
    const outcomes = await untilAborted(this.#executor.execute(calls, context), context.signal);
    if (outcomes.length === calls.length) return outcomes;
    throw new InternalError(`expected ${calls.length} tool results, found ${outcomes.length}`);
  }

  #unknownTool({ name }: ToolCall): string {
    const names = [...this.#defined].slice(0, MAX_LISTED).join(", ");
    return `there is no tool ${JSON.stringify(name.slice(0, 64))}; expected one of ${names || "none"}`;
  }
}

/**
 * Returns the names by which a model may call a tool. Some of the tools that providers define are executed by the
 * caller, too.
 */
function listNames({ tool }: Tool): string[] {
  switch (tool.case) {
    case "function":
    case "custom":
      return [tool.value.name];
    case "hosted": {
      const { name, type } = asObject(tryReadJson(tool.value.configJson)) ?? {};
      return [name, type].filter((word) => typeof word === "string");
    }
    default:
      return [];
  }
}
