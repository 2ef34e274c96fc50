/** The body of `POST /v1/responses` -> the input of the engine, and the settings that the response repeats. */
import { create } from "@bufbuild/protobuf";
import { NotFoundError, type SDKError } from "../../core/errors.ts";
import { yieldTurnAfter } from "../../core/loop-turns.ts";
import { GenerationLimitsSchema, type GenerationOptions } from "../../gen/outrigger/v1/generation_pb.ts";
import type { Message } from "../../gen/outrigger/v1/message_pb.ts";
import {
  type Request,
  type ResponseFormat,
  ResponseFormat_Type,
  ResponseFormatSchema,
} from "../../gen/outrigger/v1/request_pb.ts";
import type { Run } from "../../gen/outrigger/v1/run_pb.ts";
import type { CreateRunRequest } from "../../gen/outrigger/v1/run_service_pb.ts";
import { asObject, asString, type JsonObject, tryParseJson } from "../../kit/json/json.ts";
import type { OpenConversation, RunInput } from "../../runs/engine.ts";
import type { RunEngine } from "../../runs/run-engine.ts";
import type { Threads } from "../../runs/threads.ts";
import { createRequest } from "../answers/create-request.ts";
import type { RecentAnswers } from "../answers/recent-answers.ts";
import type { ModelDirectory, ModelTarget } from "../models/model-directory.ts";
import { type Element, Fields, invalidParameter, parseBody, readMetadata } from "../openai/fields.ts";
import { toResponseId, toRunId, toThreadId } from "../openai/ids.ts";
import { conversationNotFound, previousNotFound } from "../openai/not-found.ts";
import { RequestNotes } from "../openai/request-notes.ts";
import { readProviderSettings } from "./provider-settings.ts";
import { type ContinuedConversation, readEnd } from "./read-history.ts";
import { type ReadInput, readInput } from "./read-input.ts";
import { type ReadToolChoice, readToolChoice } from "./read-tool-choice.ts";
import { echoedTools, listAddedTools, readTools, toNamedTools } from "./read-tools.ts";
import { ReadingContext } from "./reading-context.ts";
import { toBodyPath } from "./request-paths.ts";
import {
  defaultSettings,
  type EchoedSettings,
  getOrigin,
  getSettings,
  type ResponseSettings,
} from "./settings.ts";
import { searchesTools, ToolNames } from "./tool-names.ts";
import {
  type Continued,
  composeContinuation,
  readUnstoredHistory,
  withTools,
} from "./unstored-continuation.ts";

/** The inputs for reading a request. */
export interface RequestReading {
  readonly models: Pick<ModelDirectory, "resolve">;
  /** Finds the objects that the request refers to. */
  readonly engine: Pick<RunEngine, "openConversation"> & {
    readonly threads: Pick<Threads, "getMessage" | "findCall" | "listMessages">;
  };
  /** Name of the caller's access key. */
  readonly owner: string;
  /** Recent answers that are not stored. */
  readonly recentAnswers?: RecentAnswers | undefined;
  /** Id of a response that the input already continues. */
  readonly continuedId?: string | undefined;
  /** Whether the request has to name a model. Default false: one is chosen. */
  readonly requiresModel?: boolean | undefined;
  /** Whether a response that is not stored may continue stored ones. Default false. */
  readonly allowsUnstoredContinuation?: boolean | undefined;
}

/** A request. If its run is not started, its conversation must be released. */
export interface ReadRequest {
  readonly input: RunInput;
  readonly settings: ResponseSettings;
  readonly target: ModelTarget;
  /** Whether the answer is a stream of events. */
  readonly isStreamed: boolean;
  readonly streamOptions: StreamOptions;
  /** Whether reasoning was put back that the client had left out. */
  readonly restoresReasoning: boolean;
  /**
   * Converts the path of a field in an error of the engine to a path in the body. @param field Path with the names of
   * the contract.
   */
  toBodyPath(field: string): string;
}

/** `stream_options`. */
export interface StreamOptions {
  /** Whether deltas are padded against traffic analysis. Undefined if the request does not set it. */
  readonly includeObfuscation: boolean | undefined;
}

