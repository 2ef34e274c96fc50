import { setTimeout as sleep } from "node:timers/promises";
import type { SecureContextOptions, ConnectionOptions as TlsOptions } from "node:tls";
import {
  Code,
  type CallOptions as ConnectCallOptions,
  ConnectError,
  createClient,
  type Interceptor,
  type Client as ServiceClient,
  type Transport,
} from "@connectrpc/connect";
import { createGrpcTransport, Http2SessionManager } from "@connectrpc/connect-node";
import type { EmbedInput } from "../../../src/client/embed-request.ts";
import { type RequestInput, toRequest } from "../../../src/client/request-input.ts";
import type { CallOptions } from "../../../src/core/adapter.ts";
import { type Batches, toBatches } from "../../../src/core/batches.ts";
import { NetworkError } from "../../../src/core/errors.ts";
import type { EventStream } from "../../../src/core/event-stream.ts";
import { type CompleteResponse, completeResponse } from "../../../src/core/response.ts";
import { streamCall } from "../../../src/core/streamed-call.ts";
import {
  type Capability,
  CatalogService,
  type ModelInfo,
} from "../../../src/gen/outrigger/v1/catalog_service_pb.ts";
import { EmbeddingService, type EmbedResponse } from "../../../src/gen/outrigger/v1/embedding_service_pb.ts";
import type { GenerateResult } from "../../../src/gen/outrigger/v1/generation_pb.ts";
import { GenerationService } from "../../../src/gen/outrigger/v1/generation_service_pb.ts";
import {
  type CountTokensResponse,
  InferenceService,
} from "../../../src/gen/outrigger/v1/inference_service_pb.ts";
import type { Request } from "../../../src/gen/outrigger/v1/request_pb.ts";
import { RunService } from "../../../src/gen/outrigger/v1/run_service_pb.ts";
import type { StreamEvent } from "../../../src/gen/outrigger/v1/stream_event_pb.ts";
import { ThreadService } from "../../../src/gen/outrigger/v1/thread_service_pb.ts";
import type { LoopItem, LoopOptions } from "../../../src/generation/loop/tool-loop.ts";
import { DEFAULT_ADDRESS, toTarget } from "./address.ts";
import { findAnswer, getAnswer, type RunCallOptions } from "./answer.ts";
import { type CallSettings, observeCalls } from "./call-info.ts";
import { toFailure } from "./failure.ts";
import { retryUnsent } from "./reconnect.ts";
import { Runs } from "./runs.ts";
import { Threads } from "./threads.ts";
import { isRemoteLoop, runRemoteLoop } from "./tool-loop.ts";
import { VERSION } from "./version.ts";

/** Options of a Client. */
export interface ClientOptions extends CallSettings {
  /** Address of the sidecar. Default: the variable `OUTRIGGER_ADDRESS`, else `localhost:6190`. */
  readonly address?: string | undefined;
  /** Certificate authority of a sidecar behind `https://`, in PEM. Default: the authorities that Node trusts. */
  readonly ca?: string | Buffer | undefined;
  /**
   * Access key, for a sidecar that requires one. Without TLS it travels in the clear. Default: the variable
   * `OUTRIGGER_ACCESS_KEY`, else none.
   */
  readonly accessKey?: string | undefined;
  /** Settings of TLS for a sidecar behind `https://`: a client certificate, the name that is expected, and so on. */
  readonly tls?: (SecureContextOptions & Pick<TlsOptions, "servername" | "rejectUnauthorized">) | undefined;
  /**
   * Sends models "the tool failed" instead of the message of an error that a tool throws, unless the tool says
   * otherwise. Default false.
   */
  readonly hideToolErrors?: boolean | undefined;
  /** Interceptors of Connect around every attempt of a call, for instance from OpenTelemetry. */
  readonly interceptors?: readonly Interceptor[] | undefined;
}

/** Largest message, in bytes: the same as the sidecar's default. */
const MAX_MESSAGE_BYTES = 32 * 1024 * 1024;

/** Pause between two attempts to reach a sidecar that is starting, in milliseconds. */
const READY_DELAY_MS = 100;

const KEEPALIVE = { pingIntervalMs: 30_000, pingTimeoutMs: 10_000 };

