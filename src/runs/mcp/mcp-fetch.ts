/** The `fetch` of the MCP client package, over the transport that all calls to providers take. */
import { setImmediate as nextTurn } from "node:timers/promises";
import { NetworkError, StreamError } from "../../core/errors.ts";
import { toTraceHeaders } from "../../core/trace-context.ts";
import type { HttpAnswer, HttpTransport } from "../../kit/http/transport.ts";
import { currentCall } from "./current-call.ts";
import type { McpEndpoint } from "./endpoint.ts";
import type { McpLimits } from "./settings.ts";

type McpFetch = (address: string | URL, init?: RequestInit) => Promise<Response>;

/** Maximum number of bytes that are read from a failed answer. They are not shown; the status is enough. */
const MAX_FAILURE_BYTES = 64 * 1024;

/** Bytes that the client package gets at once. It handles all messages in them without a pause. */
const SLICE_BYTES = 4096;

/** Milliseconds for which an answer is handled before other work runs. */
const TURN_MS = 10;

interface EndObserver {
  onAnswerEnd(failure: unknown): void;
}

/**
 * Makes a fetch that speaks with one server alone, follows no redirect, adds the server's headers, ends with its call,
 * and aborts answers that exceed the limits.
 * @param session Allows a stream of events that belongs to the whole session. Servers need not have one, and no call
 *   needs it unless it is their only way to answer.
 */
export function createMcpFetch(
  transport: HttpTransport,
  endpoint: McpEndpoint,
  limits: McpLimits,
  session?: EndObserver,
): McpFetch {
  return async (address, init = {}) => {
    const { origin, pathname, search } = new URL(address);
    if (origin !== endpoint.url.origin) throw new NetworkError("the MCP server refers to another address");
    const headers = Object.fromEntries(new Headers(init.headers));
    const method = init.method ?? "GET";
    const isStream = method === "GET" && (session !== undefined || headers["last-event-id"] === undefined);
    if (isStream && session === undefined) return new Response(null, { status: 405 });
    const call = isStream ? undefined : currentCall.getStore();
    call?.onExchange();
    // A cancelled call notifies the server.
    const signal = call?.signal.aborted === false ? call.signal : undefined;
    const sent = { ...endpoint.headers, ...headers, ...(call?.trace && toTraceHeaders(call.trace)) };
    const request = { headers: sent, signal };
    const answer = await send(transport, method, pathname + search, request, init.body);
    call?.onAnswer(answer);
    return toResponse(answer, call ?? session, limits);
  };
}

function send(
  transport: HttpTransport,
  method: string,
  path: string,
  request: { headers: Readonly<Record<string, string>>; signal: AbortSignal | undefined },
  body: unknown,
): Promise<HttpAnswer> {
  if (method === "GET") return transport.get(path, request);
  if (method === "DELETE") return transport.delete(path, request);
  return transport.post(path, { ...request, body: typeof body === "string" ? body : "" });
}

function toResponse(answer: HttpAnswer, observer: EndObserver | undefined, limits: McpLimits): Response {
  const { status } = answer;
  const isSuccess = status >= 200 && status < 300;
  if (status >= 300 && status < 400) {
    answer.destroy();
    const problem = `the MCP server sent a redirect (status ${status}), which is not followed`;
    throw new NetworkError(problem, { retryable: false });
  }
  const headers = new Headers([...answer.headers]);
  if (status === 204 || status === 205) {
    answer.release();
    return new Response(null, { status, headers });
  }
  const bounds = isSuccess ? limits : { ...limits, maxAnswerBytes: MAX_FAILURE_BYTES };
  return new Response(readBody(answer, new JsonLimiter(bounds), observer), { status, headers });
}

/**
 * Returns the body of an answer as a web stream, read as it is needed, in slices. The client package handles the
 * messages of a slice before it reads on.
 */
function readBody(
  answer: HttpAnswer,
  limiter: JsonLimiter,
  observer: EndObserver | undefined,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  const reader = readSlices(answer.body, limiter)[Symbol.asyncIterator]();
  const fail = (controller: ReadableStreamDefaultController, failure: unknown) => {
    answer.destroy();
    observer?.onAnswerEnd(failure);
    controller.error(failure);
  };
  const pull = async (controller: ReadableStreamDefaultController) => {
    try {
      const { done, value } = await reader.next();
      if (done === true) {
        observer?.onAnswerEnd(new StreamError("the MCP server ended its answer without a result"));
        return controller.close();
      }
      controller.enqueue(value);
    } catch (error) {
      fail(controller, error);
    }
  };
  return new ReadableStream({ pull, cancel: () => answer.destroy() }, { highWaterMark: 0 });
}

