/**
 * The flow that all adapters over HTTP share: translate, send, check the status, decode. An adapter contributes a
 * Protocol, which describes its wire API, and is otherwise wiring.
 */

import { create } from "@bufbuild/protobuf";
import { type Catalog, defaultCatalog, ProviderModels } from "../../catalog/catalog.ts";
import type { CallOptions, CallTarget, ProviderAdapter } from "../../core/adapter.ts";
import type { AnswerRelay, RelayedHead } from "../../core/answer-relay.ts";
import type { Batches } from "../../core/batches.ts";
import {
  AuthenticationError,
  invalidField,
  NotFoundError,
  type SDKError,
  toSdkError,
  withKeyOrigin,
  withMessage,
  withTexts,
} from "../../core/errors.ts";
import type { EventStream } from "../../core/event-stream.ts";
import { getInferenceId } from "../../core/ids.ts";
import { countJsonValues } from "../../core/json-text.ts";
import { yieldTurn, yieldTurnAfter } from "../../core/loop-turns.ts";
import { checkTranslatable, type SourceForm } from "../../core/source-form.ts";
import { streamCall } from "../../core/streamed-call.ts";
import { toTraceHeaders } from "../../core/trace-context.ts";
import {
  EmbeddingSchema,
  type EmbedRequest,
  type EmbedResponse,
  EmbedResponseSchema,
} from "../../gen/outrigger/v1/embedding_service_pb.ts";
import { type Request, RequestSchema, type ToolChoice_Mode } from "../../gen/outrigger/v1/request_pb.ts";
import type { RateLimitInfo, Response, Warning } from "../../gen/outrigger/v1/response_pb.ts";
import type { StreamEvent } from "../../gen/outrigger/v1/stream_event_pb.ts";
import type { Usage } from "../../gen/outrigger/v1/usage_pb.ts";
import {
  type AnswerLimits,
  AnswerMemory,
  answerTooLarge,
  DEFAULT_ANSWER_LIMITS,
} from "../call/answer-limits.ts";
import { answerMissing, boundedId, type CallFacts } from "../call/call-facts.ts";
import { toTimeouts } from "../http/timeouts.ts";
import type {
  ConnectionTls,
  HttpAnswer,
  HttpHeaders,
  HttpTimeouts,
  HttpTransport,
} from "../http/transport.ts";
import { isEmpty, tryReadJson } from "../json/json.ts";
import { decodeStream, type StreamDecoder } from "../stream/decode-stream.ts";
import { EventRelay, type RelayRules } from "../stream/event-relay.ts";
import { replayResponse } from "../stream/replay-response.ts";
import { StreamWriter } from "../stream/stream-writer.ts";
import { describeBody } from "./failure-body.ts";
import { KeyMask } from "./key-mask.ts";
import { redirectError } from "./redirect.ts";
import { unwrapEvents, unwrapResponse } from "./unwrap-answer.ts";

/** A request in the provider's form. */
export interface WireRequest {
  /** Path below the base URL, with its query. Never holds a key. */
  readonly path: string;
  /** Headers of this request in addition to the adapter's headers. */
  readonly headers: Readonly<Record<string, string>>;
  /** The body, serialised once. */
  readonly body: string;
  /** Notes about parts of the request that were changed or left out. */
  readonly warnings: Warning[];
  /**
   * The fields of the contract that the elements of the conversation were written from, for failures that name one:
   * `messages[2].content[1]`. Undefined for an element that cannot be named alone. Absent: none can.
   */
  readonly elementFields?: readonly (string | undefined)[] | undefined;
  /** Name of the member with the value, if the model has to write it inside an object. */
  readonly wrappedMember?: string | undefined;
  /** How the answer is relayed. Set if the request is in its source form. */
  readonly relay?: RelayRules | undefined;
}

/** How a wire API takes requests of callers who speak it themselves. */
export interface SourceProtocol {
  /** Name of the API, as in its definition. */
  readonly api: string;
  /**
   * Returns the request in its source form, with the model of the request and `relay`, and maybe with state that was
   * restored. Undefined if the provider is known to refuse that form: the request is translated then.
   * @param models The catalog as seen by the provider.
   */
  toWire(
    source: SourceForm,
    request: Request,
    streaming: boolean,
    models: ProviderModels,
  ): Promise<WireRequest> | WireRequest | undefined;
}

