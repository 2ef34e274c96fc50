import { create } from "@bufbuild/protobuf";
import { type Catalog, defaultCatalog } from "../catalog/catalog.ts";
import type { CallOperation, CallOptions, CallTarget, ProviderAdapter } from "../core/adapter.ts";
import { type Batches, lazyBatches, mapBatches } from "../core/batches.ts";
import { ConfigurationError, SDKError, toSdkError } from "../core/errors.ts";
import { EventStream } from "../core/event-stream.ts";
import { getInferenceId } from "../core/ids.ts";
import { type CompleteResponse, completeResponse } from "../core/response.ts";
import { checkTranslatable, isUnchanged } from "../core/source-form.ts";
import { streamCall, withTerminalEvent } from "../core/streamed-call.ts";
import { EmbedRequestSchema, type EmbedResponse } from "../gen/outrigger/v1/embedding_service_pb.ts";
import type { CountTokensResponse } from "../gen/outrigger/v1/inference_service_pb.ts";
import { FinalResponse, type Request, type ToolChoice_Mode } from "../gen/outrigger/v1/request_pb.ts";
import { type Response, ResponseSchema, type Warning } from "../gen/outrigger/v1/response_pb.ts";
import type { StreamEvent } from "../gen/outrigger/v1/stream_event_pb.ts";
import { type AdapterCallOptions, noEmbeddings } from "../kit/adapter/http-adapter.ts";
import { warning } from "../kit/call/loss-report.ts";
import { addWarningsToEvent, withWarnings } from "./answer-warnings.ts";
import { wrapComplete, wrapStream } from "./apply-middleware.ts";
import { expectedNames } from "./check-input.ts";
import { copyRequest } from "./copy-request.ts";
import { type EmbedInput, toInputRequest, validateEmbedRequest } from "./embed-request.ts";
import { type FieldPaths, withTypeScriptPaths } from "./field-paths.ts";
import { withoutContent } from "./final-response.ts";
import { describeMissing, type Environment, providerVariables, readProviders } from "./from-env.ts";
import type { Middleware } from "./middleware.ts";
import {
  findProvider,
  type ModelAlias,
  type ModelRouting,
  type ResolvedModel,
  resolveModel,
} from "./model-names.ts";
import { createAdapter } from "./providers.ts";
import { ProviderRegistry, type RegisteredProvider } from "./registry.ts";
import { type RequestInput, toRequest } from "./request-input.ts";
import { toTokenCount } from "./token-count.ts";
import { isValidated, validateRequest } from "./validate.ts";

/** Options of a Client. */
export interface ClientOptions {
  /** Adapters by the name that a request's `provider` gives, in the order of registration. */
  readonly providers?: Readonly<Record<string, ProviderAdapter>> | undefined;
  /** Provider of requests that name none. Default: the only one. If there are several, there is no default. */
  readonly defaultProvider?: string | undefined;
  /**
   * Names that requests may use for models if they name no provider. See docs/models.md. `createAliasRouting` adds
   * fallbacks to individual aliases, and chooses among several targets.
   */
  readonly modelAliases?: Readonly<Record<string, ModelAlias>> | undefined;
  /** Runs around every call; the first one is outermost. */
  readonly middleware?: readonly Middleware[] | undefined;
  /**
   * Catalog for all adapters that have none themselves, for instance with additional models and prices. Default: the
   * shipped catalog.
   */
  readonly catalog?: Catalog | undefined;
  /**
   * Sends models "the tool failed" instead of the message of an error that a tool throws, unless the tool says
   * otherwise. Default false.
   */
  readonly hideToolErrors?: boolean | undefined;
  /** How errors name the fields of a request. Default `typescript`: `toolChoice.mode`. */
  readonly fieldPaths?: FieldPaths | undefined;
}

