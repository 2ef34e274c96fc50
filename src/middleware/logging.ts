import type { MiddlewareMethods } from "../client/middleware.ts";
import { compact } from "../core/compact.ts";
import { ProviderError, type SDKError } from "../core/errors.ts";
import { type FinishReasonName, finishReasonOf } from "../core/response.ts";
import type { Response } from "../gen/outrigger/v1/response_pb.ts";
import { checkOption } from "./check-option.ts";
import { type LoggedMessage, LogTexts } from "./log-texts.ts";
import { type CallWatcher, watchCalls } from "./watch-stream.ts";

/** The log entry of an attempt to get an answer from a provider. Unknown fields are absent. */
export interface AttemptEntry {
  readonly kind: "complete" | "stream";
  readonly provider: string;
  readonly model: string;
  readonly inferenceId?: string;
  readonly durationMs: number;
  /** Until the first event of a stream. */
  readonly firstEventMs?: number;
  readonly finishReason?: FinishReasonName;
  readonly inputTokens?: number;
  readonly outputTokens?: number;
  /** By the catalog or the provider. */
  readonly costUsd?: number;
  /** The kind of the error, as `SDKError.kindName`. */
  readonly errorKind?: string;
  readonly httpStatus?: number;
  readonly providerRequestId?: string;
  /** Whether the reader of a stream left before its end. */
  readonly left?: true;
  /** The latest messages of the request. Only if they were requested. */
  readonly messages?: readonly LoggedMessage[];
  /** The text of the answer. Only if it was requested. */
  readonly answer?: string;
}

/** Content that a log may hold. */
export type LoggedContent = "messages" | "answer";

/** Options of `createLogging`. */
export interface LoggingOptions {
  /** Receives one entry for each attempt when it has ended. Its errors are ignored: a log must not fail a call. */
  readonly log: (entry: AttemptEntry) => void;
  /** Content to log in addition to the facts. Default: none, since users' texts are private. */
  readonly include?: readonly LoggedContent[] | undefined;
  /** Changes each text before it is logged. Texts that look like a key are removed before. */
  readonly redact?: ((text: string) => string) | undefined;
  /** Maximum UTF-16 code units of all messages of an entry together, and of its answer. Default 2000. */
  readonly maxTextLength?: number | undefined;
}

/**
 * Logs each attempt to get an answer: its target, duration, usage and outcome. To see every attempt, put it after
 * retries and fallbacks. Entries hold no prompt and no answer unless that is configured. Keys are removed from both.
 * @throws ConfigurationError if `maxTextLength` is not above 0.
 */
export function createLogging(options: LoggingOptions): Required<MiddlewareMethods> {
  const { log, include = [], redact, maxTextLength = 2000 } = options;
  checkOption("the log's maxTextLength", maxTextLength, maxTextLength > 0, "a number above 0");
  const texts = new LogTexts(maxTextLength, redact);
  const included = new Set(include);
  return watchCalls((request, { inferenceId }, kind): CallWatcher => {
    const startedAt = performance.now();
    const elapsedMs = () => Math.round((performance.now() - startedAt) * 10) / 10;
    let firstEventMs: number | undefined;
    const toEntry = (response: Response | undefined, error: SDKError | undefined): AttemptEntry =>
      compact({
        kind,
        provider: request.provider,
        model: request.model,
        inferenceId,
        durationMs: elapsedMs(),
        firstEventMs,
        ...getFacts(response, error),
        left: response === undefined && error === undefined ? (true as const) : undefined,
        messages: included.has("messages") ? texts.logMessages(request) : undefined,
        answer: included.has("answer") && response !== undefined ? texts.logAnswer(response) : undefined,
      });
    return {
      begin() {
        firstEventMs = elapsedMs();
      },
      end({ response, error }) {
        try {
          log(toEntry(response, error));
        } catch {
          // A failing log does not fail the call.
        }
      },
    };
  });
}

function getFacts(response: Response | undefined, error: SDKError | undefined) {
  const usage = response?.usage ?? error?.usage;
  const failure = error instanceof ProviderError ? error : undefined;
  return {
    finishReason: response && finishReasonOf(response),
    inputTokens: usage?.inputTokens,
    outputTokens: usage?.outputTokens,
    costUsd: usage?.costNanoUsd === undefined ? undefined : Number(usage.costNanoUsd) / 1e9,
    errorKind: error?.kindName,
    httpStatus: failure?.httpStatusCode,
    providerRequestId: response?.providerRequestId || failure?.requestId || undefined,
  };
}
