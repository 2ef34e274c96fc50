import { createHash } from "node:crypto";
import { fromBinary, toBinary } from "@bufbuild/protobuf";
import type { MiddlewareMethods } from "../client/middleware.ts";
import { replayedEvents } from "../client/replayed-events.ts";
import type { CallOptions } from "../core/adapter.ts";
import { lazyBatches } from "../core/batches.ts";
import { EventStream } from "../core/event-stream.ts";
import { getInferenceId } from "../core/ids.ts";
import type { SourceForm } from "../core/source-form.ts";
import { FinalResponse, type Request, RequestSchema } from "../gen/outrigger/v1/request_pb.ts";
import { FinishReason_Reason, type Response, ResponseSchema } from "../gen/outrigger/v1/response_pb.ts";
import type { StreamEvent } from "../gen/outrigger/v1/stream_event_pb.ts";
import { warning } from "../kit/call/loss-report.ts";
import { checkOption } from "./check-option.ts";
import type { MiddlewareObserver } from "./observer.ts";
import { watchStream } from "./watch-stream.ts";

/** Options of `createCache`. */
export interface CacheOptions {
  /** Seconds for which an answer is reused. Default 300. */
  readonly maxAge?: number | undefined;
  /** Maximum bytes of all answers together. Default 16 MiB. */
  readonly maxBytes?: number | undefined;
  /** Maximum number of answers. Default 1000. */
  readonly maxEntries?: number | undefined;
  /** Whether answers that call tools are cached. Default false, since tool results change. */
  readonly toolCalls?: boolean | undefined;
  /** Keeps the answers. Default: the memory of this process. */
  readonly store?: CacheStore | undefined;
  readonly observer?: MiddlewareObserver | undefined;
}

/**
 * Answers repeated requests from memory, or from a `store`. Requests are the same if all their fields are equal, except
 * time limits; complete and stream share their answers. Only whole answers are kept. A cached answer has the warning
 * `cache_hit`, the usage of the original one, and a cost of 0. Not cached: requests with hosted tools, which ask for
 * current data, and requests with `includeRaw`.
 * @throws ConfigurationError if an option is not above 0.
 */
export function createCache(options: CacheOptions = {}): Required<MiddlewareMethods> {
  const { store = createLocalCacheStore(options), toolCalls = false, observer } = options;
  const find = async (key: string, { provider, model }: Request, callOptions: CallOptions) => {
    const stored = await store.get(key);
    const response = stored && readAnswer(stored, toolCalls);
    observer?.cache?.({ provider, model }, response === undefined ? "miss" : "hit");
    return stored && response && answerFrom(response, stored, callOptions);
  };
  const keep = (key: string, response: Response) => {
    if (isWhole(response, toolCalls)) store.set(key, toBinary(ResponseSchema, { ...response, attempts: [] }));
  };
  return {
    async complete(request, next, callOptions) {
      // The response of an operation has no content that could be kept.
      const key = callOptions.operation === undefined ? toKey(request, callOptions) : undefined;
      const hit = key === undefined ? undefined : await find(key, request, callOptions);
      if (hit !== undefined) return hit;
      const response = await next(request);
      if (key !== undefined) keep(key, response);
      return response;
    },
    stream(request, next, callOptions) {
      const key = toKey(request, callOptions);
      const open = async () => {
        const hit = key === undefined ? undefined : await find(key, request, callOptions);
        if (hit !== undefined) return oneBatch(replayedEvents(hit, request, callOptions));
        const batches = next(request).batches();
        if (key === undefined) return batches;
        return watchStream(batches, {
          end: ({ response }) => response !== undefined && keep(key, response),
        });
      };
      return new EventStream(lazyBatches(open));
    },
  };
}

async function* oneBatch(batch: readonly StreamEvent[]): AsyncGenerator<readonly StreamEvent[]> {
  yield batch;
}

const DEFAULT_MAX_BYTES = 16 * 1024 * 1024;
const DEFAULT_MAX_AGE = 300;

/**
 * Creates a store that keeps the answers of a cache in memory.
 * @throws ConfigurationError if an option is not above 0.
 */
export function createLocalCacheStore(options: CacheOptions): CacheStore {
  const { maxBytes = DEFAULT_MAX_BYTES, maxEntries = 1000 } = options;
  for (const [name, value] of Object.entries({ maxBytes, maxEntries })) checkAboveZero(name, value);
  return new AnswerStore({ maxBytes, maxEntries, maxAgeMs: getMaxAgeMs(options) }, () => performance.now());
}

/**
 * Returns the milliseconds for which a cache uses an answer.
 * @throws ConfigurationError if the option is not above 0.
 */
export function getMaxAgeMs({ maxAge = DEFAULT_MAX_AGE }: CacheOptions): number {
  checkAboveZero("maxAge", maxAge);
  return maxAge * 1000;
}

function checkAboveZero(name: string, value: number): void {
  checkOption(`the cache's ${name}`, value, value > 0, "a number above 0");
}

/** Returns the key of a request; undefined if its answer must not be kept. */
function toKey(request: Request, { source }: CallOptions): string | undefined {
  if (request.includeRaw || request.tools.some(({ tool }) => tool.case === "hosted")) return undefined;
  return requestKey(request, source);
}

