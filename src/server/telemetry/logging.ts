/** What the server writes into its log: one line per call, never a prompt, an answer or a key. */
import { Code } from "@connectrpc/connect";
import { type DestinationStream, type Logger, type LoggerOptions as PinoOptions, pino } from "pino";
import { ProviderError } from "../../core/errors.ts";
import { codeName, kindName } from "../status/status-code.ts";
import type { Call } from "./call.ts";

/** How to make a logger. */
export interface LoggerOptions {
  /** `trace`, `debug`, `info`, `warn`, `error`, `fatal` or `silent`. Default `info`. */
  readonly level?: string | undefined;
  /** Where lines go. Default: stdout, in writes of some lines, each at most a tenth of a second late. */
  readonly destination?: DestinationStream | undefined;
}

/**
 * The logger of the program: JSON lines, in which whatever stands under the name of a header
 * or field that holds a key is `[redacted]`, up to two levels deep.
 */
export function createLogger({ level = "info", destination }: LoggerOptions = {}): Logger {
  // Not pino's own redaction: with every name at every depth it costs a tenth of a whole call.
  const options: PinoOptions = {
    level,
    formatters: { log: (object) => redact(object), bindings: (object) => redact(object) },
  };
  return pino(options, destination ?? bufferedStdout());
}

/** A write for each call would cost it more than all the rest of its line. What is buffered is written on exit, too. */
function bufferedStdout(): DestinationStream {
  return pino.destination({ fd: 1, sync: false, minLength: BUFFER_BYTES, periodicFlush: FLUSH_INTERVAL_MS });
}

const BUFFER_BYTES = 4096;
const FLUSH_INTERVAL_MS = 100;

/**
 * Writes the line of a call that has ended. Info for calls of Outrigger, debug for probes and
 * for what a caller abandoned, error for a bug of ours.
 */
export function logCall(logger: Logger, call: Call, durationMs: number): void {
  const line = lineOf(call, durationMs);
  const fault = faultOf(call);
  if (fault !== undefined) logger.error({ ...line, fault: describeFault(fault) }, "call failed");
  else if (call.abandoned) logger.debug(line, "caller left");
  else if (isProbe(call.rpc)) logger.debug(line, "call");
  else logger.info(line, "call");
}

/** Whether an RPC only asks how the server is. */
export function isProbe(rpc: string): boolean {
  return PROBES.test(rpc);
}

/**
 * What a log may say of a thrown value: its type, its system code and where it came from. Not
 * its message: a JSON parser, for one, quotes the text that it did not like.
 */
export function describeFault(thrown: unknown): Record<string, unknown> {
  if (!(thrown instanceof Error)) return { type: typeof thrown };
  // The message stands at the head of the stack, and may look like a part of it.
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

/** An object to be logged, without what is secret by its name. */
function redact(object: Record<string, unknown>, depth = MAX_REDACTED_DEPTH): Record<string, unknown> {
  let result = object;
  for (const [name, value] of Object.entries(object)) {
    const clean = SECRET_NAMES.has(name) ? "[redacted]" : redactWithin(value, depth);
    if (clean === value) continue;
    if (result === object) result = { ...object };
    result[name] = clean;
  }
  return result;
}

function redactWithin(value: unknown, depth: number): unknown {
  const isObject = typeof value === "object" && value !== null;
  return isObject && depth > 0 ? redact(value as Record<string, unknown>, depth - 1) : value;
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

// Probes come every second; their lines would bury the others.
const PROBES = /^grpc\.(health|reflection)\./;

const MAX_FRAMES = 12;

function lineOf(call: Call, durationMs: number): Record<string, unknown> {
  return {
    rpc: call.rpc,
    protocol: call.protocol,
    http: call.httpVersion,
    code: codeName(call.code),
    request_id: call.requestId,
    duration_ms: Math.round(durationMs * 10) / 10,
    ...(call.inferenceId === "" ? {} : { inference_id: call.inferenceId }),
    ...(call.provider === "" ? {} : { provider: call.provider }),
    ...(call.model === "" ? {} : { model: call.model }),
    ...(call.usage === undefined
      ? {}
      : { input_tokens: call.usage.inputTokens, output_tokens: call.usage.outputTokens }),
    ...errorFields(call),
  };
}

function errorFields({ error }: Call): Record<string, unknown> {
  if (error === undefined) return {};
  const fields: Record<string, unknown> = { error_kind: kindName(error.kind) };
  if (error instanceof ProviderError) {
    if (error.httpStatusCode !== undefined) fields.http_status = error.httpStatusCode;
    if (error.requestId !== undefined) fields.provider_request_id = error.requestId;
  }
  return fields;
}

/** What a bug of ours threw; undefined where there was none. A caller who breaks the protocol is INTERNAL too, to gRPC. */
function faultOf({ code, error, fault }: Call): unknown {
  return code === Code.Internal ? (fault ?? error?.cause ?? error) : undefined;
}
