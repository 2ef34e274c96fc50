/**
 * The settings of a request that have no field in the contract. OpenAI's Responses API gets them unchanged; other APIs
 * get the settings for which they have a counterpart, and the rest becomes warnings.
 */
import type { JsonObject, JsonValue } from "../../kit/json/json.ts";
import type { CreateRequest } from "../../wire/openai-responses/request.ts";
import type { ServedModel } from "../models/model-directory.ts";
import { type Fields, invalidParameter } from "../openai/fields.ts";
import type { RequestNotes } from "../openai/request-notes.ts";

/** Settings for the provider in addition to the fields of the contract. */
export interface ProviderSettings {
  /** By the name of the provider, as `Request.provider_options_json`. */
  readonly optionsJson: Readonly<Record<string, string>>;
  /** `Request.metadata`, which the provider stores with the call. */
  readonly metadata: Readonly<Record<string, string>>;
}

/** Includes fields of Open Responses, and of OpenAI's clients. */
type Field = keyof CreateRequest | "stream" | Penalty;

/** Settings of Open Responses that OpenAI's Responses API does not have. */
type Penalty = "frequency_penalty" | "presence_penalty";

const PENALTIES: readonly Penalty[] = ["frequency_penalty", "presence_penalty"];
const PENALTY_BOUNDS = { min: -2, max: 2 };

/** Fields that are read elsewhere, and mean the same for every model. */
const READ_ELSEWHERE: ReadonlySet<string> = new Set<Field>([
  "background",
  "conversation",
  "include",
  "input",
  "instructions",
  "max_output_tokens",
  "max_tool_calls",
  "metadata",
  "model",
  "parallel_tool_calls",
  "previous_response_id",
  "reasoning",
  "store",
  "stream",
  "stream_options",
  "temperature",
  "text",
  "tool_choice",
  "tools",
  "top_p",
]);

/** Values of fields that request the default behaviour. */
const WITHOUT_EFFECT: ReadonlyMap<string, readonly unknown[]> = new Map<string, readonly unknown[]>([
  ["service_tier", ["auto", "default"]],
  ["truncation", ["disabled"]],
  ["top_logprobs", [0]],
  ["text.verbosity", ["medium"]],
  ["frequency_penalty", [0]],
  ["presence_penalty", [0]],
]);

/**
 * Values of `include` that ask for data of OpenAI's tools, or of its tokens. The sidecar provides the data of other
 * values.
 */
const PROVIDER_INCLUDES: readonly string[] = [
  "file_search_call.results",
  "web_search_call.results",
  "web_search_call.action.sources",
  "code_interpreter_call.outputs",
  "message.output_text.logprobs",
];

const SIDECAR_INCLUDES: readonly string[] = [
  "reasoning.encrypted_content",
  "message.input_image.image_url",
  "computer_call_output.output.image_url",
];

/** Reads these settings. */
export function readProviderSettings(
  fields: Fields,
  served: ServedModel,
  notes: RequestNotes,
): ProviderSettings {
  const includes = fields.strings("include", { max: 64 }) ?? [];
  if (served.api === "openai-responses") {
    warnAboutPenalties(fields, notes);
    if (fields.has(BACKGROUND)) notes.warn(BACKGROUND, "unsupported_setting", NO_WINDOWS);
    return { optionsJson: optionsFor(served, nativeOptions(fields, includes)), metadata: {} };
  }
  refuseRequiredFields(fields);
  const { options, metadata, read } = getCounterparts(fields, served);
  warnAboutLostFields(fields, read, notes);
  warnAboutLostIncludes(includes, notes);
  return { optionsJson: optionsFor(served, options), metadata };
}

const BACKGROUND = "background_options" satisfies Field;

const NO_WINDOWS =
  "the sidecar executes background responses itself, as soon as it can; the setting was left out";

/** A provider's counterparts of settings. */
interface Counterparts {
  readonly options: JsonObject;
  readonly metadata: Readonly<Record<string, string>>;
  /** The request fields that they were read from. */
  readonly read: readonly string[];
}

function getCounterparts(fields: Fields, { api }: ServedModel): Counterparts {
  switch (api) {
    case "anthropic-messages": {
      const [metadata, options] = [readUser(fields), toTier(fields)];
      const userFields = "user_id" in metadata ? ["safety_identifier", "user"] : [];
      const tierFields = "service_tier" in options ? ["service_tier"] : [];
      return {
        options: { ...options, ...relaxToolChoice(fields) },
        metadata,
        read: [...userFields, ...tierFields],
      };
    }
    case "gemini": {
      const { frequency_penalty: frequencyPenalty, presence_penalty: presencePenalty } =
        readPenalties(fields);
      const config = { frequencyPenalty, presencePenalty };
      const isSet = frequencyPenalty !== undefined || presencePenalty !== undefined;
      return { options: isSet ? { generationConfig: config } : {}, metadata: {}, read: PENALTIES };
    }
    case "openai-chat":
      return {
        options: { ...readPenalties(fields), ...relaxToolChoice(fields) },
        metadata: {},
        read: PENALTIES,
      };
    default:
      return { options: {}, metadata: {}, read: [] };
  }
}

/**
 * Returns the option that lets a model decide, with a warning, if it cannot be forced to call a tool. Frameworks force
 * calls for structured output by default, and cannot know the model: some accept an answer without a call, the others
 * ask again.
 */
