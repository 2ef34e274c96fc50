/** Tools that the sidecar executes itself in a run: the tools of remote MCP servers. */

import { create } from "@bufbuild/protobuf";
import { AbortError, invalidField } from "../core/errors.ts";
import type { TraceContext } from "../core/trace-context.ts";
import type { ToolCall, ToolResult } from "../gen/outrigger/v1/message_pb.ts";
import {
  type McpServer,
  type McpTool,
  McpToolFinishSchema,
  type McpToolList,
  McpToolStartSchema,
} from "../gen/outrigger/v1/run_pb.ts";
import type { Tool } from "../gen/outrigger/v1/tool_pb.ts";
import { failedResult } from "../generation/loop/failed-result.ts";
import type { StepContext, ToolExecutor, ToolOutcome } from "../generation/loop/step-tools.ts";
import { untilAborted } from "../kit/call/linked-signal.ts";
import { toAbortError } from "../kit/http/abort.ts";
import { asObject, tryParseJson } from "../kit/json/json.ts";
import type { ConcurrencyLimiter } from "./limits.ts";
import type { RunEventValue } from "./run-log.ts";

/** Options of `ServerTools.open`. */
export interface OpenServerToolsOptions {
  /** Closes all connections immediately. */
  readonly signal: AbortSignal;
  /** Names of the request's other tools, which the names given to the model must differ from. */
  readonly takenNames?: ReadonlySet<string> | undefined;
  /** Tools of an earlier turn. A server with any is not asked again, and they keep their names. */
  readonly known?: readonly McpTool[] | undefined;
  /** The trace of the call that created the run. */
  readonly trace?: TraceContext | undefined;
  /** Whether the run is in the background. Default false. */
  readonly isBackground?: boolean | undefined;
}

/**
 * Reports whether a call of a tool may be repeated if it is not known whether it was executed: according to its server,
 * the tool only reads, or a second execution has no further effect.
 */
export function mayRepeat({ annotationsJson }: McpTool): boolean {
  const { readOnlyHint, idempotentHint } = asObject(tryParseJson(annotationsJson)) ?? {};
  return readOnlyHint === true || idempotentHint === true;
}

/** Opens the tools of remote servers for runs. One instance serves all runs. */
export interface ServerTools {
  /**
   * Checks servers before a run with them is created. Nothing is sent.
   * @throws InvalidRequestError naming each server that is described wrongly or that the configuration does not allow.
   */
  check(servers: readonly McpServer[]): void;

  /**
   * Checks the servers, lists the tools of all of them concurrently, and names the tools for the model. A server that
   * cannot be reached or breaks the protocol has a list with an error; the caller decides what that means for the run.
   * @throws InvalidRequestError as `check`; AbortError if the signal is aborted.
   */
  open(servers: readonly McpServer[], options: OpenServerToolsOptions): Promise<OpenedServerTools>;
}

/** The tools of the servers of one run. To be closed once. */
export interface OpenedServerTools {
  /** One for each server, in order. */
  readonly lists: readonly McpToolList[];
  /** The tools as the model gets them: functions under names that are unique and have at most 64 characters. */
  readonly tools: readonly Tool[];
  /** Returns the tool that the model calls by this name. Undefined: none of these servers has it. */
  find(name: string): McpTool | undefined;
  /** Reports whether a call under this name waits for the caller's approval. False if `find` does not know it. */
  needsApproval(name: string): boolean;
  /**
   * Calls a tool. Never repeats a call. A tool that reports a failure has a failed result.
   * @param signal Cancels the call: its connection closes at once.
   * @param timeoutMs Time limit in milliseconds. Default: the configured one.
   * @throws SDKError if the call has no result: AbortError if the signal is aborted; InvalidToolCallError if `find`
   *   does not know the tool.
   */
  execute(call: ToolCall, signal: AbortSignal, timeoutMs?: number): Promise<ToolResult>;
  /** Ends the calls in progress and the sessions, and closes the connections. Never throws. */
  close(): Promise<void>;
}