/** Parses a body, in a turn of the event loop before it is read. */
export async function parseRequest(body: Uint8Array): Promise<Fields> {
  const fields = parseBody(body);
  const turn = yieldTurnAfter(body.byteLength);
  if (turn !== undefined) await turn;
  return fields;
}

/** Resolves the model that a request names. */
export function readTarget(fields: Fields, models: RequestReading["models"]): ModelTarget {
  return models.resolve(fields.string("model", { min: 1, max: 512 }) ?? "");
}

/**
 * Reads a request.
 * @param body Its bytes, or its fields if they have been parsed.
 * @throws InvalidRequestError that names the first invalid field; NotFoundError if a reference does not exist.
 */
export async function readRequest(body: Uint8Array | Fields, reading: RequestReading): Promise<ReadRequest> {
  const fields = body instanceof Fields ? body : await parseRequest(body);
  const state = readState(fields, reading.allowsUnstoredContinuation === true);
  const { previousRunId, threadId } = state;
  const continues = previousRunId !== "" || threadId !== "";
  const conversation = continues ? await openConversation(state, reading) : undefined;
  const { run, origin } = conversation?.previous ?? {};
  const previous = run && { ...run, origin };
  try {
    const history = state.store ? [] : await readUnstoredHistory(reading, threadId, previous);
    const read = await new RequestReader(fields, state, { previous, history }, reading).read();
    return { ...read, input: { ...read.input, conversation } };
  } catch (thrown) {
    conversation?.share.release();
    throw thrown;
  }
}

/** A response that does not exist makes the request invalid, as in OpenAI's API. */
async function openConversation(
  { previousRunId, threadId }: ConversationState,
  { engine, owner }: RequestReading,
): Promise<OpenConversation> {
  try {
    return await engine.openConversation(owner, { previousRunId, threadId });
  } catch (thrown) {
    throw thrown instanceof NotFoundError ? previousNotFound(toResponseId(previousRunId)) : thrown;
  }
}

/** The fields of a request about its conversation. */
export interface ConversationState {
  readonly store: boolean;
  readonly background: boolean;
  /** Empty if there is none. */
  readonly previousRunId: string;
  /** Empty if there is none. */
  readonly threadId: string;
}

function readState(fields: Fields, allowsUnstored: boolean): ConversationState {
  const store = fields.boolean("store") ?? true;
  const background = fields.boolean("background") ?? false;
  for (const name of ["previous_response_id", "conversation"])
    if (!store && !allowsUnstored && fields.has(name))
      throw invalidParameter(name, "invalid_value", UNSTORED_CONTINUATION);
  if (!store && background) throw invalidParameter("background", "invalid_value", UNSTORED_BACKGROUND);
  const hasPrevious = fields.has("previous_response_id");
  const hasConversation = fields.has("conversation");
  if (hasPrevious && hasConversation)
    throw invalidParameter(
      "conversation",
      "invalid_value",
      "is set together with previous_response_id, expected only one of them",
    );
  return {
    store,
    background,
    previousRunId: hasPrevious ? readId(fields, "previous_response_id", toRunId, previousNotFound) : "",
    threadId: hasConversation ? readConversation(fields) : "",
  };
}

const UNSTORED_BACKGROUND =
  "cannot be set with store: false, since nothing of such a request is stored; leave store out";

const UNSTORED_CONTINUATION =
  "cannot be set with store: false; leave store out, or set runs.allow_unstored_continuation in the configuration of the sidecar";

function readId(
  fields: Fields,
  name: string,
  convert: (id: string) => string | undefined,
  notFound: (id: string) => SDKError,
): string {
  const id = fields.requireString(name, { min: 1 });
  const converted = convert(id);
  if (converted === undefined) throw notFound(id);
  return converted;
}

/** Reads `conversation`: an id, or an object with one. */
function readConversation(fields: Fields): string {
  const conversation =
    typeof fields.get("conversation") === "string" ? undefined : fields.object("conversation");
  if (conversation === undefined) return readId(fields, "conversation", toThreadId, conversationNotFound);
  if (!conversation.has("id")) conversation.missing("id", "the id of a conversation");
  return readId(conversation, "id", toThreadId, conversationNotFound);
}