function relaxToolChoice(fields: Fields): JsonObject {
  const choice = fields.get("tool_choice");
  const isFree = choice === undefined || choice === null || choice === "auto" || choice === "none";
  return isFree ? {} : { unsupported_tool_choice: "auto" };
}

/** Reads the penalties of a request that are not 0, since 0 means no penalty. */
function readPenalties(fields: Fields): { readonly [Name in Penalty]?: number } {
  const found = PENALTIES.map((name) => [name, fields.number(name, PENALTY_BOUNDS)] as const);
  return Object.fromEntries(found.filter(([, value]) => value !== undefined && value !== 0));
}

function warnAboutPenalties(fields: Fields, notes: RequestNotes): void {
  for (const name of PENALTIES) {
    const penalty = fields.number(name, PENALTY_BOUNDS) ?? 0;
    if (penalty !== 0)
      notes.warn(name, "unsupported_setting", "OpenAI's Responses API has no such setting; it was left out");
  }
}

function optionsFor({ provider }: ServedModel, options: JsonObject): Readonly<Record<string, string>> {
  return Object.keys(options).length === 0 ? {} : { [provider]: JSON.stringify(options) };
}

/**
 * Returns the fields that the sidecar does not process. Unknown fields are included, since OpenAI may have added them.
 */
function nativeOptions(fields: Fields, includes: readonly string[]): JsonObject {
  const passed: [name: string, value: JsonValue | undefined][] = [];
  for (const [name, value] of Object.entries(fields.value)) {
    const isRead = READ_ELSEWHERE.has(name) || isPenalty(name) || name === BACKGROUND;
    if (value !== null && !isRead) passed.push([name, value]);
  }
  // The sidecar itself provides the data of the other values.
  const include = includes.filter((value) => !SIDECAR_INCLUDES.includes(value));
  const [reasoning, text] = [fields.object("reasoning"), fields.object("text")];
  return {
    ...Object.fromEntries(passed),
    ...(include.length === 0 ? {} : { include }),
    ...(reasoning && reasoningOptions(reasoning)),
    ...(text && textOptions(text)),
    ...(fields.has("max_tool_calls") ? { max_tool_calls: fields.integer("max_tool_calls", { min: 1 }) } : {}),
  };
}

function isPenalty(name: string): boolean {
  return PENALTIES.some((each) => each === name);
}

/** Returns the fields of `reasoning` other than the effort. */
function reasoningOptions(reasoning: Fields): JsonObject {
  const rest = Object.entries(reasoning.value).filter(([name, value]) => name !== "effort" && value !== null);
  return rest.length === 0 ? {} : { reasoning: Object.fromEntries(rest) };
}

const VERBOSITIES = ["low", "medium", "high"] as const;

function readVerbosity(text: Fields | undefined): string | undefined {
  return text?.word("verbosity", VERBOSITIES);
}

/** Returns the fields of `text` other than the format that the contract knows. */
function textOptions(text: Fields): JsonObject {
  const description = text.object("format")?.string("description");
  const verbosity = readVerbosity(text);
  if (description === undefined && verbosity === undefined) return {};
  return { text: { verbosity, ...(description === undefined ? {} : { format: { description } }) } };
}

/** Refuses settings if ignoring them would change the meaning of the request. */
function refuseRequiredFields(fields: Fields): void {
  if (fields.has("prompt"))
    throw invalidParameter(
      "prompt",
      "unsupported_parameter",
      "is a template stored by OpenAI, but another provider serves the model",
    );
  if (fields.has("moderation"))
    throw invalidParameter(
      "moderation",
      "unsupported_parameter",
      "is done by OpenAI, but another provider serves the model",
    );
}

/** Reads the end user, as an opaque id. */
function readUser(fields: Fields): Readonly<Record<string, string>> {
  const user = fields.string("safety_identifier") ?? fields.string("user");
  return user === undefined ? {} : { user_id: user };
}

/** Converts the service tier, since Anthropic's tiers differ. */
function toTier(fields: Fields): JsonObject {
  switch (fields.string("service_tier")) {
    case "default":
      return { service_tier: "standard_only" };
    case "priority":
    case "fast":
      return { service_tier: "auto" };
    default:
      return {};
  }
}

function warnAboutLostFields(fields: Fields, read: readonly string[], notes: RequestNotes): void {
  const all = { ...fields.value, "text.verbosity": readVerbosity(fields.object("text")) };
  for (const [name, value] of Object.entries(all)) {
    if (value === null || value === undefined || READ_ELSEWHERE.has(name) || read.includes(name)) continue;
    if (WITHOUT_EFFECT.get(name)?.includes(value) === true) continue;
    notes.warn(name, "unsupported_setting", "the model's provider has no such setting; it was left out");
  }
}

function warnAboutLostIncludes(includes: readonly string[], notes: RequestNotes): void {
  for (const [index, value] of includes.entries()) {
    if (SIDECAR_INCLUDES.includes(value)) continue;
    const problem = PROVIDER_INCLUDES.includes(value)
      ? "the model's provider does not return this"
      : "is not a value of this API";
    notes.warn(`include[${index}]`, "unsupported_setting", problem);
  }
}
