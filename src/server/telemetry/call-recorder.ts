import { randomUUID } from "node:crypto";
import type { CallTimes, CallTiming, WaitedFor } from "../../core/call-timing.ts";
import { anyCaller, type Caller } from "../../core/caller.ts";
import type { TraceContext } from "../../core/trace-context.ts";
import type { Request } from "../../gen/outrigger/v1/request_pb.ts";
import { codeName } from "../status/status-code.ts";
import type {
  Attempt,
  AttemptOutcome,
  Call,
  CallObserver,
  FirstOutput,
  ServiceOutcome,
  ToolExecution,
  TransportOutcome,
} from "./call-observer.ts";

/** Header with the id of a request, in requests and responses. */
export const REQUEST_ID_HEADER = "x-request-id";

/** Response header with the id of a provider call. */
export const INFERENCE_ID_HEADER = "outrigger-inference-id";

/** Response header and trailer with the times of a call. */
export const TIMING_HEADER = "outrigger-timing";

/** The data with which a call arrives. */
export interface CallInit extends Pick<Call, "rpc" | "requestId" | "httpVersion" | "protocol"> {
  /** Default: anybody. */
  readonly caller?: Caller | undefined;
  readonly trace?: TraceContext | undefined;
  /** Default: false. */
  readonly isBackground?: boolean;
}

/** A request to a provider that has begun. */
export interface BegunAttempt {
  readonly attempt: Attempt;
  /** By `performance.now()`. */
  readonly attemptStartedAt: number;
  /** The trace context to send with it. */
  readonly trace: TraceContext | undefined;
  hasAttemptEnded: boolean;
}

/** The known parts of the result of a request to a provider. */
export interface AttemptResult extends Pick<AttemptOutcome, "usage" | "response"> {
  readonly failure: AttemptOutcome["error"];
}

/** The time during which the call waited for one thing. Waits that overlap count once. */
interface Wait {
  /** Number of waits in progress. */
  open: number;
  /** When the first of them began, by `performance.now()`. */
  since: number;
  /** Duration of all waits before that, in milliseconds. */
  ms: number;
}

/**
 * Follows one call for the observers. The transport that carries the call creates and ends the recorder; the service
 * that answers the call finds it in the context values and reports what it knows.
 */
