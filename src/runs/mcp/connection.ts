/** A session with one MCP server. Loaded, with the MCP client package, when a run first uses such a server. */
import { create } from "@bufbuild/protobuf";
import {
  Client,
  SSEClientTransport,
  StreamableHTTPClientTransport,
  type Tool,
  type Transport,
} from "@modelcontextprotocol/client";
import { AbortError, InternalError, ServerError } from "../../core/errors.ts";
import type { TraceContext } from "../../core/trace-context.ts";
import { type McpTool, McpToolSchema } from "../../gen/outrigger/v1/run_pb.ts";
import { KeyMask } from "../../kit/adapter/key-mask.ts";
import { LinkedSignal, type SignalLimit, untilAborted } from "../../kit/call/linked-signal.ts";
import { LONGEST_TIMER_MS } from "../../kit/http/timeouts.ts";
import { createHttpTransport, type HttpTransport } from "../../kit/http/transport.ts";
import type { JsonObject } from "../../kit/json/json.ts";
import { McpCall, mayBeOlder } from "./current-call.ts";
import type { McpEndpoint } from "./endpoint.ts";
import { createMcpFetch } from "./mcp-fetch.ts";
import type { McpLimits, McpSettings } from "./settings.ts";

/** Maximum number of pages of a list of tools. */
const MAX_PAGES = 64;

/** How long a server may take to confirm the end of a session, in milliseconds. */
const SESSION_END_MS = 1_000;

/**
 * Requests that a server may send during one call. The sidecar offers servers nothing to request, so only pings are
 * expected. Each is answered by an HTTP request.
 */
const MAX_SERVER_REQUESTS = 32;

const CLIENT = { name: "outrigger", version: "1" };

/** Results go to a model, which needs no schema. Schemas of untrusted servers are not compiled. */
const NO_VALIDATION = {
  getValidator: (): never => {
    throw new InternalError("schemas of the results of MCP tools must not be compiled");
  },
};

/** One session, over HTTP. It connects when it is first needed. */
export class McpConnection {
  readonly #limits: McpLimits;
  readonly #http: HttpTransport;
  readonly #endpoint: McpEndpoint;
  readonly #transport: StreamableHTTPClientTransport;
  #client = createClient("auto");
  /** Whether answers come over one stream of the whole session. */
  #hasOneStream = false;
  readonly #definitions = new Map<string, Tool>();
  readonly #closed = new AbortController();
  readonly #abandoned = new AbortController();
  #connected: Promise<void> | undefined;
  #serverRequests = 0;
  readonly #mask: KeyMask;

  constructor(endpoint: McpEndpoint, limits: McpLimits, { environment, localOnly }: McpSettings) {
    this.#endpoint = endpoint;
    this.#limits = limits;
    const { url, tls, headers } = endpoint;
    this.#mask = new KeyMask(headers);
    // Each call has a separate time limit.
    const timeouts = { requestMs: 0, betweenBytesMs: 0 };
    this.#http = createHttpTransport({ baseUrl: url.origin, timeouts, environment, localOnly, tls });
    const fetch = createMcpFetch(this.#http, endpoint, limits);
    this.#transport = new StreamableHTTPClientTransport(url, { fetch, onInsufficientScope: "throw" });
  }

  /** Returns the tools of the server, without names for the model. @throws SDKError */
  list(signal: AbortSignal): Promise<McpTool[]> {
    const limit = { ms: this.#limits.listMs, what: "listing its tools" };
    return this.#run(signal, limit, async ({ signal: within }) => {
      await this.#connect(within);
      return this.#client.getServerCapabilities()?.tools === undefined ? [] : this.#listAll(within);
    });
  }

