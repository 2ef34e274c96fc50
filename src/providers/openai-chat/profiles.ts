/**
 * Profiles of known servers, from their public documentation as of November 2026. A profile has only the differences
 * from the plain one.
 */
import { ConfigurationError } from "../../core/errors.ts";
import type { ServerProfile } from "./profile.ts";

const COMMON_IMAGES = ["image/png", "image/jpeg", "image/webp", "image/gif"];

const UNLIMITED = Number.POSITIVE_INFINITY;

/** The profile of an unknown server. */
export const PLAIN: ServerProfile = {
  maxTokensField: "max_tokens",
  systemRole: "system",
  supportsStore: false,
  supportsMetadata: false,
  supportsNames: true,
  supportsUsageInStreaming: true,
  supportsStrictTools: false,
  supportsCustomTools: false,
  strictSchemas: "any",
  supportsJsonSchema: true,
  supportsJsonObject: true,
  supportsParallelToolCalls: true,
  toolChoices: ["none", "required", "named"],
  maxToolNameChars: 128,
  maxStopSequences: 4,
  reasoningFormat: "openai",
  efforts: undefined,
  reasoningField: "received",
  replayReasoning: false,
  requiresReasoning: false,
  countsReasoningInTotal: false,
  thinkTags: false,
  emptyAssistantContent: null,
  toolCallIdPattern: "any",
  parsesArguments: true,
  supportsToolResultMedia: false,
  imageTypes: undefined,
  audioInput: "object",
  audioFormats: undefined,
  documentInput: "file",
  requireDone: false,
  requireFinishReason: true,
  emptyErrorIsOverflow: false,
  keyHeader: "authorization",
  catalog: undefined,
};

const OPENAI: Partial<ServerProfile> = {
  maxTokensField: "max_completion_tokens",
  systemRole: "developer",
  supportsStore: true,
  supportsMetadata: true,
  supportsStrictTools: true,
  supportsCustomTools: true,
  strictSchemas: "openai",
  maxToolNameChars: 64,
  toolCallIdPattern: "forty_characters",
  parsesArguments: false,
  imageTypes: COMMON_IMAGES,
  audioFormats: ["wav", "mp3"],
  requireDone: true,
  catalog: "openai",
};

/** Servers that users run themselves and that render the conversation with the model's template. */
const LOCAL: Partial<ServerProfile> = {
  maxStopSequences: UNLIMITED,
  reasoningFormat: "template",
  efforts: ["none", "low", "medium", "high"],
};

const PROFILES = {
  plain: {},
  openai: OPENAI,
  azure: {
    ...OPENAI,
    supportsStore: false,
    supportsMetadata: false,
    requireDone: false,
    keyHeader: "api-key",
  },
  mistral: {
    supportsMetadata: true,
    supportsNames: false,
    supportsUsageInStreaming: false,
    supportsStrictTools: true,
    strictSchemas: "mistral",
    maxStopSequences: UNLIMITED,
    replayReasoning: true,
    emptyAssistantContent: "",
    toolCallIdPattern: "nine_alphanumerics",
    supportsToolResultMedia: true,
    imageTypes: COMMON_IMAGES,
    audioInput: "base64",
    documentInput: "document_url",
    catalog: "mistral",
  },
  deepseek: {
    supportsJsonSchema: false,
    supportsParallelToolCalls: false,
    maxToolNameChars: 64,
    maxStopSequences: 16,
    reasoningFormat: "deepseek",
    efforts: ["none", "low", "high", "max"],
    reasoningField: "reasoning_content",
    replayReasoning: true,
    requiresReasoning: true,
    emptyAssistantContent: "",
    imageTypes: COMMON_IMAGES,
    audioInput: "none",
    documentInput: "none",
  },
  groq: {
    maxTokensField: "max_completion_tokens",
    supportsStrictTools: true,
    strictSchemas: "openai",
    maxToolNameChars: 64,
    reasoningField: "reasoning",
    replayReasoning: true,
    audioInput: "none",
    documentInput: "none",
  },
  xai: {
    maxTokensField: "max_completion_tokens",
    supportsStrictTools: true,
    imageTypes: ["image/png", "image/jpeg"],
    audioInput: "none",
  },
  openrouter: {
    supportsStrictTools: true,
    strictSchemas: "openai",
    reasoningFormat: "openrouter",
    reasoningField: "reasoning",
    replayReasoning: true,
    documentInput: "file_or_url",
  },
  together: { supportsParallelToolCalls: false, documentInput: "none" },
  // Takes earlier reasoning in this field, for models that think between their calls (Fireworks documentation:
  // "Reasoning").
  fireworks: { reasoningField: "reasoning_content", replayReasoning: true, audioInput: "none" },
  cerebras: {
    maxTokensField: "max_completion_tokens",
    supportsStrictTools: true,
    strictSchemas: "openai",
    reasoningField: "reasoning",
    replayReasoning: true,
    audioInput: "none",
    documentInput: "none",
    emptyErrorIsOverflow: true,
  },
  // Its streams have no finish reason: only `[DONE]` shows that an answer is complete.
  snowflake: { requireFinishReason: false },
  perplexity: {
    supportsUsageInStreaming: false,
    supportsJsonObject: false,
    supportsParallelToolCalls: false,
    emptyAssistantContent: "",
    audioInput: "none",
    documentInput: "file_url",
  },
  zai: {
    supportsJsonSchema: false,
    supportsParallelToolCalls: false,
    toolChoices: [],
    maxStopSequences: 1,
    reasoningFormat: "deepseek",
    efforts: [],
    reasoningField: "reasoning_content",
    replayReasoning: true,
    audioInput: "none",
    documentInput: "file_url",
  },
  moonshot: {
    maxTokensField: "max_completion_tokens",
    supportsParallelToolCalls: false,
    toolChoices: ["none", "named"],
    maxStopSequences: 5,
    efforts: ["low", "high", "max"],
    reasoningField: "reasoning_content",
    replayReasoning: true,
    audioInput: "none",
    documentInput: "none",
  },
  minimax: {
    maxTokensField: "max_completion_tokens",
    supportsParallelToolCalls: false,
    reasoningFormat: "minimax",
    reasoningField: "reasoning_content",
    replayReasoning: true,
    emptyAssistantContent: "",
    audioInput: "none",
    documentInput: "none",
  },
  alibaba: {
    reasoningFormat: "qwen",
    // Read if the model thinks between its calls, or the request has `preserve_thinking`; ignored otherwise.
    reasoningField: "reasoning_content",
    replayReasoning: true,
    emptyAssistantContent: "",
    documentInput: "none",
  },
  gemini: {
    supportsNames: false,
    supportsParallelToolCalls: false,
    countsReasoningInTotal: true,
    documentInput: "none",
    catalog: "gemini",
  },
  // Reads the earlier reasoning from this field only, for models that think between their calls (vLLM documentation:
  // "Interleaved Thinking"); the templates of other models leave it out.
  vllm: { ...LOCAL, reasoningField: "reasoning", replayReasoning: true },
  // Both give the field to the model's template, as vLLM does.
  sglang: { ...LOCAL, reasoningField: "reasoning_content", replayReasoning: true },
  // Takes `tool_choice` as a string only, and treats the object that names a tool as `auto` without saying so:
  // https://github.com/ggml-org/llama.cpp/issues/26535
  "llama-cpp": {
    ...LOCAL,
    toolChoices: ["none", "required"],
    reasoningField: "reasoning_content",
    replayReasoning: true,
  },
  ollama: {
    ...LOCAL,
    supportsParallelToolCalls: false,
    toolChoices: [],
    reasoningFormat: "openai",
    // Read in earlier messages too, as the model's thinking.
    reasoningField: "reasoning",
    replayReasoning: true,
    emptyAssistantContent: "",
    audioInput: "none",
    documentInput: "none",
  },
} satisfies Record<string, Partial<ServerProfile>>;