/** Returns the measured bytes of a body in slices, with turns of the event loop between them. */
async function* readSlices(
  body: AsyncIterable<Uint8Array>,
  limiter: JsonLimiter,
): AsyncGenerator<Uint8Array> {
  let turnEndsAt = performance.now() + TURN_MS;
  for await (const chunk of body) {
    for (let start = 0; start < chunk.length; start += SLICE_BYTES) {
      if (performance.now() >= turnEndsAt) {
        await nextTurn();
        turnEndsAt = performance.now() + TURN_MS;
      }
      const slice = chunk.subarray(start, start + SLICE_BYTES);
      limiter.push(slice);
      yield slice;
    }
  }
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const LEFT_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const RIGHT_BRACKET = 0x5d;
const LEFT_BRACE = 0x7b;
const RIGHT_BRACE = 0x7d;
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;

/**
 * Messages of one answer: events of a stream, or the members of a batch. Servers report progress in messages. Each
 * costs the client package about 20 microseconds, whatever its content.
 */
const MAX_MESSAGES = 5000;

/**
 * Measures an answer while it is passed on, before it is parsed: its bytes, its messages and, as `countJsonValues`
 * does, its JSON values. It may be JSON or events with JSON in their lines.
 */
export class JsonLimiter {
  readonly #limits: Pick<McpLimits, "maxAnswerBytes" | "maxAnswerValues">;
  #bytes = 0;
  #values = 0;
  #messages = 0;
  #depth = 0;
  #isBatch = false;
  #isLineEmpty = true;
  #isAfterReturn = false;
  #isInString = false;
  #isEscaped = false;

  constructor(limits: Pick<McpLimits, "maxAnswerBytes" | "maxAnswerValues">) {
    this.#limits = limits;
  }

  /** Measures the next bytes. Throws StreamError, not retryable, if the answer is over a limit. */
  push(chunk: Uint8Array): void {
    const { maxAnswerBytes, maxAnswerValues } = this.#limits;
    this.#bytes += chunk.byteLength;
    if (this.#bytes > maxAnswerBytes) throw tooLarge(`${maxAnswerBytes} bytes`);
    for (const byte of chunk) this.#count(byte);
    if (this.#values > maxAnswerValues) throw tooLarge(`${maxAnswerValues} JSON values`);
    if (this.#messages > MAX_MESSAGES) throw tooLarge(`${MAX_MESSAGES} messages`);
  }

  #count(byte: number): void {
    if (byte === LINE_FEED || byte === CARRIAGE_RETURN) return this.#endLine(byte);
    this.#isLineEmpty = this.#isAfterReturn = false;
    if (this.#isEscaped) this.#isEscaped = false;
    else if (byte === QUOTE) this.#isInString = !this.#isInString;
    else if (this.#isInString) this.#isEscaped = byte === BACKSLASH;
    else this.#countStructure(byte);
  }

  /** An empty line ends an event. */
  #endLine(byte: number): void {
    // No JSON string spans lines, so an open string was not JSON.
    this.#isInString = this.#isEscaped = false;
    const isSecondHalf = byte === LINE_FEED && this.#isAfterReturn;
    this.#isAfterReturn = byte === CARRIAGE_RETURN;
    if (isSecondHalf) return;
    if (this.#isLineEmpty) this.#messages += 1;
    this.#isLineEmpty = true;
  }

  #countStructure(byte: number): void {
    if (byte === COMMA) {
      this.#values += 1;
      if (this.#isBatch && this.#depth === 1) this.#messages += 1;
    } else if (byte === LEFT_BRACKET || byte === LEFT_BRACE) {
      this.#values += 1;
      if (this.#depth === 0) this.#isBatch = byte === LEFT_BRACKET;
      this.#depth += 1;
    } else if (byte === RIGHT_BRACKET || byte === RIGHT_BRACE) this.#depth = Math.max(0, this.#depth - 1);
  }
}

function tooLarge(limit: string): StreamError {
  return new StreamError(`the answer of the MCP server has more than ${limit}`, { retryable: false });
}
