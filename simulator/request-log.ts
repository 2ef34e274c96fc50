import type { IncomingHttpHeaders } from "node:http";

/** A request that the simulator received, and how it ended. */
export interface SimulatedRequest {
  /** Number of the request in this simulator, from 1. */
  readonly number: number;
  /** The `x-request-id` of the response, or the provider's equivalent. */
  readonly requestId: string;
  readonly method: string;
  /** Path without the query. */
  readonly path: string;
  /** Headers as received, keys included. */
  readonly headers: IncomingHttpHeaders;
  /** The body as JSON, or as text if it is not JSON; undefined if it was too large to keep. */
  readonly body: unknown;
  /** Size of the body in bytes. */
  readonly bodyBytes: number;
  /** When its first bytes arrived, in milliseconds since 1970, with fractions. */
  readonly receivedAt: number;
  /** When the response ended or the socket closed, in the same unit; undefined while it is in progress. */
  readonly closedAt: number | undefined;
  /** Whether the caller closed the connection before the response had ended. */
  readonly aborted: boolean;
  /** Status of the response; undefined while there is none. */
  readonly status: number | undefined;
  /** Number of written events of a stream. */
  readonly events: number;
}

/** A request that is being answered. */
export type OpenRequest = { -readonly [Field in keyof SimulatedRequest]: SimulatedRequest[Field] };

/** Options for waiting for a request in a test. */
export interface WaitOptions {
  /** Milliseconds after which the wait fails. Defaults to 15000, for busy machines. */
  readonly timeoutMs?: number;
  /** Returns whether a request is the awaited one. Defaults to any request. */
  readonly where?: (request: SimulatedRequest) => boolean;
}

/** Limits of the log. */
export interface RequestLogLimits {
  /** Maximum number of stored requests; the oldest are dropped. Defaults to 1000. */
  readonly maxEntries?: number;
  /** Maximum size of all stored bodies; the oldest requests are dropped. Defaults to 32 MiB. */
  readonly maxBytes?: number;
}

/** The received requests, up to the limits. */
export interface RequestLog {
  /** The stored requests, oldest first. */
  readonly entries: readonly SimulatedRequest[];
  add(request: OpenRequest): void;
  /** Marks the end of a request. */
  close(request: OpenRequest, aborted: boolean): void;
  clear(): void;
  waitForRequest(options?: WaitOptions): Promise<SimulatedRequest>;
  waitForClose(options?: WaitOptions): Promise<SimulatedRequest>;
  /** Rejects all pending waits. */
  stop(): void;
}

/** Default time that a test waits, in milliseconds. */
const defaultTimeoutMs = 15_000;

/** Returns milliseconds since 1970, with fractions. */
export function now(): number {
  return performance.timeOrigin + performance.now();
}

interface Waiter {
  readonly check: (request: SimulatedRequest) => boolean;
  readonly resolve: (request: SimulatedRequest) => void;
  readonly reject: (error: Error) => void;
}

/** Returns the bytes of a request that count towards the limit. */
function keptSize(request: SimulatedRequest): number {
  return request.body === undefined ? 0 : request.bodyBytes;
}

/** Creates an empty log. */
export function createRequestLog(limits: RequestLogLimits = {}): RequestLog {
  const { maxEntries = 1000, maxBytes = 32 * 1024 * 1024 } = limits;
  const entries: OpenRequest[] = [];
  const waiters = new Set<Waiter>();
  let keptBytes = 0;

  const drop = (): void => {
    const oldest = entries.shift();
    if (oldest !== undefined) keptBytes -= keptSize(oldest);
  };
  const notify = (request: SimulatedRequest): void => {
    for (const waiter of waiters) if (waiter.check(request)) waiter.resolve(request);
  };
  const add = (request: OpenRequest): void => {
    if (request.bodyBytes > maxBytes) request.body = undefined;
    keptBytes += keptSize(request);
    entries.push(request);
    while (entries.length > maxEntries || keptBytes > maxBytes) drop();
    notify(request);
  };
  const close = (request: OpenRequest, aborted: boolean): void => {
    request.closedAt = now();
    request.aborted = aborted;
    notify(request);
  };
  const wait = (
    what: string,
    options: WaitOptions,
    matches: (request: SimulatedRequest) => boolean,
  ): Promise<SimulatedRequest> => {
    const check = (request: SimulatedRequest): boolean =>
      matches(request) && (options.where?.(request) ?? true);
    const present = entries.find(check);
    if (present !== undefined) return Promise.resolve(present);
    return addWaiter(
      waiters,
      check,
      `${what} within ${options.timeoutMs ?? defaultTimeoutMs} ms`,
      options.timeoutMs,
    );
  };
  return {
    entries,
    add,
    close,
    clear: () => {
      entries.length = 0;
      keptBytes = 0;
    },
    waitForRequest: (options = {}) => wait("no such request arrived", options, () => true),
    waitForClose: (options = {}) =>
      wait("no such request ended", options, (request) => request.closedAt !== undefined),
    stop: () => {
      for (const waiter of waiters) waiter.reject(new Error("the simulator was closed"));
    },
  };
}

async function addWaiter(
  waiters: Set<Waiter>,
  check: Waiter["check"],
  timeoutMessage: string,
  timeoutMs = defaultTimeoutMs,
): Promise<SimulatedRequest> {
  const { promise, resolve, reject } = Promise.withResolvers<SimulatedRequest>();
  const timer = setTimeout(() => reject(new Error(timeoutMessage)), timeoutMs);
  const waiter: Waiter = { check, resolve, reject };
  waiters.add(waiter);
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    waiters.delete(waiter);
  }
}
