import type { IncomingHttpHeaders } from "node:http";
import type { ModelChoice, ModelMistake } from "./model-choice.ts";
import type { ModelOptions } from "./model-options.ts";
import type { Prompt } from "./script/prompt.ts";
import type { Turn } from "./script/turn.ts";

/**
 * One provider's wire format: reads its requests into a {@link Prompt}, and renders a {@link Turn} as the provider
 * would. Other modules decide, in the same way for all formats, what the model says, which faults occur and when bytes
 * are sent.
 */
export interface WireFormat {
  /** Name of the format in the log. */
  readonly name: string;
  /** The endpoints that it serves, as `METHOD /path`. */
  readonly endpoints: readonly string[];
  /** Reports whether a request is for this format, by its method, path and headers. */
  matches(request: ReceivedRequest): boolean;
  /** Returns the model string that a request names, for the log; empty if it names none. */
  getModel(request: ReceivedRequest): string;
  /**
   * Reads a matching request: checks the key and finds the model that it names, or answers the request at once if it
   * does not call a model. Throws a {@link Rejection}.
   */
  read(request: ReceivedRequest): ModelCall | WholeAnswer;
  /** Renders the provider's response to a request that failed. */
  reject(failure: Failure, request: ReceivedRequest): WholeAnswer;
}

/** A request whose body has arrived. */
export interface ReceivedRequest {
  /** Number of the request in this simulator, from 1. Ids are derived from it. */
  readonly number: number;
  /** Id of the request, derived from the number. */
  readonly requestId: string;
  readonly method: string;
  /** Path without the query. */
  readonly path: string;
  /** Query parameters. */
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  /** The body as text. */
  readonly text: string;
  /** The body as JSON; undefined if it is not JSON. */
  readonly body: unknown;
  /** When its first bytes arrived, in milliseconds since 1970. */
  readonly receivedAt: number;
}

/** A call of a model whose body has not been checked yet. */
export interface ModelCall {
  /** The model string. */
  readonly model: string;
  /**
   * Checks the call as the provider does and reads its prompt, or answers it at once if no script is needed: tokens are
   * counted, the model is described. Throws a {@link Rejection}.
   */
  prepare(choice: ModelChoice): PreparedCall | WholeAnswer;
}

/** A call of a model that the provider would accept. */
export interface PreparedCall {
  readonly prompt: Prompt;
  /** Whether the caller asked for a stream. */
  readonly stream: boolean;
  /** Renders the answer in one piece. */
  renderWhole(turn: Turn): WholeAnswer;
  /** Renders the answer as a stream of events. */
  renderStream(turn: Turn): StreamedAnswer;
  /**
   * Renders a whole answer that reports a failure, or an error if the provider has no such answer. Without a code it is
   * an internal error of the provider.
   */
  renderFailed(turn: Turn, code: string | undefined): WholeAnswer;
}

/** An answer in one piece. */
export interface WholeAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** An answer as a stream. Its methods share the numbering of events. */
export interface StreamedAnswer {
  readonly headers: Readonly<Record<string, string>>;
  /** Iterates over the events, each rendered when it is requested. The event that completes the answer is marked. */
  events(): Iterator<WireEvent, undefined>;
  /**
   * Renders the events with which the provider reports a failure at this position; without a code, an internal error.
   */
  failure(style: FailureStyle, code: string | undefined): readonly WireEvent[];
  /** Renders a keep-alive event; undefined if the provider has none. */
  keepAlive(): WireEvent | undefined;
}

/** One event of a stream, framed for the wire. */
export interface WireEvent {
  readonly text: string;
  /** Number of tokens of the answer that it carries. */
  readonly tokens: number;
  /** Whether it is the event by which a client knows that the answer is complete. */
  readonly terminal: boolean;
}

/** The form in which a stream reports a failure. */
export type FailureStyle = "event" | "failed" | "nested";

/** The failures of a request that the format itself accepted. */
export type Failure =
  | ModelMistake
  | {
      readonly kind: "status";
      readonly status: number;
      /** The provider's code for it; undefined for the default code of the status. */
      readonly code: string | undefined;
      /** Delay before a retry, in milliseconds; undefined if none is given. */
      readonly retryAfterMs: number | undefined;
      /** Form of the error, if a format has several. */
      readonly shape: ModelOptions["error_shape"];
    }
  | { readonly kind: "oversized_body"; readonly limit: number };

/** Thrown by a wire format: the response that the provider would send. */
export class Rejection extends Error {
  readonly answer: WholeAnswer;

  constructor(answer: WholeAnswer) {
    super(`the simulator responds with status ${answer.status}`);
    this.name = "Rejection";
    this.answer = answer;
  }
}
