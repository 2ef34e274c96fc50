import { create } from "@bufbuild/protobuf";
import { AbortError, InternalError } from "../core/errors.ts";
import { type ToolCall, type ToolResult, ToolResultSchema } from "../gen/outrigger/v1/message_pb.ts";
import {
  type ServerTool,
  ServerToolFinishSchema,
  ServerToolStartSchema,
} from "../gen/outrigger/v1/run_pb.ts";
import { failedResult } from "../generation/failed-result.ts";
import { untilAborted } from "../generation/linked-signal.ts";
import type { StepContext, ToolExecutor, ToolOutcome } from "../generation/step-tools.ts";
import { abortErrorOf } from "../kit/http/abort.ts";
import type { Gate } from "./gate.ts";
import type { RunEventValue } from "./run-event.ts";
import type { OpenedServerTools } from "./server-tools.ts";

/** How the tools of a run are executed. */
export interface ServerToolOptions {
  readonly tools: OpenedServerTools;
  /** Limits the calls of all runs. */
  readonly gate: Gate;
  /** Time limit of a call in milliseconds. Undefined: the configured one. */
  readonly timeoutMs: number | undefined;
  /** Takes an event of a step. */
  readonly announce: (step: number, event: RunEventValue) => void;
}

/**
 * Executes the calls of server tools, all of a step at the same time. Their events come one tool after the other, in the
 * order of the calls. Calls that need approval are passive: they end the loop.
 */
export class ServerToolExecutor implements ToolExecutor {
  readonly #options: ServerToolOptions;

  constructor(options: ServerToolOptions) {
    this.#options = options;
  }

  isActive(toolName: string): boolean {
    const { tools } = this.#options;
    const tool = tools.find(toolName);
    return tool !== undefined && !tools.needsApproval(tool);
  }

  async execute(calls: readonly ToolCall[], { step, signal }: StepContext): Promise<readonly ToolOutcome[]> {
    const results = await this.#executeAll(calls, { step, isApproved: false }, signal);
    return results.map((result) => ({ result }));
  }

  /** Executes calls that the caller has approved, outside of a step. The results, in the order of the calls. */
  executeApproved(calls: readonly ToolCall[], signal: AbortSignal): Promise<ToolResult[]> {
    return this.#executeAll(calls, { step: 0, isApproved: true }, signal);
  }

  async #executeAll(
    calls: readonly ToolCall[],
    { step, isApproved }: { readonly step: number; readonly isApproved: boolean },
    signal: AbortSignal,
  ): Promise<ToolResult[]> {
    const executions = calls.map((call) => this.#execute(call, signal));
    // Each is awaited in its turn below; until then a rejection is not an unhandled one.
    for (const execution of executions) execution.catch(() => undefined);
    const results: ToolResult[] = [];
    for (const [index, call] of calls.entries()) {
      const tool = this.#options.tools.find(call.name);
      this.#options.announce(step, startOf(call, tool, isApproved ? call.id : ""));
      const result = await executions[index];
      if (result === undefined) throw new InternalError("a call has no execution");
      results.push(result);
      this.#options.announce(step, finishOf(result, tool));
    }
    return results;
  }

  /** The result of a call. Whatever goes wrong becomes an error result. */
  async #execute(call: ToolCall, signal: AbortSignal): Promise<ToolResult> {
    const { gate, tools, timeoutMs } = this.#options;
    if (call.argumentsInvalid) return failedResult(call, "the arguments of the call are not valid JSON");
    await gate.wait(signal);
    try {
      const execution = tools.execute(call, { signal, timeoutMs });
      const { content, isError } = await untilAborted(execution, signal);
      return create(ToolResultSchema, { toolCallId: call.id, content, isError });
    } catch (thrown) {
      if (signal.aborted) throw abortErrorOf(signal);
      const message = thrown instanceof Error && !(thrown instanceof AbortError) ? thrown.message : "";
      return failedResult(call, message || "the tool failed");
    } finally {
      gate.leave("");
    }
  }
}

function startOf(toolCall: ToolCall, tool: ServerTool | undefined, approvalRequestId: string): RunEventValue {
  const { serverLabel = "", toolName = "" } = tool ?? {};
  const value = create(ServerToolStartSchema, { call: toolCall, serverLabel, toolName, approvalRequestId });
  return { case: "serverToolStart", value };
}

function finishOf(result: ToolResult, tool: ServerTool | undefined): RunEventValue {
  const { serverLabel = "", toolName = "" } = tool ?? {};
  const value = create(ServerToolFinishSchema, { result, serverLabel, toolName });
  return { case: "serverToolFinish", value };
}