/** How the tools of a run are executed. */
export interface ServerToolOptions {
  readonly tools: OpenedServerTools;
  readonly limiter: ConcurrencyLimiter;
  /** Time limit of a call in milliseconds. Undefined: the configured one. */
  readonly timeoutMs: number | undefined;
  /** Called before a call, which is sent when the promise resolves. */
  readonly onStart: (step: number, event: RunEventValue) => Promise<void>;
  /** Called with the result of a call. */
  readonly onFinish: (step: number, event: RunEventValue, result: ToolResult) => void;
}

/**
 * Executes the calls of a step concurrently, and reports their events as they happen. Calls that need
 * approval are passive: they end the loop.
 */
export class ServerToolExecutor implements ToolExecutor {
  readonly #options: ServerToolOptions;

  constructor(options: ServerToolOptions) {
    this.#options = options;
  }

  isActive(toolName: string): boolean {
    const { tools } = this.#options;
    return tools.find(toolName) !== undefined && !tools.needsApproval(toolName);
  }

  async execute(calls: readonly ToolCall[], { step, signal }: StepContext): Promise<readonly ToolOutcome[]> {
    return Promise.all(calls.map(async (call) => ({ result: await this.#execute(call, step, signal) })));
  }

  /** Executes calls that the caller has approved, outside of a step. Returns the results in the order of the calls. */
  executeApproved(calls: readonly ToolCall[], signal: AbortSignal): Promise<ToolResult[]> {
    return Promise.all(calls.map((call) => this.#execute(call, 0, signal)));
  }

  /** @param step 0 for a call that the caller has approved. */
  async #execute(call: ToolCall, step: number, signal: AbortSignal): Promise<ToolResult> {
    const { limiter, tools, onStart, onFinish } = this.#options;
    const tool = tools.find(call.name);
    const { serverLabel = "", toolName = "" } = tool ?? {};
    const fields = { call, serverLabel, toolName, approvalRequestId: step === 0 ? call.id : "" };
    await limiter.acquireWhenFree(signal);
    try {
      await onStart(step, { case: "mcpToolStart", value: create(McpToolStartSchema, fields) });
      const result = await this.#call(call, signal);
      onFinish(step, toolFinishEvent(result, tool), result);
      return result;
    } finally {
      limiter.release("");
    }
  }

  /** Returns the result of a call. Any failure becomes an error result. */
  async #call(call: ToolCall, signal: AbortSignal): Promise<ToolResult> {
    const { tools, timeoutMs } = this.#options;
    if (signal.aborted) throw toAbortError(signal);
    if (call.argumentsInvalid) return failedResult(call, "the arguments of the call are not valid JSON");
    try {
      return await untilAborted(tools.execute(call, signal, timeoutMs), signal);
    } catch (thrown) {
      if (signal.aborted) throw toAbortError(signal);
      const message = thrown instanceof Error && !(thrown instanceof AbortError) ? thrown.message : "";
      return failedResult(call, message || "the tool failed");
    }
  }
}

/** Returns the event of a result. */
export function toolFinishEvent(result: ToolResult, tool: McpTool | undefined): RunEventValue {
  const { serverLabel = "", toolName = "" } = tool ?? {};
  const value = create(McpToolFinishSchema, { result, serverLabel, toolName });
  return { case: "mcpToolFinish", value };
}

/** The names of the tools that the caller defines. */
export function getFunctionNames(tools: readonly Tool[]): Set<string> {
  const names = tools.flatMap(({ tool }) =>
    tool.case === "function" || tool.case === "custom" ? [tool.value.name] : [],
  );
  return new Set(names);
}

/** Rejects every server, for a sidecar without MCP servers. */
export const NO_SERVER_TOOLS: ServerTools = {
  check: ([server]) => {
    if (server !== undefined) throw createRefusal();
  },
  open: () => Promise.reject(createRefusal()),
};

function createRefusal(): Error {
  return invalidField("mcp_servers", "this sidecar does not allow MCP servers");
}