/** A failed HTTP answer, to be classified. */
export interface WireFailure {
  readonly provider: string;
  readonly status: number;
  readonly headers: HttpHeaders;
  /** The body as received; empty if it exceeds `MAX_ERROR_BYTES`. The adapter's keys are masked in the error. */
  readonly body: string;
  readonly request: Request;
  /** As in `WireRequest`. */
  readonly elementFields?: readonly (string | undefined)[] | undefined;
}

/** A wire API. Pure functions, except that `toWire` may read files that the caller names. */
export interface Protocol {
  /**
   * Translates a request. Throws InvalidRequestError, at once or by the promise, naming the fields that the provider
   * cannot accept.
   * @param models The catalog as seen by the provider.
   */
  toWire(request: Request, streaming: boolean, models: ProviderModels): Promise<WireRequest> | WireRequest;
  /** Absent: every request is translated. */
  readonly source?: SourceProtocol | undefined;
  /** Translates a whole answer. Throws the failure that the body reports. */
  toResponse(body: string, facts: CallFacts): Response;
  /** Creates the decoder of one stream, which writes into the writer. */
  createDecoder(facts: CallFacts, writer: StreamWriter): StreamDecoder;
  /** How the API counts the tokens of a request. Absent: it has no such method. */
  readonly counting?: CountingProtocol | undefined;
  /** How the API embeds texts. Absent: it has no such method. */
  readonly embedding?: EmbeddingProtocol | undefined;
  /** Translates a failed answer. */
  toError(failure: WireFailure): SDKError;
  /** Returns the rate limits of the account from the headers of an answer. */
  getRateLimit(headers: HttpHeaders): RateLimitInfo | undefined;
  /** Returns the provider's request id from the headers of an answer; empty if there is none. */
  getRequestId(headers: HttpHeaders): string;
}

/** How a wire API counts the tokens of a request. */
export interface CountingProtocol {
  /** Translates a request, as `Protocol.toWire`. */
  toWire(request: Request, models: ProviderModels): Promise<WireRequest>;
  /** Returns the count in an answer; undefined if there is none. */
  toCount(body: string): number | undefined;
}

/** How a wire API embeds texts. Pure functions. */
export interface EmbeddingProtocol {
  /** Translates a request. Throws InvalidRequestError naming the fields that the provider cannot accept. */
  toWire(request: EmbedRequest): WireRequest;
  /** Translates an answer. Throws ServerError if it has not one vector for each input. */
  toAnswer(body: string, request: EmbedRequest): EmbeddingAnswer;
}

/** The content of an answer with embeddings. */
export interface EmbeddingAnswer {
  /** In the order of the inputs. */
  readonly vectors: readonly number[][];
  /** The model as the provider reports it; empty if it does not. */
  readonly model: string;
  readonly usage: Usage | undefined;
}

/** Maximum size of the body of a failed answer in bytes. */
export const MAX_ERROR_BYTES = 64 * 1024;

/** Time limit for the body of a failed answer, in milliseconds: its status is already known. */
const ERROR_BODY_TIMEOUT_MS = 5_000;

/** The options that the adapters of all wire APIs have. */
export interface HttpAdapterOptions {
  /** Name under which the adapter is registered. Default: the name that the environment would give it. */
  readonly name?: string | undefined;
  /** Origin of the key, for the error if the provider refuses it: `OPENAI_API_KEY`, a field, a file. */
  readonly keyOrigin?: string | undefined;
  /** Base of all paths. Default: the address of the API's maker. */
  readonly baseUrl?: string | undefined;
  /** Further headers of every request. They replace the adapter's headers of the same name. */
  readonly defaultHeaders?: Readonly<Record<string, string>> | undefined;
  /** Time limits; those left out keep their defaults. */
  readonly timeouts?: Partial<HttpTimeouts> | undefined;
  /** Connects only to this machine and to private networks, and to no proxy. Default false. */
  readonly localOnly?: boolean | undefined;
  /** Returns the TLS of the next connection. Default: public authorities, and no certificate. */
  readonly tls?: (() => ConnectionTls) | undefined;
  /** Folders whose files a caller may name in a `url`. Default none. */
  readonly allowFilesUnder?: readonly string[] | undefined;
  /** Maximum bytes of all files of a request. Default 32 MiB. */
  readonly maxMediaBytes?: number | undefined;
  /** Limits of each answer; those left out keep their defaults. */
  readonly answerLimits?: Partial<AnswerLimits> | undefined;
  /** Catalog for models and prices. Default: the Client's catalog, else the shipped one. */
  readonly catalog?: Catalog | undefined;
}

