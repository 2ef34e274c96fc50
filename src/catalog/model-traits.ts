/** When a model accepts `temperature` and `top_p`. */
export type SamplingRule =
  /** In every request. */
  | "always"
  /** Only in a request for which the model does not reason. */
  | "without_reasoning"
  /** In no request: they are rejected or ignored. */
  | "never";

/** When a request can force a tool call. */
export type ForcedToolChoiceRule =
  /** In every request. */
  | "always"
  /** Only in a request without a thinking budget. */
  | "without_thinking_budget"
  /** In no request. */
  | "never";

/** How a request controls reasoning. */
export type ReasoningControl =
  /** The model does not reason. */
  | "none"
  /** The model reasons and nothing controls it. */
  | "fixed"
  /** A named effort: `reasoning.effort`, `reasoning_effort`. */
  | "effort"
  /** Anthropic's `thinking: {type: "adaptive"}`, with `output_config.effort`. */
  | "adaptive"
  /** A number of tokens: Anthropic's `budget_tokens`, Gemini's `thinkingBudget`. */
  | "budget"
  /** Gemini's `thinkingLevel`. */
  | "level"
  /** Not known: pass on what the caller requests. */
  | "unknown";

/** Meaning of the effort `none` for a model. */
export type ReasoningOff =
  /** The model does not reason. */
  | "disabled"
  /** Anthropic's `thinking: {type: "between_tools"}`, the least that the model can do. */
  | "between_tools"
  /** Reasoning cannot be turned off: the lowest effort is the nearest. */
  | "lowest";

/** How a request to a model has to be written. */
export interface ModelTraits {
  /** How a request controls reasoning. Default `unknown`. */
  readonly reasoningControl: ReasoningControl;
  /** The efforts that the model has, lowest first. Empty if it has none; undefined if unknown. */
  readonly reasoningEfforts: readonly string[] | undefined;
  /** The effort of a request that names none; `none` if the model then does not reason. Undefined if unknown. */
  readonly defaultEffort: string | undefined;
  /** Meaning of the effort `none`. Default `disabled`. */
  readonly reasoningOff: ReasoningOff;
  /** Messages API: whether the model accepts `output_config.effort`. Default false. */
  readonly outputEffort: boolean;
  /** Minimum thinking budget in tokens that is not off. Undefined if the model has no such limit. */
  readonly minThinkingBudget: number | undefined;
  /** Maximum thinking budget in tokens. Undefined if the model has no such limit. */
  readonly maxThinkingBudget: number | undefined;
  /** When `temperature` and `top_p` are accepted. Default `always`. */
  readonly sampling: SamplingRule;
  /** Whether `temperature` and `top_p` are rejected together. Default false. */
  readonly exclusiveSampling: boolean;
  /** When a tool call can be forced. Default `always`. */
  readonly forcedToolChoice: ForcedToolChoiceRule;
  /** Messages API and generateContent: whether the last message may be the assistant's. Default true. */
  readonly prefill: boolean;
  /** Messages API: whether a system message may come after the first user message. Default false. */
  readonly laterSystemMessages: boolean;
  /** Messages API: whether thinking is bound to the conversation before it ("preserved thinking"). Default false. */
  readonly preservedThinking: boolean;
  /** Whether the provider enforces a JSON schema. Default true. */
  readonly jsonSchema: boolean;
  /** generateContent: whether a JSON schema and function tools can be combined. Default true. */
  readonly jsonSchemaWithTools: boolean;
  /** generateContent: whether a tool result can hold images and documents. Default true. */
  readonly toolResultMedia: boolean;
  /** generateContent: whether hosted tools and function tools can be combined. Default true. */
  readonly hostedToolsWithFunctions: boolean;
  /**
   * generateContent: whether a tool call of the current turn is refused without its thought signature. Default false.
   */
  readonly thoughtSignatures: boolean;
  /** Fewest tokens of a prompt prefix that the provider caches. Undefined if unknown. */
  readonly cacheMinimumTokens: number | undefined;
}

type SnakeCase<Name extends string> = Name extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${SnakeCase<Rest>}`
  : "";

/** Traits as data files and configurations write them: the same names in snake case, all optional. */
export type TraitsEntry = {
  readonly [Name in keyof ModelTraits as SnakeCase<Name>]?: Exclude<ModelTraits[Name], undefined>;
};

/**
 * The traits that are assumed of an unknown model: it can do whatever is requested, and the provider will reject what
 * it cannot.
 */
export const defaultTraits: ModelTraits = Object.freeze({
  reasoningControl: "unknown",
  reasoningEfforts: undefined,
  defaultEffort: undefined,
  reasoningOff: "disabled",
  outputEffort: false,
  minThinkingBudget: undefined,
  maxThinkingBudget: undefined,
  sampling: "always",
  exclusiveSampling: false,
  forcedToolChoice: "always",
  prefill: true,
  laterSystemMessages: false,
  preservedThinking: false,
  jsonSchema: true,
  jsonSchemaWithTools: true,
  toolResultMedia: true,
  hostedToolsWithFunctions: true,
  thoughtSignatures: false,
  cacheMinimumTokens: undefined,
});

/** Merges entries into the defaults; later ones override earlier ones. */
export function mergeTraits(...entries: readonly (TraitsEntry | undefined)[]): ModelTraits {
  return withTraits(defaultTraits, ...entries);
}

/** Merges entries into the traits of a model; later ones override earlier ones. */
export function withTraits(base: ModelTraits, ...entries: readonly (TraitsEntry | undefined)[]): ModelTraits {
  const traits: Record<string, unknown> = { ...base };
  for (const entry of entries) {
    for (const [name, value] of Object.entries(entry ?? {})) traits[camelCase(name)] = value;
  }
  return Object.freeze(traits) as unknown as ModelTraits;
}

/**
 * Reports whether a request may carry `temperature` and `top_p`.
 * @param effort The effort that the request asks for; empty if it names none.
 */
export function acceptsSampling(traits: ModelTraits, effort: string): boolean {
  if (traits.sampling !== "without_reasoning") return traits.sampling === "always";
  const asked = effort === "" ? traits.defaultEffort : effort;
  return asked === "none" && traits.reasoningOff === "disabled";
}

/** Reports whether the model reasons, always or on request. False if unknown. */
export function isReasoningModel(traits: ModelTraits): boolean {
  return traits.reasoningControl !== "none" && traits.reasoningControl !== "unknown";
}

function camelCase(name: string): string {
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
