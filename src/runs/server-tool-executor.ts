import { create } from "@bufbuild/protobuf";
import { AbortError } from "../core/errors.ts";
import { type ToolCall, type ToolResult, ToolResultSchema } from "../gen/outrigger/v1/message_pb.ts";
import { type McpTool, McpToolFinishSchema, McpToolStartSchema } from "../gen/outrigger/v1/run_pb.ts";
import { failedResult } from "../generation/loop/failed-result.ts";
import { untilAborted } from "../generation/loop/linked-signal.ts";
import type { StepContext, ToolExecutor, ToolOutcome } from "../generation/loop/step-tools.ts";
import { toAbortError } from "../kit/http/abort.ts";
import type { Gate } from "./gate.ts";
import type { RunEventValue } from "./run-log.ts";
import type { OpenedServerTools } from "./server-tools.ts";

/** How the tools of a run are executed. */
export interface ServerToolOptions {
  readonly tools: OpenedServerTools;
  readonly gate: Gate;
  /** Time limit of a call in milliseconds. Undefined: the configured one. */
  readonly timeoutMs: number | undefined;
  /** Takes the start of a call. The call is sent when the promise resolves. */
  readonly onStart: (step: number, event: RunEventValue) => Promise<void>;
  /** Takes the result of a call. */
  readonly onFinish: (step: number, event: RunEventValue, result: ToolResult) => void;
}

interface CallScope {
  readonly step: number;
  readonly isApproved: boolean;
  readonly signal: AbortSignal;
}

/**
 * Executes the calls of server tools, all of a step at the same time; their events come as they happen. Calls that need
 * approval are passive: they end the loop.
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
    const results = await this.#executeAll(calls, { step, isApproved: false, signal });
    return results.map((result) => ({ result }));
  }

  /** Executes calls that the caller has approved, outside of a step. The results, in the order of the calls. */
  executeApproved(calls: readonly ToolCall[], signal: AbortSignal): Promise<ToolResult[]> {
    return this.#executeAll(calls, { step: 0, isApproved: true, signal });
  }

  #executeAll(calls: readonly ToolCall[], scope: CallScope): Promise<ToolResult[]> {
    return Promise.all(calls.map((call) => this.#execute(call, scope)));
  }

  async #execute(call: ToolCall, scope: CallScope): Promise<ToolResult> {
    const { gate, tools, onStart, onFinish } = this.#options;
    const { step, isApproved, signal } = scope;
    const tool = tools.find(call.name);
    await gate.wait(signal);
    try {
      await onStart(step, createStart(call, tool, isApproved ? call.id : ""));
      const result = await this.#call(call, signal);
      onFinish(step, toolFinishEvent(result, tool), result);
      return result;
    } finally {
      gate.leave("");
    }
  }

  /** The result of a call. Whatever goes wrong becomes an error result. */
  async #call(call: ToolCall, signal: AbortSignal): Promise<ToolResult> {
    const { tools, timeoutMs } = this.#options;
    if (signal.aborted) throw toAbortError(signal);
    if (call.argumentsInvalid) return failedResult(call, "the arguments of the call are not valid JSON");
    try {
      const { content, isError } = await untilAborted(tools.execute(call, { signal, timeoutMs }), signal);
      return create(ToolResultSchema, { toolCallId: call.id, content, failed: isError });
    } catch (thrown) {
      if (signal.aborted) throw toAbortError(signal);
      const message = thrown instanceof Error && !(thrown instanceof AbortError) ? thrown.message : "";
      return failedResult(call, message || "the tool failed");
    }
  }
}

function createStart(
  toolCall: ToolCall,
  tool: McpTool | undefined,
  approvalRequestId: string,
): RunEventValue {
  const { serverLabel = "", toolName = "" } = tool ?? {};
  const value = create(McpToolStartSchema, { call: toolCall, serverLabel, toolName, approvalRequestId });
  return { case: "mcpToolStart", value };
}

/** The event of a result. */
export function toolFinishEvent(result: ToolResult, tool: McpTool | undefined): RunEventValue {
  const { serverLabel = "", toolName = "" } = tool ?? {};
  const value = create(McpToolFinishSchema, { result, serverLabel, toolName });
  return { case: "mcpToolFinish", value };
}