/** Parts of an HttpAdapter. */
export interface HttpAdapterParts extends Pick<HttpAdapterOptions, "keyOrigin" | "answerLimits" | "catalog"> {
  readonly name: string;
  readonly protocol: Protocol;
  readonly transport: HttpTransport;
  /** Headers of every request, including the key. */
  readonly headers: Readonly<Record<string, string>>;
  /** Name of the provider in the shipped catalog. Absent: only models that a catalog adds are known. */
  readonly catalogProvider?: string | undefined;
  /** Whether `toResponse` and the decoder price their answers themselves. Default false. */
  readonly pricesAnswers?: boolean | undefined;
}

/** Options of a call, with the Client's additions. */
export interface AdapterCallOptions extends CallOptions {
  /** The Client's catalog. */
  readonly catalog?: Catalog | undefined;
  /** Returns advice about a model that the provider does not know; undefined if there is none. */
  readonly adviseOnModel?: ((target: CallTarget) => string | undefined) | undefined;
}

/** A ProviderAdapter over HTTP. */
export class HttpAdapter implements ProviderAdapter {
  readonly name: string;
  readonly catalogProvider: string | undefined;
  readonly sourceApi: string | undefined;
  readonly #protocol: Protocol;
  readonly #transport: HttpTransport;
  /** Headers of requests for whole answers and for streams. */
  readonly #wholeHeaders: Readonly<Record<string, string>>;
  readonly #streamHeaders: Readonly<Record<string, string>>;
  readonly #catalog: Catalog | undefined;
  readonly #pricesAnswers: boolean;
  readonly #models = new WeakMap<Catalog, ProviderModels>();
  readonly #mask: KeyMask;
  readonly #keyOrigin: string | undefined;
  readonly #limits: AnswerLimits;

  constructor(parts: HttpAdapterParts) {
    const { name, protocol, transport, headers, catalog, catalogProvider, pricesAnswers, answerLimits } =
      parts;
    this.name = name;
    this.sourceApi = protocol.source?.api;
    this.#protocol = protocol;
    this.#transport = transport;
    const json = "application/json";
    this.#wholeHeaders = Object.freeze({ "content-type": json, accept: json, ...headers });
    this.#streamHeaders = Object.freeze({ "content-type": json, accept: "text/event-stream", ...headers });
    this.#catalog = catalog;
    this.catalogProvider = catalogProvider;
    this.#pricesAnswers = pricesAnswers ?? false;
    this.#mask = new KeyMask(headers);
    this.#keyOrigin = parts.keyOrigin;
    this.#limits = { ...DEFAULT_ANSWER_LIMITS, ...answerLimits };
  }

  async complete(request: Request, options: AdapterCallOptions = {}): Promise<Response> {
    const memory = new AnswerMemory(options);
    try {
      const turn = yieldTurn();
      if (turn !== undefined) await turn;
      const translated = this.#translate(request, false, options);
      const wire = translated instanceof Promise ? await translated : translated;
      const answer = await this.#send(request, wire, this.#wholeHeaders, options);
      const body = await answer.text(this.#limits.maxBytes, memory);
      this.#checkValues(body);
      const facts = this.#getFacts(request, wire, answer, options);
      const later = yieldTurnAfter(body.length);
      if (later !== undefined) await later;
      const isStream = EVENT_STREAM.test(body);
      const response = isStream
        ? await this.#collect(body, facts, new StreamWriter(facts))
        : this.#protocol.toResponse(body, facts);
      if (wire.relay !== undefined && !isStream) this.#relayBody(body, answer, options.source?.relay);
      return wire.wrappedMember === undefined ? response : unwrapResponse(response, wire.wrappedMember);
    } catch (thrown) {
      memory.release();
      throw this.#toFailure(thrown);
    }
  }

  stream(request: Request, options: AdapterCallOptions = {}): EventStream {
    return streamCall(this.#open.bind(this, request, options), {
      signal: options.signal,
      toFailure: this.#toFailure,
    });
  }