/** Options of `Client.fromEnv`. */
export interface FromEnvOptions extends Omit<ClientOptions, "providers"> {
  /** Folders whose files requests may name by a path, as in `imagePart("./photo.png")`. Default: none. */
  readonly allowFilesUnder?: readonly string[] | undefined;
}

const OPTION_NAMES: readonly (keyof ClientOptions)[] = [
  "providers",
  "defaultProvider",
  "modelAliases",
  "middleware",
  "catalog",
  "fieldPaths",
  "hideToolErrors",
];

const REMEDY =
  "Pass one to the constructor or to register(), or use Client.fromEnv(), " +
  `which looks for these environment variables: ${providerVariables.join(", ")}.`;

/**
 * Routes requests to the registered providers, through middleware. Keeps no state between calls; any number of calls
 * may run at once. Never retries.
 */
export class Client {
  /** The model catalog: the one from the options, else the shipped one. */
  readonly catalog: Catalog;
  /** Whether models learn nothing of errors that tools throw, unless a tool says otherwise. */
  readonly hideToolErrors: boolean;
  readonly #registry: ProviderRegistry;
  readonly #complete: (request: Request, options: CallOptions) => Promise<Response>;
  readonly #stream: (request: Request, options: CallOptions) => EventStream;
  readonly #hasMiddleware: boolean;
  readonly #fieldPaths: FieldPaths;
  /** Context of a call that adapters get in addition to its options. */
  readonly #additions: AdapterCallOptions;
  readonly #aliases: Readonly<Record<string, ModelAlias>>;
  /** The inputs of the rule for names of models: the same object until they change. */
  #routing: ModelRouting;
  /** The validated requests that were given to middleware. A request that it creates is not in the set. */
  readonly #checked = new WeakSet<Request>();

  /**
   * @param remedy Advice for the error about missing providers.
   * @throws ConfigurationError if an adapter rejects its configuration, or if `defaultProvider` is not among
   *   `providers`.
   */
  constructor(options: ClientOptions = {}, remedy: string = REMEDY) {
    checkOptionNames("Client", options, OPTION_NAMES);
    const { providers = {}, defaultProvider, middleware = [], fieldPaths = "typescript" } = options;
    this.catalog = options.catalog ?? defaultCatalog;
    this.hideToolErrors = options.hideToolErrors ?? false;
    this.#registry = new ProviderRegistry(remedy);
    for (const [name, adapter] of Object.entries(providers)) this.#registry.register(name, adapter);
    if (defaultProvider !== undefined) this.#registry.setDefault(defaultProvider);
    this.#aliases = options.modelAliases ?? {};
    this.#routing = this.#describeRouting();
    this.#hasMiddleware = middleware.length > 0;
    this.#fieldPaths = fieldPaths;
    const catalog = this.catalog === defaultCatalog ? {} : { catalog: this.catalog };
    this.#additions = { ...catalog, adviseOnModel: this.#adviseOnModel };
    this.#complete = this.#hasMiddleware ? wrapComplete(middleware, this.#sendComplete) : this.#sendComplete;
    this.#stream = wrapStream(middleware, (request, changed) => this.#sendStream(request, changed));
  }

  /**
   * Creates a Client with the providers whose variables are set (`OPENAI_API_KEY`, ...). The default is the one that
   * `OUTRIGGER_DEFAULT_PROVIDER` names, else the first in the order of the variables. If none is set, calls fail with a
   * ConfigurationError that lists the variables.
   * @throws ConfigurationError if a variable has an invalid value.
   */
  static fromEnv(environment: Environment = process.env, options: FromEnvOptions = {}): Client {
    const names = [...OPTION_NAMES.filter((name) => name !== "providers"), "allowFilesUnder"];
    checkOptionNames("Client.fromEnv", options, names);
    const { allowFilesUnder, ...clientOptions } = options;
    const reading = readProviders(environment);
    if (reading.problems.length > 0) throw new ConfigurationError(reading.problems.join("; "));
    const files = allowFilesUnder === undefined ? {} : { allowFilesUnder };
    const providers = [...reading.providers].map(([name, settings]) => {
      const adapterOptions = { ...settings, ...files, keyOrigin: reading.keyVariables.get(name) };
      return [name, createAdapter(name, adapterOptions)];
    });
    const { defaultProvider = reading.defaultProvider } = options;
    return new Client(
      { ...clientOptions, defaultProvider, providers: Object.fromEntries(providers) },
      describeMissing(reading),
    );
  }

