/** The log of the server: one line per call, without prompts, answers or keys. */
import { Code } from "@connectrpc/connect";
import {
  type DestinationStream,
  type Logger,
  type LoggerOptions as PinoOptions,
  pino,
  stdTimeFunctions,
} from "pino";
import type { Call, CallObserver, Outcome } from "./call-observer.ts";
import { roundedMs } from "./call-recorder.ts";
import { type FailedBy, findFailedBy, toFailureFields } from "./failed-call.ts";

/** Options of a logger. */
export interface LoggerOptions {
  /** `trace`, `debug`, `info`, `warn`, `error`, `fatal` or `silent`. Default `info`. */
  readonly level?: string | undefined;
  /** The form of levels and times. Default `numbers`. */
  readonly format?: LogFormat | undefined;
  /** The destination of the lines. */
  readonly destination: DestinationStream;
}

/** `numbers`: `"level":30,"time":1767225600000`. `words`: `"level":"info","time":"2026-01-01T00:00:00.000Z"`. */
export type LogFormat = "numbers" | "words";

/**
 * Creates the logger of the program: JSON lines, in which the values of headers and fields that hold a key are
 * `[redacted]`, up to two levels deep.
 */
export function createLogger({ level = "info", format = "numbers", destination }: LoggerOptions): Logger {
  // pino's redaction is not used: with every name at every depth it costs a tenth of a whole call.
  const options: PinoOptions = {
    level,
    formatters: {
      log: redact,
      bindings: redact,
      ...(format === "words" ? { level: (label: string) => ({ level: label }) } : {}),
    },
    ...(format === "words" ? { timestamp: stdTimeFunctions.isoTime } : {}),
  };
  return pino(options, destination);
}

/**
 * Logs each call when it has ended: info for successful calls, debug for probes and calls that their client cancelled,
 * warn for calls that a shutdown aborted and for failures by a caller, a provider or the network, error for failures by
 * the sidecar: its bugs, its configuration, and its keys that providers refuse.
 */
export function createCallLog(logger: Logger): CallObserver {
  return {
    end(call, outcome) {
      const { code, error } = outcome;
      // A run that failed is the answer of a successful call.
      const hasFailed = code !== undefined || error !== undefined;
      const line = toLine(call, outcome);
      if (hasFailed) Object.assign(line, toFailureFields(outcome));
      // INTERNAL is also the status for a client that breaks gRPC, which is not a bug of this program.
      const fault = code === Code.Internal ? (outcome.fault ?? error?.cause ?? error) : undefined;
      if (fault !== undefined) logger.error({ ...line, fault: describeFault(fault) }, "call failed");
      else if (outcome.abortedByShutdown) logger.warn(line, "call cut off by shutdown");
      else if (outcome.disconnected) logger.debug(line, "client disconnected");
      else if (call.isProbe) logger.debug(line, "call");
      else if (!hasFailed) logger.info(line, "call");
      else logger[LEVELS[findFailedBy(outcome)]](line, "call failed");
    },
  };
}

const LEVELS: Readonly<Record<FailedBy, "warn" | "error">> = {
  caller: "warn",
  provider: "warn",
  network: "warn",
  sidecar: "error",
};

/**
 * Returns the fields of a thrown value that the log may contain: its type, its system code and its stack. Its message
 * is left out: a JSON parser, for instance, quotes the text that it cannot parse.
 */
export function describeFault(thrown: unknown): Record<string, unknown> {
  if (!(thrown instanceof Error)) return { type: typeof thrown };
  // The stack begins with the message, which may itself contain lines that look like stack frames.
  const frames = (thrown.stack ?? "")
    .replace(thrown.message, "")
    .split("\n")
    .filter((line) => /^\s+at /.test(line));
  return {
    type: thrown.name,
    ...("code" in thrown && typeof thrown.code === "string" ? { code: thrown.code } : {}),
    stack: frames.slice(0, MAX_FRAMES).map((line) => line.trim()),
    ...(thrown.cause === undefined ? {} : { cause: describeFault(thrown.cause) }),
  };
}

/** Copies an object for the log, without the values of secret names. */
function redact(object: Record<string, unknown>, depth = MAX_REDACTED_DEPTH): Record<string, unknown> {
  let result = object;
  // Runs for every call: Object.entries would allocate an array for each field.
  for (const name in object) {
    const value = object[name];
    const isNested = depth > 0 && typeof value === "object" && value !== null;
    const clean = SECRET_NAMES.has(name)
      ? "[redacted]"
      : isNested
        ? redact(value as Record<string, unknown>, depth - 1)
        : value;
    if (clean === value) continue;
    if (result === object) result = { ...object };
    result[name] = clean;
  }
  return result;
}

const MAX_REDACTED_DEPTH = 2;

const SECRET_NAMES: ReadonlySet<string> = new Set([
  "authorization",
  "proxy-authorization",
  "x-api-key",
  "x-goog-api-key",
  "api-key",
  "cookie",
  "apiKey",
  "api_key",
]);

const MAX_FRAMES = 12;

/** Returns the fields of a call's log line. Undefined fields are not written. */
function toLine(call: Call, outcome: Outcome): Record<string, unknown> {
  const { firstOutputMs, inferenceId, provider, model, usage } = outcome;
  return {
    rpc: call.rpc,
    protocol: call.protocol,
    http: call.httpVersion,
    code: outcome.codeName,
    request_id: call.requestId,
    trace_id: call.trace?.traceId,
    caller: call.caller.name || undefined,
    duration_ms: roundedMs(outcome.durationMs),
    first_output_ms: firstOutputMs === undefined ? undefined : roundedMs(firstOutputMs),
    inference_id: inferenceId,
    provider: provider || undefined,
    model: model || undefined,
    input_tokens: usage?.inputTokens,
    output_tokens: usage?.outputTokens,
  };
}