  /** Returns undefined also if the server lacks the method and answers NOT_FOUND. */
  async countTokens(request: Request, options: AdapterCallOptions = {}): Promise<number | undefined> {
    const { counting } = this.#protocol;
    if (counting === undefined) return undefined;
    try {
      const wire = await counting.toWire(request, this.modelsFor(options));
      return counting.toCount(await this.#exchange(request, wire, options));
    } catch (thrown) {
      if (thrown instanceof NotFoundError) return undefined;
      throw this.#toFailure(thrown);
    }
  }

  async embed(request: EmbedRequest, options: AdapterCallOptions = {}): Promise<EmbedResponse> {
    const { embedding } = this.#protocol;
    if (embedding === undefined) throw noEmbeddings(this.name);
    try {
      const wire = embedding.toWire(request);
      const { model, provider, timeouts } = request;
      const call = create(RequestSchema, { model, provider, ...(timeouts && { timeouts }) });
      const answer = embedding.toAnswer(await this.#exchange(call, wire, options), request);
      return this.#toEmbedResponse(answer, request, wire.warnings, options);
    } catch (thrown) {
      throw this.#toFailure(thrown);
    }
  }

  supportsToolChoice(_mode: ToolChoice_Mode, _model: string, _options?: AdapterCallOptions): boolean {
    return true;
  }

  supportsJsonSchema(model: string, options?: AdapterCallOptions): boolean {
    return this.modelsFor(options).traitsOf(model).jsonSchema;
  }

  /** Returns the catalog as seen by the provider in a call. */
  protected modelsFor(options: AdapterCallOptions = {}): ProviderModels {
    const catalog = this.#catalog ?? options.catalog ?? defaultCatalog;
    const known = this.#models.get(catalog);
    if (known !== undefined) return known;
    const models = new ProviderModels(catalog, this.name, this.catalogProvider);
    this.#models.set(catalog, models);
    return models;
  }

  close(): Promise<void> {
    return this.#transport.close();
  }

  async #open(
    request: Request,
    callerOptions: AdapterCallOptions,
    signal: AbortSignal,
  ): Promise<Batches<StreamEvent>> {
    const options = { ...callerOptions, signal };
    const turn = yieldTurn();
    if (turn !== undefined) await turn;
    const translated = this.#translate(request, true, options);
    const wire = translated instanceof Promise ? await translated : translated;
    const answer = await this.#send(request, wire, this.#streamHeaders, options);
    const events = await this.#readEvents(request, wire, answer, options);
    return wire.wrappedMember === undefined ? events : unwrapEvents(events, wire.wrappedMember);
  }

  /** Reads an answer as a stream, in whatever form the server sends it. */
  async #readEvents(
    request: Request,
    wire: WireRequest,
    answer: HttpAnswer,
    options: AdapterCallOptions,
  ): Promise<Batches<StreamEvent>> {
    const facts = this.#getFacts(request, wire, answer, options);
    const writer = new StreamWriter(facts);
    const memory = new AnswerMemory(options);
    // Any content type other than JSON and HTML counts as a stream of events.
    const type = answer.headers.get("content-type");
    if (type?.includes("json")) return this.#replay(answer, facts, writer, memory);
    if (type?.includes("html"))
      throw answerMissing(facts, describeBody(await readFailure(answer, options.signal)));
    const relay = wire.relay && this.#relayEvents(wire.relay, answer, options);
    if (relay !== undefined) writer.joinsDeltas = true;
    const decoder = this.#protocol.createDecoder(facts, writer);
    return decodeStream(answer.body, decoder, writer, {
      readWhole: (body) => this.#writeWhole(body, facts, writer),
      release: () => answer.release(),
      limits: this.#limits,
      memory,
      relay,
    });
  }