/** Name of a profile. */
export type ProfileName = keyof typeof PROFILES;

/** All names of profiles. */
export const profileNames = Object.keys(PROFILES) as readonly ProfileName[];

/** Profiles by host. A leading dot: every host below it. With a port: only that port. */
const HOSTS: readonly (readonly [host: string, profile: ProfileName])[] = [
  ["api.openai.com", "openai"],
  [".api.openai.com", "openai"],
  [".openai.azure.com", "azure"],
  [".services.ai.azure.com", "azure"],
  [".cognitiveservices.azure.com", "azure"],
  ["api.mistral.ai", "mistral"],
  ["codestral.mistral.ai", "mistral"],
  ["api.deepseek.com", "deepseek"],
  ["api.groq.com", "groq"],
  ["api.x.ai", "xai"],
  [".api.x.ai", "xai"],
  ["openrouter.ai", "openrouter"],
  ["api.together.xyz", "together"],
  ["api.together.ai", "together"],
  ["api.fireworks.ai", "fireworks"],
  ["api.cerebras.ai", "cerebras"],
  ["api.perplexity.ai", "perplexity"],
  [".snowflakecomputing.com", "snowflake"],
  ["api.z.ai", "zai"],
  ["open.bigmodel.cn", "zai"],
  ["api.moonshot.ai", "moonshot"],
  ["api.moonshot.cn", "moonshot"],
  ["api.minimax.io", "minimax"],
  ["api.minimaxi.com", "minimax"],
  [".aliyuncs.com", "alibaba"],
  ["generativelanguage.googleapis.com", "gemini"],
  ["localhost:11434", "ollama"],
  ["127.0.0.1:11434", "ollama"],
];

/**
 * Returns the whole profile of a server.
 * @param chosen The name of a profile, or changes to the profile of the address.
 * @param baseUrl Address of the server; its host decides if no profile is named.
 * @throws ConfigurationError if there is no profile with that name.
 */
export function getProfile(
  chosen: string | Partial<ServerProfile> | undefined,
  baseUrl: string,
): ServerProfile {
  if (typeof chosen === "string") return named(chosen);
  return { ...named(guessProfile(baseUrl)), ...chosen };
}

/** Returns the profile for the host of an address; `plain` for an unknown host. */
export function guessProfile(baseUrl: string): ProfileName {
  const url = URL.parse(baseUrl);
  if (url === null) return "plain";
  const fits = ([host]: readonly [string, ProfileName]) =>
    host.startsWith(".") ? url.hostname.endsWith(host) : host === url.host || host === url.hostname;
  return HOSTS.find(fits)?.[1] ?? "plain";
}

function named(name: string): ServerProfile {
  if (isProfileName(name)) return { ...PLAIN, ...PROFILES[name] };
  throw new ConfigurationError(`there is no profile "${name}"; expected one of ${profileNames.join(", ")}`);
}

function isProfileName(name: string): name is ProfileName {
  return Object.hasOwn(PROFILES, name);
}