  /** @throws SDKError */
  call(
    name: string,
    args: JsonObject,
    options: { signal: AbortSignal; timeoutMs: number; trace: TraceContext | undefined },
  ): Promise<unknown> {
    const limit = { ms: options.timeoutMs, what: "the call" };
    return this.#run(options.signal, limit, async (call) => {
      const { signal } = call;
      call.trace = options.trace;
      await this.#connect(signal);
      const onresumptiontoken = () => {
        call.isResumable = true;
      };
      // Shows which arguments are also sent as headers. An earlier turn's list has no definitions.
      const toolDefinition = this.#definitions.get(name);
      const known = { onresumptiontoken, ...(toolDefinition && { toolDefinition }) };
      return this.#client.callTool({ name, arguments: { ...args } }, { ...toOptions(signal), ...known });
    });
  }

  /** Ends the calls in progress and the session, and closes the connections. Never throws. */
  async close(): Promise<void> {
    this.#closed.abort(new AbortError("the run has ended"));
    const { signal } = this.#abandoned;
    if (!signal.aborted && this.#transport.sessionId !== undefined) {
      const linked = new LinkedSignal(signal, { ms: SESSION_END_MS, what: "ending the session" });
      await untilAborted(this.#transport.terminateSession(), linked.signal).catch(ignore);
      linked.release();
    }
    await this.#client.close().catch(ignore);
    await this.#http.close();
  }

  /** Ends the calls and the session without notifying the server. */
  abandon(): void {
    this.#abandoned.abort();
    // Need not be awaited, since it never rejects.
    void this.close();
  }

  /** Connects once for all calls. No call can cancel the connection for the others. */
  #connect(signal: AbortSignal): Promise<void> {
    this.#connected ??= this.#openWith(this.#transport).catch((failure) => {
      if (!mayBeOlder(failure) || this.#closed.signal.aborted) throw failure;
      return this.#openOlder().catch(() => Promise.reject(failure));
    });
    return untilAborted(this.#connected, signal);
  }

  /**
   * Connects with the transport of the protocol's first revision: requests over POST, all answers over one stream of
   * events.
   */
  async #openOlder(): Promise<void> {
    this.#client = createClient("legacy");
    this.#hasOneStream = true;
    const session = { onAnswerEnd: (failure: unknown) => this.#closed.abort(failure) };
    const fetch = createMcpFetch(this.#http, this.#endpoint, this.#limits, session);
    await this.#openWith(new SSEClientTransport(this.#endpoint.url, { fetch }));
  }

  #openWith(transport: Transport): Promise<void> {
    const limit = { ms: this.#limits.listMs, what: "connecting" };
    const client = this.#client;
    // The package calls this handler before it handles the message. Ends the session of a server that sends too many
    // requests, and throws, so that they are not answered.
    transport.onmessage = (message) => {
      maskTexts(message, this.#mask.apply);
      if (!("method" in message && "id" in message)) return;
      this.#serverRequests += 1;
      if (this.#serverRequests <= MAX_SERVER_REQUESTS) return;
      const text = `it sent more than ${MAX_SERVER_REQUESTS} requests to the sidecar`;
      const failure = new ServerError(text, { retryable: false });
      this.#closed.abort(failure);
      throw failure;
    };
    return this.#run(undefined, limit, ({ signal }) => client.connect(transport, toOptions(signal)));
  }

  async #listAll(signal: AbortSignal): Promise<McpTool[]> {
    const tools: McpTool[] = [];
    let cursor: string | undefined;
    let bytes = 0;
    for (let pages = 0; pages === 0 || cursor !== undefined; pages += 1) {
      if (pages === MAX_PAGES) throw tooMany(`${MAX_PAGES} pages of tools`);
      const params = cursor === undefined ? {} : { cursor };
      const page = await this.#client.request({ method: "tools/list", params }, toOptions(signal));
      for (const definition of page.tools) {
        const tool = toMcpTool(definition, this.#endpoint.server.serverLabel);
        const { toolName, description, inputSchemaJson, annotationsJson } = tool;
        bytes += Buffer.byteLength(toolName + description + inputSchemaJson + annotationsJson);
        if (bytes > this.#limits.maxListingBytes)
          throw tooMany(`${this.#limits.maxListingBytes} bytes of tools`);
        const { outputSchema: _, ...needed } = definition;
        this.#definitions.set(toolName, needed);
        tools.push(tool);
      }
      cursor = page.nextCursor;
    }
    return tools;
  }

  /** Runs a call, which also ends with the session. */
  async #run<Value>(
    signal: AbortSignal | undefined,
    limit: SignalLimit,
    work: (call: McpCall) => Promise<Value>,
  ): Promise<Value> {
    const call = new McpCall(signal, limit);
    this.#serverRequests = Math.max(0, this.#serverRequests - MAX_SERVER_REQUESTS);
    // If all answers come over one stream, the end of an exchange is not the end of an answer.
    call.isResumable = this.#hasOneStream;
    const { signal: closed } = this.#closed;
    const stop = () => call.stop(closed.reason);
    if (closed.aborted) stop();
    closed.addEventListener("abort", stop, { once: true });
    try {
      return await call.run(work);
    } finally {
      closed.removeEventListener("abort", stop);
    }
  }
}

function createClient(mode: "auto" | "legacy"): Client {
  return new Client(CLIENT, {
    capabilities: {},
    versionNegotiation: { mode },
    inputRequired: { autoFulfill: false },
    jsonSchemaValidator: NO_VALIDATION,
  });
}

function toMcpTool({ name, description = "", inputSchema, annotations }: Tool, serverLabel: string): McpTool {
  return create(McpToolSchema, {
    serverLabel,
    toolName: name.toWellFormed(),
    description: description.toWellFormed(),
    inputSchemaJson: JSON.stringify(inputSchema),
    annotationsJson: annotations === undefined ? "" : JSON.stringify(annotations),
  });
}

/** Replaces the keys that a server sends back: its tools, results and errors go to a model and to callers. */
function maskTexts(message: object, mask: (text: string) => string): void {
  // Not recursive, since an untrusted server chooses the depth.
  const holders: Record<string, unknown>[] = [message as Record<string, unknown>];
  for (let holder = holders.pop(); holder !== undefined; holder = holders.pop())
    for (const [name, value] of Object.entries(holder)) {
      if (typeof value === "string") holder[name] = mask(value);
      else if (typeof value === "object" && value !== null) holders.push(value as Record<string, unknown>);
    }
}

function toOptions(signal: AbortSignal) {
  return { signal, timeout: LONGEST_TIMER_MS };
}

function tooMany(what: string): ServerError {
  return new ServerError(`it lists more than ${what}`, { retryable: false });
}

function ignore(): void {}