  /** Begins to relay a stream to a caller who speaks the same API. */
  #relayEvents(rules: RelayRules, answer: HttpAnswer, options: AdapterCallOptions): EventRelay | undefined {
    const relay = options.source?.relay;
    if (relay === undefined) return undefined;
    relay.begin(this.#toRelayedHead(answer));
    return new EventRelay(relay, rules, this.#mask.applyToBytes);
  }

  #relayBody(body: string, answer: HttpAnswer, relay: AnswerRelay | undefined): void {
    relay?.begin(this.#toRelayedHead(answer));
    relay?.add(this.#mask.applyToBytes(Buffer.from(body)));
  }

  #toRelayedHead({ status, headers }: HttpAnswer): RelayedHead {
    return { status, headers, withoutKeys: this.#mask.apply };
  }

  /** Returns a promise only if the translation waits for something. */
  #translate(
    request: Request,
    streaming: boolean,
    options: AdapterCallOptions,
  ): Promise<WireRequest> | WireRequest {
    const { source } = options;
    const models = this.modelsFor(options);
    const unchanged = source && this.#protocol.source?.toWire(source, request, streaming, models);
    if (source !== undefined && unchanged === undefined) checkTranslatable(source);
    return unchanged ?? this.#protocol.toWire(request, streaming, models);
  }

  /** Sends a request that generates no text, and returns the body of its answer. */
  async #exchange(request: Request, wire: WireRequest, options: AdapterCallOptions): Promise<string> {
    const memory = new AnswerMemory(options);
    try {
      const answer = await this.#send(request, wire, this.#wholeHeaders, options);
      const body = await answer.text(this.#limits.maxBytes, memory);
      this.#checkValues(body);
      return body;
    } finally {
      memory.release();
    }
  }

  #toEmbedResponse(
    { vectors, model, usage }: EmbeddingAnswer,
    request: EmbedRequest,
    warnings: Warning[],
    options: AdapterCallOptions,
  ): EmbedResponse {
    const cost = usage && this.modelsFor(options).costOf(usage, request.model);
    return create(EmbedResponseSchema, {
      embeddings: vectors.map((values) => create(EmbeddingSchema, { values })),
      model: model || request.model,
      provider: this.name,
      inferenceId: getInferenceId(options),
      warnings,
      ...(usage && { usage: cost === undefined ? usage : { ...usage, costNanoUsd: cost } }),
    });
  }

