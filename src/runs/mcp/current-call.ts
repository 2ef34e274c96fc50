import { AsyncLocalStorage } from "node:async_hooks";
import { AbortError, ServerError, toSdkError } from "../../core/errors.ts";
import {
  failureUnder,
  LinkedSignal,
  type SignalLimit,
  untilAborted,
} from "../../generation/loop/linked-signal.ts";
import type { HttpAnswer } from "../../kit/http/transport.ts";
import { toMcpFailure } from "./failure.ts";

/**
 * The call that an HTTP exchange belongs to. The client package has one fetch for everything it sends and, with servers
 * of the protocol's earlier revisions, hands no signal to it that ends a single call.
 */
export const currentCall = new AsyncLocalStorage<McpCall>();

/**
 * How long the answer may take to come out of its body once that has ended, in milliseconds. It takes none, but the
 * package does not tell when it has read all.
 */
const READING_MS = 1_000;

/** HTTP exchanges of one call. A server can make the client send: its requests are answered, and broken answers resumed. */
const MAX_EXCHANGES = 256;

/** One request to an MCP server, which may take several HTTP exchanges. To be run once. */
export class McpCall {
  /** Whether the server lets the answer be taken up again if a connection ends. */
  isResumable = false;
  readonly #linked: LinkedSignal;
  readonly #broken = Promise.withResolvers<never>();
  readonly #answers: HttpAnswer[] = [];
  #exchanges = 0;
  #failedStatus: number | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isOver = false;

  /** @param limit Running out is a RequestTimeoutError. */
  constructor(signal: AbortSignal | undefined, limit: SignalLimit) {
    this.#linked = new LinkedSignal(signal, limit);
  }

  /** Ends the exchanges of the call. */
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

  /** Runs the call until it has its answer, is stopped, or its last exchange ends without an answer. Throws SDKError. */
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
      this.#end();
    }
  }

  /** Servers may hold a stream of events open after the answer, or send it to its end. */
  #end(): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
    this.#linked.release();
    for (const answer of this.#answers) answer.release();
  }
}
