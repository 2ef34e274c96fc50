import type { MiddlewareMethods } from "../client/middleware.ts";
import type { CallOptions } from "../core/adapter.ts";
import { compact } from "../core/compact.ts";
import { ProviderError, type SDKError } from "../core/errors.ts";
import { type FinishReasonName, finishReasonOf } from "../core/response.ts";
import type { Request } from "../gen/outrigger/v1/request_pb.ts";
import type { Response } from "../gen/outrigger/v1/response_pb.ts";
import { checkOption } from "./check-option.ts";
import { type LoggedMessage, LogTexts } from "./log-texts.ts";
import { type CallEnd, type CallWatcher, watchCalls } from "./watch-stream.ts";

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
  /** The latest messages of the request. Only if they were asked for. */
  readonly messages?: readonly LoggedMessage[];
  /** The text of the answer. Only if it was asked for. */
  readonly answer?: string;
}

/** Content that a log may hold. */
export type LoggedContent = "messages" | "answer";

/** Options of `createLogging`. */
export interface LoggingOptions {
  /** Takes one entry for each attempt when it is over. Its errors are ignored: a log must not fail a call. */
  readonly log: (entry: AttemptEntry) => void;
  /** Content to log beside the facts. Default: none, since users' texts are private. */
  readonly include?: readonly LoggedContent[] | undefined;
  /** Changes each text before it is logged. Texts that look like a key are removed before. */
  readonly redact?: ((text: string) => string) | undefined;
  /** Maximum UTF-16 code units of all messages of an entry together, and of its answer. Default 2000. */
  readonly maxTextLength?: number | undefined;
}

/**
 * Logs each attempt to get an answer: its target, duration, usage and outcome. To see every attempt, put it after
 * retries and fallbacks. Holds no prompt, no answer and no key unless configured to.
 * @throws ConfigurationError if `maxTextLength` is not above 0.
 */
export function createLogging(options: LoggingOptions): Required<MiddlewareMethods> {
  const { log, include = [], redact, maxTextLength = 2000 } = options;
  checkOption("the log's maxTextLength", maxTextLength, maxTextLength > 0, "a number above 0");
  const texts = new LogTexts(maxTextLength, redact);
  const settings = { log, texts, include: new Set(include) };
  return watchCalls((request, callOptions, kind) => new LoggedAttempt(settings, kind, request, callOptions));
}

interface LogSettings {
  readonly log: LoggingOptions["log"];
  readonly texts: LogTexts;
  readonly include: ReadonlySet<LoggedContent>;
}

class LoggedAttempt implements CallWatcher {
  readonly #settings: LogSettings;
  readonly #kind: AttemptEntry["kind"];
  readonly #request: Request;
  readonly #options: CallOptions;
  readonly #startedAt = performance.now();
  #firstEventMs: number | undefined;

  constructor(settings: LogSettings, kind: AttemptEntry["kind"], request: Request, options: CallOptions) {
    this.#settings = settings;
    this.#kind = kind;
    this.#request = request;
    this.#options = options;
  }

  begin(): void {
    this.#firstEventMs = this.#elapsedMs();
  }

  end({ response, error }: CallEnd): void {
    try {
      this.#settings.log(this.#entry(response, error));
    } catch {
      // A failing log does not fail the call.
    }
  }

  #entry(response: Response | undefined, error: SDKError | undefined): AttemptEntry {
    const { provider, model } = this.#request;
    const { inferenceId } = this.#options;
    const { include, texts } = this.#settings;
    return compact({
      kind: this.#kind,
      provider,
      model,
      inferenceId,
      durationMs: this.#elapsedMs(),
      firstEventMs: this.#firstEventMs,
      left: response === undefined && error === undefined ? (true as const) : undefined,
      ...getFacts(response, error),
      messages: include.has("messages") ? texts.logMessages(this.#request) : undefined,
      answer: include.has("answer") && response !== undefined ? texts.logAnswer(response) : undefined,
    });
  }

  #elapsedMs(): number {
    return Math.round((performance.now() - this.#startedAt) * 10) / 10;
  }
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
