/** Tools that the sidecar executes itself in a run: those of remote MCP servers. */
import type { ContentPart, ToolCall } from "../gen/outrigger/v1/message_pb.ts";
import type { Tool } from "../gen/outrigger/v1/tool_pb.ts";

/** A remote MCP server whose tools the model may call, as the caller describes it. */
export interface McpServer {
  /** Name of the server in the run: 1 to 64 of `[A-Za-z0-9_-]`, beginning with a letter. Unique in a run. */
  readonly serverLabel: string;
  /** Where the server is. Empty: the server of that label in the configuration. */
  readonly serverUrl: string;
  /** OAuth access token, sent as `authorization: Bearer`. Empty for none. Never logged, never stored in clear text. */
  readonly authorization: string;
  /** Headers of every request to the server, for instance a key. */
  readonly headers: Readonly<Record<string, string>>;
  /** The tools that the model may use. Absent: all. */
  readonly allowedTools?: McpToolFilter | undefined;
  /** Which calls wait for the caller's approval. Absent: all of them. */
  readonly requireApproval?: McpApproval | undefined;
}

/** Selects tools of an MCP server: those that fit every condition that is set. */
export interface McpToolFilter {
  /** Names of tools; empty for any. */
  readonly toolNames: readonly string[];
  /** Whether the server must have annotated the tool as read-only (`true`), or must not have (`false`). */
  readonly readOnly?: boolean | undefined;
}

/** Which calls wait for the caller's approval. A tool that neither filter selects needs it. */
export type McpApproval =
  | { readonly mode: "always" | "never" }
  | {
      readonly mode: "filter";
      readonly always?: McpToolFilter | undefined;
      readonly never?: McpToolFilter | undefined;
    };

/** The tools of one server, as it lists them: OpenAI's `mcp_list_tools`. */
export interface McpListing {
  readonly serverLabel: string;
  /** The tools that `allowedTools` selects, in the server's order. */
  readonly tools: readonly McpTool[];
}

/** One tool of an MCP server. */
export interface McpTool {
  readonly name: string;
  readonly description: string;
  /** Text of the JSON Schema of its arguments. */
  readonly inputSchemaJson: string;
  /** Text of the JSON object of its annotations; empty where it has none. */
  readonly annotationsJson: string;
}

/** Where a call of the model goes. */
export interface ServerToolTarget {
  readonly serverLabel: string;
  /** The server's own name of the tool. */
  readonly name: string;
  /** Whether the caller has to approve the call. */
  readonly needsApproval: boolean;
}

/** What a call brought. A tool that failed has a result as well, so that the model can go on. */
export interface ServerToolResult {
  /** The result for the model. */
  readonly content: ContentPart[];
  /** Whether the call failed: the server refused it, the tool reports a failure, or nothing usable came back. */
  readonly isError: boolean;
  /** The result as text: OpenAI's `output` of an `mcp_call`, its `error` where `isError` is set. */
  readonly text: string;
}

/** Options of `ServerTools.open`. */
export interface OpenServerToolsOptions {
  /** Ends what it opens: every connection closes at once. */
  readonly signal: AbortSignal;
  /** Names of the request's other tools, which the names given to the model must differ from. */
  readonly takenNames?: ReadonlySet<string> | undefined;
  /** Listings of earlier turns. A server with one is not asked again. */
  readonly listings?: readonly McpListing[] | undefined;
}

/** Options of one call. */
export interface ExecuteServerToolOptions {
  /** Cancels the call: its connection closes at once. */
  readonly signal: AbortSignal;
  /** Time limit in milliseconds. Default that of the configuration. Running out is a result with `isError`. */
  readonly timeoutMs?: number | undefined;
}

/** Opens the tools of remote servers for runs. One instance serves all runs. */
export interface ServerTools {
  /**
   * Checks the servers, asks each for its tools, all at once, and names the tools for the model.
   * @throws InvalidRequestError before anything is sent, naming the label of a server that the configuration does not
   * allow or that is described wrongly; SDKError naming the label of a server that cannot be reached or does not answer
   * as an MCP server; AbortError where the signal aborts.
   */
  open(servers: readonly McpServer[], options: OpenServerToolsOptions): Promise<OpenedServerTools>;
}

/** The tools of the servers of one run. To be closed once. */
export interface OpenedServerTools {
  /** One for each server, in the order of the servers. */
  readonly listings: readonly McpListing[];
  /** The tools as the model gets them: functions under names that are unique and have at most 64 characters. */
  readonly tools: Tool[];
  /** Where a call goes, by the name that the model calls. Undefined: it is no tool of these servers. */
  locate(name: string): ServerToolTarget | undefined;
  /**
   * Calls a tool. Never repeats a call.
   * @throws AbortError where the signal aborts; InvalidToolCallError where `locate` does not know the tool.
   */
  execute(call: ToolCall, options: ExecuteServerToolOptions): Promise<ServerToolResult>;
  /** Ends the sessions and closes the connections. Calls under way fail with AbortError. Never throws. */
  close(): Promise<void>;
}