  /** Names of the registered providers, in the order of registration. */
  get providerNames(): readonly string[] {
    return this.#registry.names;
  }

  /** Provider of requests that name none. Undefined if there is no default. */
  get defaultProvider(): string | undefined {
    return this.#registry.defaultName;
  }

  /**
   * Adds a provider and calls its `initialize`. The adapter must have the same name, since responses, provider options
   * and provider state use it.
   * @throws ConfigurationError if the name is taken or differs from the adapter's name, or the adapter rejects its
   *   configuration.
   */
  register(name: string, adapter: ProviderAdapter): void {
    this.#registry.register(name, adapter);
    this.#routing = this.#describeRouting();
  }

  /** The inputs of the rule for names of models. */
  get routing(): ModelRouting {
    return this.#routing;
  }

  #describeRouting(): ModelRouting {
    return {
      providers: this.#registry.describeModels(this.catalog),
      defaultProvider: this.#registry.defaultName,
      aliases: this.#aliases,
    };
  }

  /**
   * Returns the destination of a request that names this provider and model; either may be empty. docs/models.md has
   * the rule.
   */
  resolveModel(name: CallTarget): ResolvedModel {
    return resolveModel(name, this.#routing);
  }

  /**
   * Sends the request and returns the whole response.
   * @throws InvalidRequestError with all invalid fields, ConfigurationError if no provider is registered, and the error
   *   of the provider's failure.
   */
  async complete(request: RequestInput, options: CallOptions = {}): Promise<CompleteResponse> {
    try {
      const call = this.#prepare(request, options);
      const response = await this.#complete(call.request, call.options);
      return completeResponse(call.notes.length === 0 ? response : withWarnings(response, call.notes));
    } catch (thrown) {
      throw thrown instanceof SDKError ? this.#toFailure(thrown) : thrown;
    }
  }

  /**
   * Returns the events while the model generates. Returns at once: the request is sent when the first event is read,
   * and all errors are thrown by the iteration. Leaving the loop closes the connection to the provider.
   */
  stream(request: RequestInput, options: CallOptions = {}): EventStream {
    return streamCall(this.#openStream.bind(this, request, options), {
      signal: options.signal,
      toFailure: this.#toFailure,
      throwsOriginals: true,
    });
  }

  /**
   * Counts the tokens of a request's input, as its provider does; an estimate if the provider counts none.
   * @throws the errors of `complete`.
   */
  async countTokens(request: RequestInput, options: CallOptions = {}): Promise<CountTokensResponse> {
    try {
      const call = this.#prepare(request, options);
      let count: number | undefined;
      const response = await this.#operate(call, "count_tokens", async (adapter, sent, changed) => {
        count = await adapter.countTokens?.(sent, changed);
        return { provider: adapter.name, model: sent.model };
      });
      return toTokenCount(response, call.request, count);
    } catch (thrown) {
      throw thrown instanceof SDKError ? this.#toFailure(thrown) : thrown;
    }
  }

  /**
   * Embeds texts. Middleware may retry the call, but never sends it to a fallback, since vectors of different models
   * cannot be compared.
   * @throws InvalidRequestError with all invalid fields, or if the provider has no embeddings, and the error of the
   *   provider's failure.
   */
  async embed(input: EmbedInput, options: CallOptions = {}): Promise<EmbedResponse> {
    try {
      const request = create(EmbedRequestSchema, input);
      validateEmbedRequest(request);
      const call = this.#prepare(toInputRequest(request), options);
      let embedded: EmbedResponse | undefined;
      await this.#operate(call, "embed", async (adapter, { provider, model }, changed) => {
        if (adapter.embed === undefined) throw noEmbeddings(adapter.name);
        embedded = await adapter.embed({ ...request, provider, model }, changed);
        return embedded;
      });
      if (embedded !== undefined) return embedded;
      throw new ConfigurationError("a middleware answered a call for embeddings instead of passing it on");
    } catch (thrown) {
      throw thrown instanceof SDKError ? this.#toFailure(thrown) : thrown;
    }
  }

  /**
   * Reports whether a mode of tool choice works with a model, by the names that a request would have; with an alias,
   * whether it works with all of its targets.
   */
  supportsToolChoice(mode: ToolChoice_Mode, model: string, provider = ""): boolean {
    return this.#listTargets({ provider, model }).every((target) => {
      const { adapter } = this.#registry.find(target.provider);
      return adapter.supportsToolChoice?.(mode, target.model, this.#additions) ?? true;
    });
  }

  /**
   * Reports whether the provider enforces the JSON schema of a response format, by the names that a request would have;
   * with an alias, whether the providers of all its targets do. If not, the schema is requested in an instruction.
   */
  supportsJsonSchema(model: string, provider = ""): boolean {
    return this.#listTargets({ provider, model }).every((target) => {
      const { adapter } = this.#registry.find(target.provider);
      return adapter.supportsJsonSchema?.(target.model, this.#additions) ?? true;
    });
  }

  /** Closes the adapters' connections. */
  close(): Promise<void> {
    return this.#registry.close();
  }

  /** For `await using client = Client.fromEnv()`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /**
   * Returns the request as middleware sees it: complete, validated, and naming its provider and that provider's model.
   */
  #prepare(input: RequestInput, callerOptions: CallOptions): PreparedCall {
    const given = toRequest(input);
    const { provider, model, alias, targets, isChosen } = this.resolveModel(given);
    const isSame = provider === given.provider && model === given.model;
    const named = isSame ? given : { ...given, provider, model };
    if (!isValidated(given) || named.model.trim() === "") validateRequest(named);
    const request = this.#hasMiddleware ? copyRequest(named) : named;
    if (this.#hasMiddleware) this.#checked.add(request);
    const options: CallOptions = {
      ...callerOptions,
      inferenceId: getInferenceId(callerOptions),
      ...(alias !== undefined && { modelAlias: alias }),
      ...(targets !== undefined && { aliasTargets: targets }),
      resolveModel: this.#resolveName,
    };
    return { request, options, notes: isChosen === true ? [chosenModel(provider, model)] : [] };
  }

  #listTargets(name: CallTarget): readonly CallTarget[] {
    const target = this.resolveModel(name);
    return target.targets ?? [target];
  }

  readonly #resolveName = (name: CallTarget, defaultProvider: string): CallTarget =>
    resolveModel(name, { ...this.#routing, defaultProvider });

  /**
   * Returns the options of one attempt: with the source form only if the adapter takes it and middleware has not
   * changed the request.
   */
  #toAdapterOptions(adapter: ProviderAdapter, request: Request, options: CallOptions): AdapterCallOptions {
    const { source } = options;
    const changed = { ...options, ...this.#additions };
    if (source === undefined) return changed;
    source.relay.restart();
    if (adapter.sourceApi === source.api && isUnchanged(request, source)) return changed;
    checkTranslatable(source);
    return { ...changed, source: undefined };
  }

  /** Names the registered provider that has a model which another provider does not know. */
  readonly #adviseOnModel = ({ provider, model }: CallTarget): string | undefined => {
    const owner = findProvider(model, this.#routing);
    if (owner === undefined || this.#routing.providers.get(provider)?.hasModel(model) === true)
      return undefined;
    return `the registered provider ${owner} has this model: name it as the provider, or write ${owner}/${model}`;
  };

  readonly #toFailure = (thrown: unknown): SDKError => {
    const error = toSdkError(thrown);
    return this.#fieldPaths === "contract" ? error : withTypeScriptPaths(error);
  };

  readonly #sendComplete = async (request: Request, options: CallOptions): Promise<Response> => {
    const { adapter, ready } = this.#route(request, options);
    if (ready !== undefined) await ready;
    const changed = this.#toAdapterOptions(adapter, request, options);
    return options.operation?.send(adapter, request, changed) ?? adapter.complete(request, changed);
  };

  /**
   * Makes a call that asks for no answer, through the same middleware.
   * @param send Returns the facts that middleware gets.
   */
  #operate(
    { request, options }: PreparedCall,
    kind: CallOperation["kind"],
    send: (adapter: ProviderAdapter, request: Request, options: CallOptions) => Promise<OperationFacts>,
  ): Promise<Response> {
    const operation: CallOperation = {
      kind,
      async send(adapter, sent, changed) {
        const { provider, model, usage, warnings = [] } = await send(adapter, sent, changed);
        const inferenceId = getInferenceId(changed);
        return create(ResponseSchema, { provider, model, warnings, inferenceId, ...(usage && { usage }) });
      },
    };
    return this.#complete(request, { ...options, operation });
  }

  async #openStream(
    input: RequestInput,
    callerOptions: CallOptions,
    signal: AbortSignal,
  ): Promise<Batches<StreamEvent>> {
    const { request, options, notes } = this.#prepare(input, { ...callerOptions, signal });
    const batches = this.#hasMiddleware
      ? this.#stream(request, options).batches()
      : withTerminalEvent(await this.#openProvider(request, options), { toFailure: this.#toFailure });
    const noted =
      notes.length === 0
        ? batches
        : mapBatches(batches, (batch) => batch.map((event) => addWarningsToEvent(event, notes)));
    return request.finalResponse === FinalResponse.WITHOUT_CONTENT
      ? mapBatches(noted, (batch) => batch.map(withoutContent))
      : noted;
  }

  #sendStream(request: Request, options: CallOptions): EventStream {
    // Converts plain errors of adapters, which are bugs. Plain errors of middleware reach the program unchanged.
    return new EventStream(
      lazyBatches(async () => withTerminalEvent(await this.#openProvider(request, options))),
    );
  }

  async #openProvider(request: Request, options: CallOptions): Promise<Batches<StreamEvent>> {
    const { adapter, ready } = this.#route(request, options);
    if (ready !== undefined) await ready;
    return adapter.stream(request, this.#toAdapterOptions(adapter, request, options)).batches();
  }

  #route(request: Request, { onTarget }: CallOptions): RegisteredProvider {
    if (this.#hasMiddleware && !this.#checked.has(request)) validateRequest(request);
    onTarget?.({ provider: request.provider || (this.#registry.defaultName ?? ""), model: request.model });
    return this.#registry.find(request.provider);
  }
}

/** The view that middleware has of a call that requests no answer. */
type OperationFacts = Pick<Response, "provider" | "model"> & Partial<Pick<Response, "usage" | "warnings">>;

/** A call as middleware gets it. */
interface PreparedCall {
  readonly request: Request;
  readonly options: CallOptions;
  /** Warnings for the answer. */
  readonly notes: readonly Warning[];
}

function chosenModel(provider: string, model: string): Warning {
  const text = `the request names no model, and ${model} is the newest model of ${provider} in the catalog`;
  return warning("model", "model_chosen", text);
}

/** @throws ConfigurationError for an unknown option, which would be ignored otherwise. */
function checkOptionNames(what: string, options: object, names: readonly string[]): void {
  for (const name of Object.keys(options))
    if (!names.includes(name))
      throw new ConfigurationError(`${name} is not an option of ${what}; ${expectedNames(name, names)}`);
}