export class CallRecorder implements CallTiming {
  readonly call: Call;
  /** The trace context for the work that the call causes, such as runs. Undefined if the call is not traced. */
  readonly trace: TraceContext | undefined;
  /**
   * Headers by which a client can name this call. A transport sends them with the first frame of the response, even if
   * that frame holds the trailers of a failed call.
   */
  readonly responseIds: Record<string, string>;
  /** The service's outcome of the call, which it sets before the transport ends the call. */
  outcome: ServiceOutcome | undefined;
  readonly #observers: readonly CallObserver[];
  #attempt: Attempt | undefined;
  #attempts = 0;
  #firstOutputMs: number | undefined;
  readonly #waits: Readonly<Record<WaitedFor, Wait>> = {
    provider: { open: 0, since: 0, ms: 0 },
    queue: { open: 0, since: 0, ms: 0 },
  };

  constructor(
    { rpc, requestId, httpVersion, protocol, caller = anyCaller, trace, isBackground = false }: CallInit,
    observers: readonly CallObserver[],
  ) {
    const startedAt = performance.now();
    this.call = {
      rpc,
      requestId,
      httpVersion,
      protocol,
      caller,
      trace,
      isBackground,
      isProbe: PROBES.test(rpc),
      startedAt,
    };
    this.responseIds = { [REQUEST_ID_HEADER]: requestId };
    this.#observers = observers;
    let ours: TraceContext | undefined;
    for (const observer of observers) {
      observer.begin?.(this.call);
      ours = observer.getCallTrace?.(this.call) ?? ours;
    }
    this.trace = ours ?? trace;
  }

  beginWait(waitedFor: WaitedFor): void {
    const wait = this.#waits[waitedFor];
    if (wait.open === 0) wait.since = performance.now();
    wait.open += 1;
  }

  endWait(waitedFor: WaitedFor): void {
    const wait = this.#waits[waitedFor];
    wait.open -= 1;
    if (wait.open === 0) wait.ms += performance.now() - wait.since;
  }

  #readTimes(): CallTimes {
    const now = performance.now();
    const total = now - this.call.startedAt;
    const { provider: upstream, queue: line } = this.#waits;
    const provider = upstream.ms + (upstream.open > 0 ? now - upstream.since : 0);
    const queue = line.ms + (line.open > 0 ? now - line.since : 0);
    return { total, ours: Math.max(0, total - provider - queue), provider, queue };
  }

  /**
   * Returns the times of the call until now, as a header or a trailer, in the form of Server-Timing (W3C): in
   * milliseconds with one decimal. Empty if it has called no provider.
   */
  getTimingHeader(): Record<string, string> {
    if (this.#attempts === 0) return {};
    const { ours, provider, queue, total } = this.#readTimes();
    const waits = `provider;dur=${roundedMs(provider)}, queue;dur=${roundedMs(queue)}`;
    return { [TIMING_HEADER]: `ours;dur=${roundedMs(ours)}, ${waits}, total;dur=${roundedMs(total)}` };
  }

  /** Reports that a request to a provider begins. */
  attempt(attempt: Attempt, request: Request | undefined): BegunAttempt {
    this.#attempt = attempt;
    this.#attempts += 1;
    let trace: TraceContext | undefined;
    for (const observer of this.#observers) {
      observer.attempt?.(this.call, attempt, request);
      trace = observer.getSentTrace?.(attempt) ?? trace;
    }
    return { attempt, attemptStartedAt: performance.now(), hasAttemptEnded: false, trace };
  }

  /**
   * Reports the end of a request to a provider, unless it is reported already.
   * @param result Undefined if the call is sent again, or to another provider.
   */
  attemptEnd(begun: BegunAttempt, result: AttemptResult | undefined): void {
    if (begun.hasAttemptEnded) return;
    begun.hasAttemptEnded = true;
    const outcome = {
      durationMs: performance.now() - begun.attemptStartedAt,
      isRepeated: result === undefined,
      error: result?.failure,
      usage: result?.usage,
      response: result?.response,
    };
    for (const observer of this.#observers) observer.attemptEnd?.(this.call, begun.attempt, outcome);
  }

  /** Reports that the caller is asked to execute a tool. Returns the function that reports its result. */
  tool(tool: ToolExecution): (hasFailed: boolean) => void {
    for (const observer of this.#observers) observer.tool?.(this.call, tool);
    return (hasFailed) => {
      for (const observer of this.#observers) observer.toolEnd?.(this.call, tool, hasFailed);
    };
  }

  /** Reports that the first output of a stream has arrived. */
  firstOutput(source: Omit<FirstOutput, "elapsedMs">): void {
    const elapsedMs = performance.now() - this.call.startedAt;
    this.#firstOutputMs ??= elapsedMs;
    const output = { ...source, elapsedMs };
    for (const observer of this.#observers) observer.firstOutput?.(this.call, output);
  }

  /** Reports the end of the call with its transport's outcome. Must be called once, and last. */
  end({ code, disconnected, fault, error }: TransportOutcome): void {
    const attempt = this.#attempt;
    const report = this.outcome;
    const outcome = {
      code,
      codeName: code === undefined ? "OK" : codeName(code),
      disconnected,
      fault,
      durationMs: performance.now() - this.call.startedAt,
      firstOutputMs: this.#firstOutputMs,
      inferenceId: attempt?.inferenceId,
      provider: report?.provider ?? attempt?.provider,
      model: report?.model ?? attempt?.model,
      usage: report?.usage,
      attempts: this.#attempts,
      times: this.#attempts === 0 ? undefined : this.#readTimes(),
      error: report?.error ?? error,
      reason: report?.reason,
      abortedByShutdown: report?.abortedByShutdown,
    };
    for (const observer of this.#observers) observer.end(this.call, outcome);
  }
}

// Probes come every second; their lines would bury the others.
const PROBES = /^grpc\.(health|reflection)\./;

/** Rounds milliseconds to one decimal. */
export function roundedMs(ms: number): number {
  return Math.round(ms * 10) / 10;
}

// Visible and short, without characters that have a meaning in log viewers or shells.
const VALID_ID = /^[\w.:@/+=-]{1,128}$/;

/** Returns the client's id if it is valid: up to 128 letters, digits and `_.:@/+=-`. Otherwise returns a new UUID. */
export function getRequestId(header: string | readonly string[] | undefined): string {
  return typeof header === "string" && VALID_ID.test(header) ? header : randomUUID();
}
