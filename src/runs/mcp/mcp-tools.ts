/** The tools of remote MCP servers in runs. */
import { clone, create } from "@bufbuild/protobuf";
import { createError, InvalidRequestError, InvalidToolCallError, toSdkError } from "../../core/errors.ts";
import type { TraceContext } from "../../core/trace-context.ts";
import type { ToolCall, ToolResult } from "../../gen/outrigger/v1/message_pb.ts";
import {
  ApprovalPolicy,
  type McpServer,
  type McpTool,
  type McpToolFilter,
  type McpToolList,
  McpToolListSchema,
  McpToolSchema,
} from "../../gen/outrigger/v1/run_pb.ts";
import { type Tool, ToolSchema } from "../../gen/outrigger/v1/tool_pb.ts";
import { failedResult } from "../../generation/loop/failed-result.ts";
import { toAbortError } from "../../kit/http/abort.ts";
import { asObject, isObject, tryParseJson } from "../../kit/json/json.ts";
import type { OpenedServerTools, OpenServerToolsOptions, ServerTools } from "../server-tools.ts";
import type { McpConnection } from "./connection.ts";
import { type McpEndpoint, readEndpoints } from "./endpoint.ts";
import { freeToolName, readResult } from "./result.ts";
import { DEFAULT_MCP_LIMITS, type McpLimits, type McpSettings } from "./settings.ts";

/** Called after each call of a tool. @param server Label of a configured server; empty for servers of callers. */
export type McpCallObserver = (server: string, hasFailed: boolean, durationMs: number) => void;

/** A call of a tool, for traces. */
export interface McpToolCall {
  /** Label of the server. */
  readonly server: string;
  readonly tool: string;
  /** The trace of the call that created the run. */
  readonly trace: TraceContext | undefined;
  /** Whether the run is in the background, so that the call that created it has ended. */
  readonly isBackground: boolean;
}

/** Traces a call of a tool. Returns the trace context to send to the server, and the function to call at the end. */
export type McpCallTracer = (call: McpToolCall) => {
  readonly sent: TraceContext;
  readonly end: (hasFailed: boolean) => void;
};

/**
 * Makes the tools of the MCP servers that a configuration allows.
 * @param getSettings Returns the current settings. A run keeps those with which it opens its servers.
 * @param traceCall Default: no call is traced.
 */
export function createMcpTools(
  getSettings: () => McpSettings,
  onCall: McpCallObserver = () => {},
  traceCall?: McpCallTracer,
): ServerTools {
  const read = (servers: readonly McpServer[]) => {
    const settings = getSettings();
    const limits = { ...DEFAULT_MCP_LIMITS, ...settings.limits };
    return { settings, limits, endpoints: readEndpoints(servers, settings) };
  };
  return {
    check: (servers) => void read(servers),
    async open(servers, options) {
      const { settings, limits, endpoints } = read(servers);
      if (options.signal.aborted) throw toAbortError(options.signal);
      const observe: McpCallObserver = (label, ...result) =>
        onCall(settings.servers.has(label) ? label : "", ...result);
      const run = new McpRun(options, limits, observe, traceCall);
      if (endpoints.length > 0) await run.open(endpoints, settings);
      return run;
    },
  };
}

interface OpenServer {
  readonly server: McpServer;
  readonly connection: McpConnection;
}

class McpRun implements OpenedServerTools {
  readonly lists: McpToolList[] = [];
  readonly tools: Tool[] = [];
  readonly #options: OpenServerToolsOptions;
  readonly #limits: McpLimits;
  readonly #onCall: McpCallObserver;
  readonly #traceCall: McpCallTracer | undefined;
  readonly #servers = new Map<string, OpenServer>();
  readonly #tools = new Map<string, McpTool>();

  constructor(
    options: OpenServerToolsOptions,
    limits: McpLimits,
    onCall: McpCallObserver,
    traceCall: McpCallTracer | undefined,
  ) {
    this.#options = options;
    this.#limits = limits;
    this.#onCall = onCall;
    this.#traceCall = traceCall;
  }