class RequestReader {
  readonly #fields: Fields;
  readonly #state: ConversationState;
  readonly #reading: RequestReading;
  readonly #previous: Run | undefined;
  /** The conversation that a response continues without being stored. */
  readonly #history: readonly Message[];
  readonly #notes = new RequestNotes();
  readonly #target: ModelTarget;
  /** Whether the tools of the previous response are used. */
  readonly #inherits: boolean;
  readonly #echoedTools: readonly JsonObject[];
  /** Tools from items of the input, for a model that does not accept such items. */
  readonly #added: readonly Element[];
  /** Whether groups of tools, and tools that are loaded later, are sent unchanged. */
  readonly #sendsGroups: boolean;
  readonly #names: ToolNames;
  /** Whether there are tools that the sidecar executes. */
  readonly #executesTools: boolean;

  constructor(
    fields: Fields,
    state: ConversationState,
    { previous, history }: Continued,
    reading: RequestReading,
  ) {
    this.#inherits = previous !== undefined && !fields.has("tools");
    if (reading.requiresModel === true && !fields.has("model"))
      fields.missing("model", "the name of a model");
    this.#target = readTarget(fields, reading.models);
    const { api } = this.#target.served;
    this.#added = api === "openai-responses" ? [] : listAddedTools(fields);
    // The engine inherits the tools for a request that has none.
    const needsInherited = this.#inherits && (!state.store || this.#added.length > 0);
    const inherited = previous === undefined ? [] : getSettings(previous).echoed.tools;
    this.#fields = needsInherited ? withTools(fields, inherited) : fields;
    this.#state = state;
    this.#history = history;
    this.#reading = reading;
    this.#previous = previous;
    this.#echoedTools = this.#inherits ? inherited : echoedTools(fields);
    this.#sendsGroups = api === "openai-responses" && searchesTools(this.#echoedTools);
    const named = [...this.#echoedTools, ...toNamedTools(this.#added)];
    this.#names = new ToolNames(named, this.#sendsGroups);
    // The tools of a run that was created over gRPC are not repeated by its response.
    const inheritedServers = this.#inherits ? (previous?.mcpTools.length ?? 0) : 0;
    const all = [...this.#echoedTools, ...this.#added.map((tool) => Fields.of(tool).value)];
    this.#executesTools = inheritedServers > 0 || all.some(({ type }) => type === "mcp");
  }

  async read(): Promise<ReadRequest> {
    const fields = this.#fields;
    const reading = { names: this.#names, notes: this.#notes, served: this.#target.served };
    const read = readTools(fields, { ...reading, sendsGroups: this.#sendsGroups, added: this.#added });
    const isChosen = fields.has("tool_choice") || fields.has("parallel_tool_calls");
    const use = isChosen
      ? readToolChoice(fields, read, this.#names, this.#inherits)
      : { choice: undefined, tools: read };
    const input = await this.#readInput();
    const request = this.#toRequest(use);
    const streamed = fields.object("stream_options")?.boolean("include_obfuscation");
    const metadata = fields.has("metadata") ? readMetadata(fields) : {};
    const include = fields.strings("include") ?? [];
    const { approved } = input;
    const { warnings } = this.#notes;
    const addedTools = toNamedTools(this.#added);
    const settings = { echoed: this.#echo(metadata), addedTools, include, warnings, approved };
    const continued = this.#history.length === 0 ? input : composeContinuation(this.#history, input);
    const paths = { messages: continued.paths, tools: use.tools.toolPaths, servers: use.tools.serverPaths };
    return {
      input: {
        request: this.#toRun(request, use, input, metadata),
        input: continued.messages,
        origin: this.#state.store ? getOrigin(settings) : undefined,
      },
      settings,
      target: this.#target,
      isStreamed: fields.boolean("stream") ?? false,
      streamOptions: { includeObfuscation: streamed },
      restoresReasoning: input.restoresReasoning,
      toBodyPath: (field) => toBodyPath(field, paths),
    };
  }

  async #readInput(): Promise<ReadInput> {
    const input = await readInput(this.#fields, "input", () => this.#createContext());
    const continues = this.#state.previousRunId !== "" || this.#state.threadId !== "";
    if (
      input.messages.length === 0 &&
      !continues &&
      !this.#fields.has("prompt") &&
      input.approvals.length === 0
    )
      this.#fields.missing("input", "a text or a list of items");
    return input;
  }

  #createContext(): ReadingContext {
    const { engine, owner, recentAnswers: recent } = this.#reading;
    return new ReadingContext({
      served: this.#target.served,
      names: this.#names,
      notes: this.#notes,
      isStateful: this.#state.store,
      messages: {
        getMessage: (id) => engine.threads.getMessage(owner, id),
        findCall: (id) => engine.threads.findCall(owner, id),
      },
      recent: recent?.createSource(owner),
      conversation: this.#conversation(),
      searches: listToolSearches(this.#previous),
    });
  }

  #conversation(): ContinuedConversation | undefined {
    const { engine, owner } = this.#reading;
    const threadId = this.#previous?.threadId ?? this.#state.threadId;
    if (threadId === "") return undefined;
    const continued = { threadId, lastRunId: this.#state.previousRunId };
    return { readEnd: (ids, before) => readEnd(engine.threads, owner, continued, { ids, before }) };
  }

  #toRequest({ choice, tools }: ReadToolChoice): Request {
    const fields = this.#fields;
    const { optionsJson, metadata } = readProviderSettings(fields, this.#target.served, this.#notes);
    const request = createRequest({
      model: this.#target.model,
      provider: this.#target.provider,
      tools: [...tools.tools],
      reasoningEffort: fields.object("reasoning")?.string("effort", { max: 64 }) ?? "",
      metadata: { ...metadata },
      providerOptionsJson: { ...optionsJson },
    });
    const text = fields.object("text");
    const format = text && readFormat(text);
    const [temperature, topP] = [
      fields.number("temperature", { min: 0, max: 2 }),
      fields.number("top_p", UNIT),
    ];
    const maxTokens = fields.integer("max_output_tokens", { min: 1 });
    if (choice !== undefined) request.toolChoice = choice;
    if (format !== undefined) request.responseFormat = format;
    if (temperature !== undefined) request.temperature = temperature;
    if (topP !== undefined) request.topP = topP;
    if (maxTokens !== undefined) request.maxTokens = maxTokens;
    return request;
  }

  /** Uses object literals: `create` returns equal messages, but takes ten times as long. */
  #toRun(
    request: Request,
    { tools }: ReadToolChoice,
    { approvals }: ReadInput,
    metadata: Readonly<Record<string, string>>,
  ): CreateRunRequest {
    const fields = this.#fields;
    const options: GenerationOptions = {
      $typeName: "outrigger.v1.GenerationOptions",
      request,
      prompt: "",
      system: fields.string("instructions") ?? "",
      stopWhen: "",
    };
    // The official SDKs retry requests themselves; both together would multiply the calls of the provider.
    if (!this.#state.background)
      options.retry = { $typeName: "outrigger.v1.RetryPolicy", maxRetries: 0, retryTimeouts: false };
    const maxToolCalls = fields.integer("max_tool_calls", { min: 1 });
    // The caller executes all other calls, even calls of tools that it does not define, so the model is called once.
    if (!this.#executesTools) options.maxToolRounds = 0;
    else if (maxToolCalls !== undefined) options.limits = create(GenerationLimitsSchema, { maxToolCalls });
    const { store, background, previousRunId, threadId } = this.#state;
    return {
      $typeName: "outrigger.v1.CreateRunRequest",
      store,
      background,
      previousRunId: store ? previousRunId : "",
      threadId: store ? threadId : "",
      options,
      metadata: { ...metadata },
      mcpServers: [...tools.servers],
      approvals: [...approvals],
      inheritTools: this.#inherits && store,
    };
  }

  #echo(metadata: Readonly<Record<string, string>>): EchoedSettings {
    const fields = this.#fields;
    const { echoed } = defaultSettings;
    const { store, background } = this.#state;
    const conversation = fields.get("conversation");
    const id = typeof conversation === "string" ? conversation : fields.object("conversation")?.string("id");
    return {
      ...echoed,
      store,
      background,
      conversation: id === undefined ? null : { id },
      frequency_penalty: fields.number("frequency_penalty") ?? echoed.frequency_penalty,
      instructions: fields.string("instructions") ?? null,
      max_output_tokens: fields.integer("max_output_tokens") ?? null,
      max_tool_calls: fields.integer("max_tool_calls") ?? null,
      metadata,
      parallel_tool_calls: fields.boolean("parallel_tool_calls") ?? echoed.parallel_tool_calls,
      presence_penalty: fields.number("presence_penalty") ?? echoed.presence_penalty,
      previous_response_id: fields.string("previous_response_id") ?? this.#reading.continuedId ?? null,
      prompt: fields.object("prompt")?.value ?? null,
      prompt_cache_key: fields.string("prompt_cache_key") ?? null,
      prompt_cache_retention: fields.string("prompt_cache_retention") ?? null,
      reasoning: { ...echoed.reasoning, ...fields.object("reasoning")?.value },
      safety_identifier: fields.string("safety_identifier") ?? null,
      service_tier: fields.string("service_tier") ?? echoed.service_tier,
      temperature: fields.number("temperature") ?? echoed.temperature,
      text: echoText(fields.object("text")),
      tool_choice: echoToolChoice(fields),
      tools: this.#echoedTools,
      top_logprobs: fields.integer("top_logprobs", { min: 0, max: 20 }) ?? echoed.top_logprobs,
      top_p: fields.number("top_p") ?? echoed.top_p,
      truncation: fields.word("truncation", ["auto", "disabled"]) ?? echoed.truncation,
      user: fields.string("user") ?? null,
    };
  }
}

/** Returns the ids of the tool searches in a response. */
function listToolSearches(run: Run | undefined): readonly string[] {
  const parts = run?.steps.flatMap(({ response }) => response?.message?.content ?? []) ?? [];
  return parts.flatMap(({ part }) => {
    if (part.case !== "native" || part.value.kind !== "tool_search_call") return [];
    const id = asString(asObject(tryParseJson(part.value.dataJson))?.call_id);
    return id === undefined ? [] : [id];
  });
}

const UNIT = { min: 0, max: 1 };

const FORMATS = ["text", "json_object", "json_schema"] as const;

/** Reads `text.format`. */
function readFormat(text: Fields): ResponseFormat | undefined {
  const format = text.object("format");
  if (format === undefined) return undefined;
  switch (format.word("type", FORMATS)) {
    case "json_object":
      return create(ResponseFormatSchema, { type: ResponseFormat_Type.JSON });
    case "json_schema":
      return readSchemaFormat(format);
    default:
      return undefined;
  }
}

function readSchemaFormat(format: Fields): ResponseFormat {
  const schema = format.object("schema") ?? format.missing("schema", "a JSON Schema");
  return create(ResponseFormatSchema, {
    type: ResponseFormat_Type.JSON_SCHEMA,
    name: format.requireString("name", { min: 1, max: 64 }),
    schemaJson: schema.text(),
    strict: format.boolean("strict") ?? false,
  });
}

function echoText(text: Fields | undefined): JsonObject {
  const format = text?.object("format")?.value;
  const isSchema = format?.type === "json_schema";
  const echoed = isSchema ? { description: null, strict: false, ...format } : format;
  return {
    ...defaultSettings.echoed.text,
    ...text?.value,
    ...(echoed === undefined ? {} : { format: echoed }),
  };
}

function echoToolChoice(fields: Fields): string | JsonObject {
  const choice = fields.get("tool_choice");
  if (typeof choice === "string") return choice;
  return fields.object("tool_choice")?.value ?? defaultSettings.echoed.tool_choice;
}
