/** Tools that the sidecar executes itself in a run: those of remote MCP servers. */
import type { ContentPart, ToolCall } from "../gen/outrigger/v1/message_pb.ts";
import type { McpServer, McpTool, McpToolList } from "../gen/outrigger/v1/run_pb.ts";
import type { Tool } from "../gen/outrigger/v1/tool_pb.ts";
import { asObject, tryParseJson } from "../kit/json/json.ts";

/** The result of a call. A tool that failed also has a result, so that the model can continue. */
export interface ServerToolResult {
  /** The result for the model. */
  readonly content: ContentPart[];
  /** Whether the call failed: the server refused it, the tool reports a failure, or nothing usable came back. */
  readonly isError: boolean;
  /** The result as text, for APIs that have no parts in it. */
  readonly text: string;
}

/** Options of `ServerTools.open`. */
export interface OpenServerToolsOptions {
  /** Closes everything that was opened: every connection closes at once. */
  readonly signal: AbortSignal;
  /** Names of the request's other tools, which the names given to the model must differ from. */
  readonly takenNames?: ReadonlySet<string> | undefined;
  /** Tools of an earlier turn. A server with any is not asked again, and they keep their names. */
  readonly known?: readonly McpTool[] | undefined;
}

/** Options of one call. */
export interface ExecuteServerToolOptions {
  /** Cancels the call: its connection closes at once. */
  readonly signal: AbortSignal;
  /** Time limit in milliseconds. Default that of the configuration. Running out is a result with `isError`. */
  readonly timeoutMs?: number | undefined;
}

/**
 * Whether a call of a tool may be repeated if it is not known whether it was executed: the tool only reads, or a second
 * execution has no further effect, as its server says.
 */
export function mayRepeat({ annotationsJson }: McpTool): boolean {
  const { readOnlyHint, idempotentHint } = asObject(tryParseJson(annotationsJson)) ?? {};
  return readOnlyHint === true || idempotentHint === true;
}

/** Opens the tools of remote servers for runs. One instance serves all runs. */
export interface ServerTools {
  /**
   * Checks servers before a run with them is created. Nothing is sent.
   * @param field Path of the servers in the request, for errors: `mcp_servers`.
   * @throws InvalidRequestError naming each server that is described wrongly or that the configuration does not allow.
   */
  check(servers: readonly McpServer[], field: string): void;

  /**
   * Checks the servers, lists the tools of all of them concurrently, and names the tools for the model. A server that
   * cannot be reached or breaks the protocol has a list with an error; the caller decides what that means for the run.
   * @throws InvalidRequestError as `check`; AbortError if the signal is aborted.
   */
  open(
    servers: readonly McpServer[],
    field: string,
    options: OpenServerToolsOptions,
  ): Promise<OpenedServerTools>;
}

/** The tools of the servers of one run. To be closed once. */
export interface OpenedServerTools {
  /** One for each server, in their order. */
  readonly lists: readonly McpToolList[];
  /** The tools as the model gets them: functions under names that are unique and have at most 64 characters. */
  readonly tools: readonly Tool[];
  /** The tool that a call is for, by the name that the model calls. Undefined: none of these servers has it. */
  find(name: string): McpTool | undefined;
  /** Whether a call of a tool waits for the caller's approval. */
  needsApproval(tool: McpTool): boolean;
  /**
   * Calls a tool. Never repeats a call.
   * @throws AbortError if the signal is aborted; InvalidToolCallError if `find` does not know the tool.
   */
  execute(call: ToolCall, options: ExecuteServerToolOptions): Promise<ServerToolResult>;
  /** Ends the calls under way and the sessions, and closes the connections. Never throws. */
  close(): Promise<void>;
}