  /** Opens the servers and lists their tools. To be called once. */
  async open(endpoints: readonly McpEndpoint[], settings: McpSettings): Promise<void> {
    const { McpConnection } = await import("./connection.ts");
    const { signal } = this.#options;
    signal.addEventListener("abort", this.#abandon, { once: true });
    const connect = (endpoint: McpEndpoint) => new McpConnection(endpoint, this.#limits, settings);
    const lists = await Promise.all(endpoints.map((endpoint) => this.#list(endpoint, connect)));
    if (signal.aborted) {
      await this.close();
      throw toAbortError(signal);
    }
    this.#nameTools(lists);
  }

  find(name: string): McpTool | undefined {
    return this.#tools.get(name);
  }

  needsApproval(name: string): boolean {
    const tool = this.#tools.get(name);
    const open = this.#servers.get(tool?.serverLabel ?? "");
    return tool !== undefined && (open === undefined || needsApproval(open.server, tool));
  }

  async execute(call: ToolCall, signal: AbortSignal, timeoutMs = this.#limits.callMs): Promise<ToolResult> {
    const tool = this.#tools.get(call.name);
    const open = this.#servers.get(tool?.serverLabel ?? "");
    if (tool === undefined || open === undefined)
      throw new InvalidToolCallError("no MCP server of the run has this tool");
    const { input } = call;
    const args = input.case === "argumentsJson" && input.value !== "" ? tryParseJson(input.value) : {};
    if (!isObject(args)) return failedResult(call, "the arguments are not a JSON object");
    const startedAt = performance.now();
    let hasFailed = true;
    const { trace, isBackground = false } = this.#options;
    const { serverLabel: server, toolName } = tool;
    const span = this.#traceCall?.({ server, tool: toolName, trace, isBackground });
    try {
      const called = { signal, timeoutMs, trace: span?.sent };
      const result = readResult(call, await open.connection.call(toolName, args, called));
      hasFailed = result.failed;
      return result;
    } finally {
      this.#onCall(server, hasFailed, performance.now() - startedAt);
      span?.end(hasFailed);
    }
  }

  async close(): Promise<void> {
    this.#options.signal.removeEventListener("abort", this.#abandon);
    await Promise.all([...this.#servers.values()].map(({ connection }) => connection.close()));
  }

  readonly #abandon = (): void => {
    for (const { connection } of this.#servers.values()) connection.abandon();
  };

  /**
   * Opens one server. Returns its tools, which have no names for the model yet, or the reason why they cannot be
   * listed.
   */
  async #list(
    endpoint: McpEndpoint,
    connect: (endpoint: McpEndpoint) => McpConnection,
  ): Promise<McpToolList> {
    const { server, headers, token } = endpoint;
    const { serverLabel } = server;
    const { known = [], signal } = this.#options;
    try {
      const credentials = token === undefined ? {} : { authorization: `Bearer ${await token()}` };
      const connection = connect({ ...endpoint, headers: { ...headers, ...credentials } });
      this.#servers.set(serverLabel, { server, connection });
      const earlier = known.filter((tool) => tool.serverLabel === serverLabel);
      const copies = earlier.map((tool) => clone(McpToolSchema, tool));
      const all = copies.length > 0 ? copies : await connection.list(signal);
      const { allowedTools } = server;
      const tools = all.filter((tool) => allowedTools === undefined || selects(allowedTools, tool));
      const { maxTools } = this.#limits;
      if (tools.length > maxTools)
        throw new InvalidRequestError(
          `it has ${tools.length} tools, expected at most ${maxTools}: select some with allowed_tools`,
        );
      return create(McpToolListSchema, { serverLabel, tools });
    } catch (thrown) {
      const { kind, message, retryable } = toSdkError(thrown);
      const error = createError(kind, `MCP server ${serverLabel}: ${message}`, { retryable });
      return create(McpToolListSchema, { serverLabel, error: error.toProto() });
    }
  }

  /** Names the tools of all servers. Tools of earlier turns keep their names. */
  #nameTools(lists: readonly McpToolList[]): void {
    const taken = new Set(this.#options.takenNames);
    for (const list of lists) {
      const about = this.#servers.get(list.serverLabel)?.server.serverDescription ?? "";
      for (const [index, tool] of list.tools.entries()) {
        if (tool.name === "" || taken.has(tool.name))
          tool.name = freeToolName(tool.serverLabel, tool.toolName, taken);
        taken.add(tool.name);
        this.#tools.set(tool.name, tool);
        this.tools.push(toFunctionTool(tool, index === 0 ? about : ""));
      }
      this.lists.push(list);
    }
  }
}

/**
 * Returns a tool as the model gets it.
 * @param about The caller's description of the server. Only the first of its tools gets it, since functions have no
 *   other place for it.
 */
function toFunctionTool(tool: McpTool, about: string): Tool {
  const { name, serverLabel, inputSchemaJson } = tool;
  const note = about === "" ? "" : `About ${serverLabel}, which this tool belongs to: ${about}`;
  const description = [tool.description, note].filter((text) => text !== "").join("\n\n");
  const value = { name, description, parametersJson: inputSchemaJson, strict: false };
  return create(ToolSchema, { tool: { case: "function", value } });
}

/** Reports whether a call of a tool waits for the caller's approval, as all calls do unless they are exempt. */
function needsApproval({ approval, alwaysApprove, neverApprove }: McpServer, tool: McpTool): boolean {
  if (alwaysApprove !== undefined && selects(alwaysApprove, tool)) return true;
  // A filter without conditions was probably not meant to exempt every tool.
  const isFilter = neverApprove && (neverApprove.toolNames.length > 0 || neverApprove.readOnly !== undefined);
  if (isFilter && selects(neverApprove, tool)) return false;
  return approval !== ApprovalPolicy.NEVER;
}

function selects({ toolNames, readOnly }: McpToolFilter, tool: McpTool): boolean {
  if (toolNames.length > 0 && !toolNames.includes(tool.toolName)) return false;
  if (readOnly === undefined) return true;
  return readOnly === (asObject(tryParseJson(tool.annotationsJson))?.readOnlyHint === true);
}