/**
 * Calls a sidecar, with the methods of the Client of `outrigger`, which calls the providers itself. Any number of calls
 * may run at once, over one connection, which is opened by the first call and again after it was lost.
 */
export class Client {
  /** For the services in `outrigger-client/proto` that have no method here. */
  readonly transport: Transport;
  /** Whether models learn nothing of errors that tools throw, unless a tool says otherwise. */
  readonly hideToolErrors: boolean;
  /** The run engine: generations that are stored, and that can continue in the background. */
  readonly runs: Runs;
  /** The stored conversations, which runs read and append to. */
  readonly threads: Threads;
  readonly #sessions: Sessions;
  readonly #options: ClientOptions;
  readonly #service: ServiceClient<typeof InferenceService>;
  readonly #generation: ServiceClient<typeof GenerationService>;
  readonly #catalog: ServiceClient<typeof CatalogService>;
  readonly #embeddings: ServiceClient<typeof EmbeddingService>;

  /** @throws ConfigurationError if the address has another form than `toTarget` reads. */
  constructor(options: ClientOptions = {}, sessions = openSessions(options)) {
    const {
      address = defaultAddress(),
      accessKey = process.env.OUTRIGGER_ACCESS_KEY || undefined,
      interceptors = [],
    } = options;
    this.#options = options;
    this.hideToolErrors = options.hideToolErrors ?? false;
    this.#sessions = sessions;
    this.transport = createGrpcTransport({
      baseUrl: toTarget(address).origin,
      sessionManager: sessions,
      interceptors: [
        observeCalls(options),
        refuseClosed(sessions),
        retryUnsent(address),
        nameProgram,
        ...(accessKey === undefined ? [] : [sendKey(accessKey)]),
        ...interceptors,
      ],
      readMaxBytes: MAX_MESSAGE_BYTES,
      writeMaxBytes: MAX_MESSAGE_BYTES,
    });
    this.runs = new Runs(createClient(RunService, this.transport));
    this.threads = new Threads(createClient(ThreadService, this.transport));
    this.#service = createClient(InferenceService, this.transport);
    this.#generation = createClient(GenerationService, this.transport);
    this.#catalog = createClient(CatalogService, this.transport);
    this.#embeddings = createClient(EmbeddingService, this.transport);
  }

  /** Returns the Client of the address in `OUTRIGGER_ADDRESS`, with the key in `OUTRIGGER_ACCESS_KEY`. */
  static fromEnv(): Client {
    return new Client();
  }