  /** Checks that parsing a whole answer cannot take too much memory. */
  #checkValues(body: string): void {
    const { maxJsonValues } = this.#limits;
    // A value and its separator take at least two bytes.
    const isSmall = body.length / 2 <= maxJsonValues;
    if (!isSmall && countJsonValues(body, maxJsonValues) > maxJsonValues)
      throw answerTooLarge("maxJsonValues", maxJsonValues);
  }

  /** Some servers answer a request for a stream with a whole answer; others send a stream with its content type. */
  async *#replay(
    answer: HttpAnswer,
    facts: CallFacts,
    writer: StreamWriter,
    memory: AnswerMemory,
  ): AsyncGenerator<readonly StreamEvent[]> {
    try {
      const body = await answer.text(this.#limits.maxBytes, memory);
      if (EVENT_STREAM.test(body)) return yield* this.#decode(body, facts, writer);
      this.#checkValues(body);
      this.#writeWhole(body, facts, writer);
    } catch (thrown) {
      memory.release();
      throw thrown;
    }
    yield writer.take();
  }

  /** Decodes a stream that came with the content type of a whole answer. */
  #decode(body: string, facts: CallFacts, writer: StreamWriter): Batches<StreamEvent> {
    const decoder = this.#protocol.createDecoder(facts, writer);
    return decodeStream(toChunks(body), decoder, writer, { limits: this.#limits });
  }

  /** Returns the answer of a stream that was not requested: some servers always stream. */
  async #collect(body: string, facts: CallFacts, writer: StreamWriter): Promise<Response> {
    for await (const batch of this.#decode(body, facts, writer)) {
      const last = batch.at(-1)?.event;
      if (last?.case === "finish" && last.value.response !== undefined) return last.value.response;
    }
    throw answerMissing(facts);
  }

  #writeWhole(body: string, facts: CallFacts, writer: StreamWriter): void {
    replayResponse(this.#protocol.toResponse(body, facts), writer);
  }

  /** Sends the request. Throws if the status is not 2xx. */
  async #send(
    request: Request,
    wire: WireRequest,
    headers: Readonly<Record<string, string>>,
    options: AdapterCallOptions,
  ): Promise<HttpAnswer> {
    const turn = yieldTurnAfter(wire.body.length);
    if (turn !== undefined) await turn;
    const trace = options.getSentTrace?.();
    const isUsual = trace === undefined && isEmpty(wire.headers);
    const answer = await this.#transport.post(wire.path, {
      headers: isUsual ? headers : { ...headers, ...wire.headers, ...(trace && toTraceHeaders(trace)) },
      body: wire.body,
      signal: options.signal,
      timing: options.timing,
      timeouts: request.timeouts && toTimeouts(request.timeouts),
    });
    if (answer.status >= 200 && answer.status < 300) return answer;
    throw await this.#readError(request, wire, answer, options);
  }

  async #readError(
    request: Request,
    wire: WireRequest,
    answer: HttpAnswer,
    options: AdapterCallOptions,
  ): Promise<SDKError> {
    const { signal, adviseOnModel } = options;
    const { elementFields } = wire;
    const { status, headers } = answer;
    // Only a request in its source form has a relay for its answer.
    const relay = wire.relay && options.source?.relay;
    // Keys are masked before other parts of the body, since a partly masked key would no longer be recognized.
    const body = this.#mask.apply(await readFailure(answer, signal));
    const redirect = redirectError(this.name, status, headers, this.#protocol.getRequestId(headers));
    if (redirect !== undefined) return redirect;
    const failure = { provider: this.name, status, headers, body, request, elementFields };
    const error = this.#protocol.toError(failure);
    // If the provider refuses its key, the failure is not relayed: it would look as if the caller's access key was
    // refused.
    if (relay !== undefined && isApiFailure(status, body) && !(error instanceof AuthenticationError)) {
      this.#relayBody(body, answer, relay);
      relay.fail();
    }
    const advice = error instanceof NotFoundError ? adviseOnModel?.(request) : undefined;
    return advice === undefined ? error : withMessage(error, `${error.message}; ${advice}`);
  }

  /** Returns the failure of a call, without the keys of its request. */
  readonly #toFailure = (thrown: unknown): SDKError =>
    withKeyOrigin(withTexts(toSdkError(thrown), this.#mask.apply), this.#keyOrigin);

  #getFacts(
    request: Request,
    wire: WireRequest,
    { headers }: HttpAnswer,
    options: AdapterCallOptions,
  ): CallFacts {
    return {
      request,
      provider: this.name,
      models: this.modelsFor(options),
      pricesAnswers: this.#pricesAnswers,
      inferenceId: getInferenceId(options),
      acceptedAt: Date.now(),
      warnings: wire.warnings,
      rateLimit: this.#protocol.getRateLimit(headers),
      providerRequestId: boundedId(this.#protocol.getRequestId(headers)),
      withoutKeys: this.#mask.apply,
      limits: this.#limits,
    };
  }
}

/** Matches a body that begins with a line of an event, or with a comment. */
const EVENT_STREAM = /^\ufeff?\s*(?:data|event|id|retry)?:/;

async function* toChunks(body: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(body);
}

/** Returns the error for a provider without embeddings. */
export function noEmbeddings(provider: string): SDKError {
  return invalidField("model", `provider ${JSON.stringify(provider)} has no embeddings`);
}

/** Reports whether the API itself can have written a failed answer, and not a proxy or a server of something else. */
function isApiFailure(status: number, body: string): boolean {
  const parsed = status < 600 ? tryReadJson(body) : undefined;
  return typeof parsed === "object" && parsed !== null;
}

/** Reads the body of a failed answer; empty if it cannot be read, since the status suffices. */
async function readFailure(answer: HttpAnswer, signal: AbortSignal | undefined): Promise<string> {
  const timer = setTimeout(() => answer.destroy(), ERROR_BODY_TIMEOUT_MS);
  try {
    return await answer.text(MAX_ERROR_BYTES);
  } catch (error) {
    if (signal?.aborted) throw error;
    return "";
  } finally {
    clearTimeout(timer);
  }
}
