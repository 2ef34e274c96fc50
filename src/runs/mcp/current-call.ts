import { AsyncLocalStorage } from "node:async_hooks";
import { ProtocolError } from "@modelcontextprotocol/client";
import {
  AbortError,
  InvalidRequestError,
  SDKError,
  ServerError,
  StreamError,
  toSdkError,
} from "../../core/errors.ts";
import type { TraceContext } from "../../core/trace-context.ts";
import { failureUnder, LinkedSignal, type SignalLimit, untilAborted } from "../../kit/call/linked-signal.ts";
import type { HttpAnswer } from "../../kit/http/transport.ts";

/**
 * The call that an HTTP exchange belongs to. The client package has one fetch for everything it sends and, with servers
 * of the protocol's earlier revisions, does not pass it the signal of a single call.
 */
export const currentCall = new AsyncLocalStorage<McpCall>();

/**
 * Milliseconds that an answer may take after the end of its body. Reading it takes no time, but the package does not
 * report when it has read everything.
 */
const READING_MS = 1_000;

/**
 * HTTP exchanges of one call. A server can make the client send: its requests are answered, and broken answers resumed.
 */
const MAX_EXCHANGES = 256;

/** One request to an MCP server, which may take several HTTP exchanges. `run` is called once. */
export class McpCall {
  /** Whether the server allows the answer to be resumed if a connection ends. */
  isResumable = false;
  /** Sent with each exchange. */
  trace: TraceContext | undefined;
  readonly #linked: LinkedSignal;
  readonly #broken = Promise.withResolvers<never>();
  readonly #answers: HttpAnswer[] = [];
  #exchanges = 0;
  #failedStatus: number | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isOver = false;

  /** @param limit If it expires, the call fails with a RequestTimeoutError. */
  constructor(signal: AbortSignal | undefined, limit: SignalLimit) {
    this.#linked = new LinkedSignal(signal, limit);
  }

  /** Aborts the exchanges of the call. */
  get signal(): AbortSignal {
    return this.#linked.signal;
  }

  /** Ends the call, which fails with the reason. */
  stop(reason: unknown): void {
    this.#linked.abort(reason);
  }

  /** @throws ServerError if there were too many exchanges. */
  onExchange(): void {
    this.#exchanges += 1;
    if (this.#exchanges > MAX_EXCHANGES)
      throw new ServerError(`the call took more than ${MAX_EXCHANGES} HTTP exchanges`, { retryable: false });
    clearTimeout(this.#timer);
  }

  onAnswer(answer: HttpAnswer): void {
    this.#failedStatus = answer.status >= 200 && answer.status < 300 ? undefined : answer.status;
    if (this.#isOver) answer.release();
    else this.#answers.push(answer);
  }

  /**
   * The body of an answer has ended.
   * @param failure Why the call fails if its answer was not in that body.
   */
  onAnswerEnd(failure: unknown): void {
    clearTimeout(this.#timer);
    if (this.#isOver || this.isResumable) return;
    this.#timer = setTimeout(() => this.#broken.reject(failure), READING_MS);
  }

  /** Waits until the call has its answer, is stopped, or its last exchange ends without an answer. @throws SDKError */
  async run<Value>(work: (call: McpCall) => Promise<Value>): Promise<Value> {
    const { signal } = this;
    try {
      const done = currentCall.run(this, () => work(this));
      return await untilAborted(Promise.race([done, this.#broken.promise]), signal);
    } catch (thrown) {
      const failure = toSdkError(failureUnder(signal, toMcpFailure(thrown, this.#failedStatus)));
      // The package may still wait for an answer.
      this.stop(new AbortError("the call has failed"));
      throw failure;
    } finally {
      this.#isOver = true;
      clearTimeout(this.#timer);
      this.#linked.release();
      // Servers may hold a stream of events open after the answer, or send it to its end.
      for (const answer of this.#answers) answer.release();
    }
  }
}

/** Longest text of a server in an error, in characters. */
const MAX_MESSAGE_CHARS = 500;

/**
 * Returns the failure of a request to a server. The body of a failed HTTP answer is left out: servers echo the request
 * in it.
 * @param failedStatus Status of the HTTP answer that failed, if one did.
 */
export function toMcpFailure(thrown: unknown, failedStatus: number | undefined): SDKError {
  // The client package wraps what `fetch` throws.
  let error = thrown;
  for (let depth = 0; depth < 8 && error instanceof Error; depth += 1) {
    if (error instanceof SDKError) return error;
    error = error.cause;
  }
  if (thrown instanceof ProtocolError) {
    const text = thrown.message.toWellFormed().slice(0, MAX_MESSAGE_CHARS);
    return new ServerError(`${text} (JSON-RPC error ${thrown.code})`, { retryable: false });
  }
  if (failedStatus === undefined)
    return new StreamError("the response is not from an MCP server", { cause: thrown });
  if (failedStatus >= 500 || failedStatus === 429)
    return new ServerError(`the server failed (status ${failedStatus})`);
  // Statuses 401 and 403 concern the request too: the credentials are in it, or in the configuration.
  const isDenied = failedStatus === 401 || failedStatus === 403;
  const what = isDenied ? "the server did not accept the credentials" : "the server rejected the request";
  return new InvalidRequestError(`${what} (status ${failedStatus})`, { httpStatusCode: failedStatus });
}

/**
 * Reports whether a server that failed in this way may speak the protocol's first revision, which had another
 * transport.
 */
export function mayBeOlder(failure: unknown): boolean {
  return failure instanceof InvalidRequestError && ![401, 403].includes(failure.httpStatusCode ?? 401);
}