  /**
   * Sends the request and returns the whole response.
   * @throws SDKError of the kind of the failure.
   */
  async complete(request: RequestInput, options: CallOptions = {}): Promise<CompleteResponse> {
    const message = toRequest(request);
    try {
      return completeResponse(await this.#service.complete(message, callOptionsOf(options)));
    } catch (thrown) {
      throw toFailure(thrown, options.signal);
    }
  }

  /**
   * Counts the tokens of a request's input, as its provider does; an estimate if the provider counts none.
   * @throws SDKError of the kind of the failure.
   */
  async countTokens(request: RequestInput, options: CallOptions = {}): Promise<CountTokensResponse> {
    const message = toRequest(request);
    return getAnswer(options, () => this.#service.countTokens(message, callOptionsOf(options)));
  }

  /**
   * Embeds texts.
   * @throws SDKError of the kind of the failure: InvalidRequestError if the provider has no embeddings.
   */
  async embed(request: EmbedInput, options: CallOptions = {}): Promise<EmbedResponse> {
    return getAnswer(options, () => this.#embeddings.embed(request, callOptionsOf(options)));
  }

  /**
   * Returns the events while the model generates. Returns at once: the request is sent when the first event is read,
   * and all errors are thrown by the iteration. Leaving the loop cancels the call.
   */
  stream(request: RequestInput, options: CallOptions = {}): EventStream {
    return streamCall((signal) => this.#openStream(toRequest(request), { ...options, signal }), {
      signal: options.signal,
      toFailure,
    });
  }

  /**
   * Runs a loop with tools of this program on the sidecar. For `generate` and `stream`.
   * @returns Undefined if functions of this program decide about its steps: the loop then runs here, with one call of
   *   the sidecar for each step.
   */
  runToolLoop(options: LoopOptions): AsyncGenerator<LoopItem, GenerateResult> | undefined {
    return isRemoteLoop(options) ? runRemoteLoop(this.#generation, options) : undefined;
  }

  /**
   * Waits for a sidecar that is starting.
   * @param timeout In milliseconds.
   * @throws NetworkError if it accepts no connection in this time. ConfigurationError if the client is closed.
   */
  async waitUntilReady(timeout: number): Promise<void> {
    const giveUp = performance.now() + timeout;
    for (;;) {
      if (this.#sessions.closed) throw toFailure(closedError(), undefined);
      if ((await this.#sessions.connect()) !== "error") return;
      if (performance.now() >= giveUp)
        throw new NetworkError(`the sidecar accepted no connection within ${timeout} ms`);
      await sleep(READY_DELAY_MS);
    }
  }

  /**
   * Returns a client over the same connection, with other settings for its calls. Headers are added to those set
   * before. Closing either client closes the connection.
   */
  with(settings: CallSettings): Client {
    const headers = { ...this.#options.headers, ...settings.headers };
    return new Client({ ...this.#options, ...settings, headers }, this.#sessions);
  }

  /** Returns the catalog's entry for a model, by its id or an alias; undefined if the catalog does not know it. */
  async getModelInfo(
    model: string,
    provider = "",
    call: RunCallOptions = {},
  ): Promise<ModelInfo | undefined> {
    return findAnswer(call, (connect) => this.#catalog.getModel({ model, provider }, connect));
  }

  /** Returns the known models that have all `capabilities`, newest first within a provider. Fetches page after page. */
  async *listModels(
    provider = "",
    capabilities: readonly Capability[] = [],
    call: RunCallOptions = {},
  ): AsyncGenerator<ModelInfo> {
    let pageToken = "";
    do {
      const request = { provider, capabilities: [...capabilities], pageToken };
      const page = await getAnswer(call, (connect) => this.#catalog.listModels(request, connect));
      yield* page.models;
      pageToken = page.nextPageToken;
    } while (pageToken !== "");
  }

  /** Returns a provider's newest model that has all `capabilities`; undefined if none has. */
  async getLatestModel(
    provider: string,
    capabilities: readonly Capability[] = [],
    call: RunCallOptions = {},
  ): Promise<ModelInfo | undefined> {
    const request = { provider, capabilities: [...capabilities] };
    return findAnswer(call, (connect) => this.#catalog.getLatestModel(request, connect));
  }

  /** Closes the connection. Calls in progress fail, and later ones with a ConfigurationError. */
  async close(): Promise<void> {
    this.#sessions.close();
  }

  /** For `await using client = new Client()`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #openStream(request: Request, options: CallOptions): Batches<StreamEvent> {
    return toBatches(this.#service.stream(request, callOptionsOf(options)));
  }
}

function defaultAddress(): string {
  return process.env.OUTRIGGER_ADDRESS || DEFAULT_ADDRESS;
}

/** A connection that is not opened again once it was closed. */
class Sessions extends Http2SessionManager {
  #closed = false;

  get closed(): boolean {
    return this.#closed;
  }

  close(): void {
    this.#closed = true;
    this.abort();
  }
}

function openSessions({ address = defaultAddress(), ca, tls }: ClientOptions): Sessions {
  const { origin, connect } = toTarget(address);
  return new Sessions(origin, KEEPALIVE, {
    ...tls,
    ...(connect === undefined ? {} : { createConnection: connect }),
    ...(ca === undefined ? {} : { ca }),
  });
}

function callOptionsOf({ signal }: CallOptions): ConnectCallOptions {
  return signal === undefined ? {} : { signal };
}

function closedError(): ConnectError {
  return new ConnectError("the client is closed", Code.FailedPrecondition);
}

function refuseClosed(sessions: Sessions): Interceptor {
  return (next) => (request) => {
    if (sessions.closed) throw closedError();
    return next(request);
  };
}

function sendKey(accessKey: string): Interceptor {
  return (next) => (request) => {
    request.header.set("authorization", `Bearer ${accessKey}`);
    return next(request);
  };
}

const nameProgram: Interceptor = (next) => (request) => {
  request.header.set("user-agent", `outrigger-client-typescript/${VERSION}`);
  return next(request);
};
