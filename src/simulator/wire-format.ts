import type { IncomingHttpHeaders } from "node:http";
import type { ModelChoice, ModelMistake } from "./model-choice.ts";
import type { ModelOptions } from "./model-options.ts";
import type { Prompt } from "./script/prompt.ts";
import type { Turn } from "./script/turn.ts";

/**
 * One provider's wire format: reads its requests into a {@link Prompt}, and renders a {@link Turn} as the provider would.
 * What the model says, what goes wrong and when bytes leave is decided elsewhere, the same for all formats.
 */
export interface WireFormat {
  /** Name of the format, as the log shows it. */
  readonly name: string;
  /** What it answers, as `METHOD /path`. */
  readonly endpoints: readonly string[];
  /** Whether a request is for this format, by its method, path and headers. */
  matches(request: ReceivedRequest): boolean;
  /** The model string that a request names, for the log; empty where it names none. */
  modelOf(request: ReceivedRequest): string;
  /**
   * Reads a request that matches: checks the key and finds the model that it names, or answers it at once where it
   * is not a call of a model. Throws a {@link Rejection}.
   */
  read(request: ReceivedRequest): ModelCall | WholeAnswer;
  /** Says in the provider's words that a request failed. */
  reject(failure: Failure, request: ReceivedRequest): WholeAnswer;
}

/** A request whose body has arrived. */
export interface ReceivedRequest {
  /** Counts the requests of the simulator, from 1. Ids are made of it. */
  readonly number: number;
  /** Id of the request, made of the number. */
  readonly requestId: string;
  readonly method: string;
  /** Path without the query. */
  readonly path: string;
  /** What followed the path. */
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  /** The body as text. */
  readonly text: string;
  /** The body as JSON; undefined where it is not JSON. */
  readonly body: unknown;
  /** When its first bytes arrived, in milliseconds since 1970. */
  readonly receivedAt: number;
}

/** A call of a model whose body is not checked yet. */
export interface ModelCall {
  /** The model string. */
  readonly model: string;
  /** Checks the call as the provider does and says what it asks. Throws a {@link Rejection}. */
  prepare(choice: ModelChoice): PreparedCall;
}

/** A call of a model that the provider would accept. */
export interface PreparedCall {
  readonly prompt: Prompt;
  /** Whether the caller wants a stream. */
  readonly stream: boolean;
  /** Renders the answer in one piece. */
  renderWhole(turn: Turn): WholeAnswer;
  /** Renders the answer as a stream of events. */
  renderStream(turn: Turn): StreamedAnswer;
  /**
   * Renders an answer in one piece that says that it failed; an error where the provider has no such answer. Without a
   * code it is a failure of the provider's server.
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
  /** Begins to draw the events, each rendered when it is drawn. The one that completes the answer is marked. */
  events(): Iterator<WireEvent, undefined>;
  /** Renders the events with which the provider reports a failure at this place; without a code one of its server. */
  failure(style: FailureStyle, code: string | undefined): readonly WireEvent[];
  /** Renders an event that says nothing but that the provider is alive; undefined where the provider has none. */
  keepAlive(): WireEvent | undefined;
}

/** One event of a stream, framed for the wire. */
export interface WireEvent {
  readonly text: string;
  /** Tokens of the answer that it brings. */
  readonly tokens: number;
  /** Whether it is the event by which a client knows that the answer is complete. */
  readonly terminal: boolean;
}

/** How a failure in a stream is reported. */
export type FailureStyle = "event" | "failed" | "nested";

/** How a request fails that the format itself found nothing wrong with. */
export type Failure =
  | ModelMistake
  | {
      readonly kind: "status";
      readonly status: number;
      /** The provider's code for it; undefined for the one that goes with the status. */
      readonly code: string | undefined;
      /** When a retry is welcome, in milliseconds; undefined where nothing is said of it. */
      readonly retryAfterMs: number | undefined;
      /** Form of the error, where a format has several. */
      readonly shape: ModelOptions["error_shape"];
    }
  | { readonly kind: "oversized_body"; readonly limit: number };

/** Thrown by a wire format: the provider would answer the request like this. */
export class Rejection extends Error {
  readonly answer: WholeAnswer;

  constructor(answer: WholeAnswer) {
    super(`the simulator answers with status ${answer.status}`);
    this.name = "Rejection";
    this.answer = answer;
  }
}