/**
 * Returns a stored answer. Undefined if this cache would not have kept it, since other programs may share its store.
 */
function readAnswer({ bytes }: StoredAnswer, toolCalls: boolean): Response | undefined {
  try {
    const response = fromBinary(ResponseSchema, bytes);
    return response.message !== undefined && isWhole(response, toolCalls) ? response : undefined;
  } catch {
    return undefined;
  }
}

/** @param toolCalls Whether an answer that calls tools counts as whole. */
function isWhole({ finishReason, warnings }: Response, toolCalls: boolean): boolean {
  // Some servers report a normal end although the token limit cut off the answer.
  if (warnings.some(({ code }) => code === "limit_reached")) return false;
  const reason = finishReason?.reason;
  return reason === FinishReason_Reason.STOP || (toolCalls && reason === FinishReason_Reason.TOOL_CALLS);
}

/**
 * Returns a stored answer for another call: without the account's rate limits, which are outdated, and without a cost.
 */
function answerFrom(
  { rateLimit: _, ...response }: Response,
  { storedAt }: StoredAnswer,
  options: CallOptions,
): Response {
  const age = Math.round((performance.now() - storedAt) / 1000);
  const hit = warning("", "cache_hit", `the answer is from the cache and ${age} s old`);
  return {
    ...response,
    inferenceId: getInferenceId(options),
    warnings: [...response.warnings, hit],
    ...(response.usage === undefined ? {} : { usage: { ...response.usage, costNanoUsd: 0n } }),
  };
}

/**
 * Returns a hash over all fields of a request that may change its answer: everything except its time limits and the
 * setting for the end of a stream. Requests with the same fields have the same key, whatever the order of their maps.
 * @param source Its source form, which may have fields that the request lacks.
 */
export function requestKey(request: Request, source?: SourceForm): string {
  const { timeouts: _, ...rest } = request;
  const canonical: Request = {
    ...rest,
    finalResponse: FinalResponse.UNSPECIFIED,
    metadata: sorted(request.metadata),
    providerOptionsJson: sorted(request.providerOptionsJson),
  };
  const hash = createHash("sha256").update(toBinary(RequestSchema, canonical));
  if (source !== undefined) hash.update(JSON.stringify(toComparable(source)));
  return hash.digest("base64");
}

/** Returns the fields that may change the answer. */
function toComparable({ api, getMembers }: SourceForm): readonly unknown[] {
  return [api, [...getMembers()].filter(([name]) => name !== "model" && !name.startsWith("stream"))];
}

function sorted(map: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(map).sort(([left], [right]) => (left < right ? -1 : 1)));
}

/** The limits of a store. */
export interface StoreLimits {
  readonly maxBytes: number;
  readonly maxEntries: number;
  readonly maxAgeMs: number;
}

/** A cached answer. */
export interface StoredAnswer {
  /** Encoded, so that callers cannot change each other's answers, and the size is known. */
  readonly bytes: Uint8Array;
  /** When it was stored, in milliseconds of the process's monotonic clock. */
  readonly storedAt: number;
}

/** Keeps answers by keys. No method fails. */
export interface CacheStore {
  /** Returns the answer of a key; undefined if none is recent enough. */
  get(key: string): StoredAnswer | undefined | Promise<StoredAnswer | undefined>;
  /** Keeps an answer, unless it is too large. */
  set(key: string, bytes: Uint8Array): void;
}

/** An LRU cache of answers. */
export class AnswerStore implements CacheStore {
  readonly #limits: StoreLimits;
  readonly #now: () => number;
  readonly #answers = new Map<string, StoredAnswer>();
  #bytes = 0;

  /** @param now Milliseconds of a monotonic clock. */
  constructor(limits: StoreLimits, now: () => number) {
    this.#limits = limits;
    this.#now = now;
  }

  /** Returns the answer of a key; undefined if none is recent enough. */
  get(key: string): StoredAnswer | undefined {
    const answer = this.#answers.get(key);
    if (answer === undefined) return undefined;
    this.#delete(key, answer);
    if (this.#now() - answer.storedAt >= this.#limits.maxAgeMs) return undefined;
    this.#add(key, answer);
    return answer;
  }

  /** Keeps an answer, unless it is larger than the whole store. */
  set(key: string, bytes: Uint8Array): void {
    const former = this.#answers.get(key);
    if (former !== undefined) this.#delete(key, former);
    if (bytes.byteLength > this.#limits.maxBytes) return;
    this.#add(key, { bytes, storedAt: this.#now() });
    for (const [oldest, answer] of this.#answers) {
      if (this.#bytes <= this.#limits.maxBytes && this.#answers.size <= this.#limits.maxEntries) return;
      this.#delete(oldest, answer);
    }
  }

  #add(key: string, answer: StoredAnswer): void {
    this.#answers.set(key, answer);
    this.#bytes += answer.bytes.byteLength;
  }

  #delete(key: string, answer: StoredAnswer): void {
    this.#answers.delete(key);
    this.#bytes -= answer.bytes.byteLength;
  }
}
