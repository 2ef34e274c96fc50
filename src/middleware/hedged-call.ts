import type { CallOptions, CallTarget, ParallelCall } from "../core/adapter.ts";
import { AnswerRelay } from "../core/answer-relay.ts";
import { AbortError, SDKError, toSdkError } from "../core/errors.ts";
import type { Attempt } from "../gen/outrigger/v1/attempt_pb.ts";
import type { Request } from "../gen/outrigger/v1/request_pb.ts";
import { LinkedSignal } from "../kit/call/linked-signal.ts";
import { type AttemptStart, attemptsUntil, failedAttempt, noteAttempts, startAttempt } from "./attempts.ts";
import { inheritChain } from "./fallback.ts";
import type { MiddlewareObserver } from "./observer.ts";
import { withPreviousError } from "./repeat-calls.ts";

/** How a call is hedged. */
export interface HedgedCallRule {
  /** Time without output before each further request. Infinity: there is none. */
  readonly afterMs: number;
  /** Maximum number of further requests. */
  readonly max: number;
  /** Returns the next request; undefined if none may be sent now. */
  takeNext(): Request | undefined;
  /** Called with the time until a request had output or was cancelled. */
  onTime(target: CallTarget, milliseconds: number): void;
  readonly observer: MiddlewareObserver | undefined;
}

/** The result of the request that answers a call, and the attempts that do not. */
export interface HedgedOutcome<Result> {
  readonly result: Result;
  readonly failed: readonly Attempt[];
}

type Send<Result> = (request: Request, options: CallOptions) => Promise<Result>;

/** The reason for cancelling a request: another one has answered. */
class LostError extends AbortError {}

/** Reports whether a request was cancelled because another one of the same call has answered. */
export function isLost({ signal }: CallOptions): boolean {
  return signal?.reason instanceof LostError;
}

interface Contender {
  readonly request: Request;
  readonly scope: LinkedSignal;
  readonly options: CallOptions;
  /** Undefined for the first request. */
  readonly parallel: ParallelCall | undefined;
  readonly isFirst: boolean;
  readonly start: AttemptStart;
  /** Undefined while it is in progress. */
  error: SDKError | undefined;
}

/** A call for which further requests are sent while it has no output. The first result wins. */
export class HedgedCall {
  readonly #first: Request;
  readonly #options: CallOptions;
  readonly #rule: HedgedCallRule;
  readonly #contenders: Contender[] = [];
  readonly #failed: Attempt[] = [];
  #isOver = false;
  #timer: NodeJS.Timeout | undefined;
  #winner: Contender | undefined;

  constructor(first: Request, options: CallOptions, rule: HedgedCallRule) {
    this.#first = first;
    this.#options = options;
    this.#rule = rule;
  }

  /** Time until the last request may be sent, in milliseconds. */
  get remainingMs(): number {
    const { afterMs, max } = this.#rule;
    return afterMs === Infinity ? 0 : afterMs * (max + 1 - this.#contenders.length);
  }

  /**
   * Sends the requests.
   * @param discard Closes a result that came too late.
   * @throws the error of the last request that failed, if all did, with the others as its causes.
   */
  run<Result>(send: Send<Result>, discard: (result: Result) => void): Promise<HedgedOutcome<Result>> {
    const { promise, resolve, reject } = Promise.withResolvers<HedgedOutcome<Result>>();
    const start = (request: Request) => {
      const contender = this.#begin(request);
      send(request, contender.options).then(
        (result) => {
          if (this.#isOver) return discard(result);
          this.#win(contender);
          resolve({ result, failed: this.#failed });
        },
        (thrown: unknown) => {
          if (this.#isOver) return;
          const error = this.#fail(contender, thrown);
          if (error !== undefined) reject(error);
        },
      );
      this.#timer = this.#waitForNext(start);
    };
    start(this.#first);
    return promise;
  }

  /** Must be called when the answer has ended. */
  release(): void {
    this.#winner?.scope.release();
  }

  #begin(request: Request): Contender {
    const isFirst = this.#contenders.length === 0;
    const scope = new LinkedSignal(this.#options.signal);
    const parallel = isFirst ? undefined : this.#options.beginParallel?.();
    const { source } = this.#options;
    const options: CallOptions = {
      ...this.#options,
      ...parallel?.options,
      ...(source && { source: { ...source, relay: new AnswerRelay() } }),
      signal: scope.signal,
      isHedged: true,
    };
    inheritChain(this.#options, options);
    const contender = { request, scope, options, parallel, isFirst, start: startAttempt(), error: undefined };
    this.#contenders.push(contender);
    return contender;
  }

  #waitForNext(start: (request: Request) => void): NodeJS.Timeout | undefined {
    const { afterMs, max } = this.#rule;
    if (afterMs === Infinity || this.#contenders.length > max) return undefined;
    return setTimeout(() => {
      const request = this.#isOver || this.#options.signal?.aborted ? undefined : this.#rule.takeNext();
      if (request !== undefined) start(request);
    }, afterMs);
  }

  #win(winner: Contender): void {
    this.#end(winner);
    this.#winner = winner;
    this.#rule.onTime(winner.request, elapsedMs(winner));
    for (const loser of this.#contenders)
      if (loser !== winner && loser.error === undefined) this.#cancel(loser);
    winner.parallel?.win();
    if (!winner.isFirst) this.#rule.observer?.hedged?.(winner.request, "won");
  }

  #cancel(loser: Contender): void {
    const error = new LostError("another request of the same call answered first");
    this.#failed.push(failedAttempt(loser.request, this.#options, loser.start, error));
    this.#rule.onTime(loser.request, elapsedMs(loser));
    loser.parallel?.lose();
    if (!loser.isFirst) this.#rule.observer?.hedged?.(loser.request, "lost");
    loser.scope.abort(error);
  }

  /** Records a failure. Returns the error of the call if no request remains. */
  #fail(contender: Contender, thrown: unknown): unknown {
    const error = toSdkError(thrown);
    contender.error = error;
    contender.scope.release();
    this.#failed.push(...attemptsUntil(error, contender.request, this.#options, contender.start));
    const left = this.#contenders.find((other) => other.error === undefined);
    if (left === undefined) contender.parallel?.win();
    else contender.parallel?.lose();
    if (contender.isFirst) left?.parallel?.endFirst();
    else this.#rule.observer?.hedged?.(contender.request, "failed");
    if (left !== undefined) return undefined;
    this.#end(contender);
    if (this.#contenders.length === 1 || !(thrown instanceof SDKError)) return thrown;
    const failure = this.#contenders
      .filter((other) => other !== contender)
      .reduceRight((last, { error: earlier }) => withPreviousError(last, earlier), error);
    noteAttempts(failure, this.#failed);
    return failure;
  }

  /** @param last The request whose answer or failure the caller gets. */
  #end(last: Contender): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
    const { relay } = last.options.source ?? {};
    if (relay !== undefined) this.#options.source?.relay.follow(relay);
  }
}

function elapsedMs({ start }: Contender): number {
  return performance.now() - start.monotonic;
}
