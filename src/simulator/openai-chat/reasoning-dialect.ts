import type { ModelOptions } from "../model-options.ts";
import type { ReasoningPart } from "../script/turn.ts";
import { encryptThinking, signThinking } from "./signatures.ts";
import type { Fields } from "./wire.ts";

/** How a server shows what a model thinks. */
export interface ReasoningDialect {
  /** What the delta that opens an answer with thinking says besides the role. */
  readonly opening: Fields;
  /** What of the thinking is shown; empty where nothing is. */
  shown(part: ReasoningPart): string;
  /** The delta of a piece of what is shown. */
  delta(piece: string): Fields;
  /** The deltas in front of what is shown, and those behind it. */
  before(part: ReasoningPart): readonly Fields[];
  after(part: ReasoningPart): readonly Fields[];
  /** Fields of the deltas that bring the text of the answer, besides its content. */
  readonly besideText: Fields;
  /** Fields of a whole message: with `content` where the thinking is in it. */
  message(part: ReasoningPart, content: string | null): Fields;
}

/** The dialect that the option `reasoning_field` asks for; undefined where thinking does not show. */
export function reasoningDialectOf(options: ModelOptions): ReasoningDialect | undefined {
  const { reasoning_field: field = "reasoning_content" } = options;
  return field === "none" ? undefined : dialects[field];
}

/** What all dialects have in common, unless they differ. */
const common = { shown: textOf, before: () => [], after: () => [], besideText: {} };

/** DeepSeek, Qwen, Kimi, GLM, vLLM. */
const reasoningContent: ReasoningDialect = {
  ...common,
  opening: { content: null, reasoning_content: "" },
  delta: (piece) => ({ content: null, reasoning_content: piece }),
  besideText: { reasoning_content: null },
  message: (part) => ({ reasoning_content: textOf(part) }),
};

/** Groq, Cerebras. */
const reasoning: ReasoningDialect = {
  ...common,
  opening: {},
  delta: (piece) => ({ reasoning: piece }),
  message: (part) => ({ reasoning: textOf(part) }),
};

/** OpenRouter: the text, and beside it its details with the signature, which comes at the end of a stream. */
const details: ReasoningDialect = {
  ...common,
  opening: { content: "" },
  delta: (piece) => ({ content: "", reasoning: piece, reasoning_details: [detail({ text: piece })] }),
  after: (part) => [{ content: "", reasoning_details: [closingDetail(part)] }],
  message: (part) =>
    part.redacted
      ? { reasoning: null, reasoning_details: [closingDetail(part)] }
      : {
          reasoning: textOf(part),
          reasoning_details: [detail({ text: textOf(part), signature: signThinking(textOf(part)) })],
        },
};

/** Mistral: parts of the content. */
const chunks: ReasoningDialect = {
  ...common,
  opening: { content: "" },
  delta: (piece) => ({ content: [thinkingChunk(piece)] }),
  message: (part, content) => ({
    content: [thinkingChunk(textOf(part)), ...(content ? [{ type: "text", text: content }] : [])],
  }),
};

const tags = { open: "<think>\n", close: "\n</think>\n\n" };

/** Servers that pass on what the model wrote, as it wrote it. */
const thinkTags: ReasoningDialect = {
  ...common,
  opening: { content: "" },
  delta: (piece) => ({ content: piece }),
  before: () => [{ content: tags.open }],
  after: () => [{ content: tags.close }],
  message: (part, content) => ({ content: `${tags.open}${textOf(part)}${tags.close}${content ?? ""}` }),
};

const dialects = {
  reasoning_content: reasoningContent,
  reasoning,
  details,
  chunks,
  think_tags: thinkTags,
} as const satisfies Readonly<Record<string, ReasoningDialect>>;

/** What thinking says, but for what is redacted. */
function textOf({ paragraphs, redacted }: ReasoningPart): string {
  return redacted ? "" : paragraphs.join("\n\n");
}

function thinkingChunk(text: string): Fields {
  return { type: "thinking", thinking: [{ type: "text", text }] };
}

/** The detail that ends thinking in a stream: its signature, or all of it, encrypted. */
function closingDetail(part: ReasoningPart): Fields {
  if (part.redacted) {
    const data = encryptThinking(part.paragraphs.join("\n\n"));
    return { type: "reasoning.encrypted", data, format: detailFormat, index: 0 };
  }
  return detail({ signature: signThinking(textOf(part)) });
}

/** Whose signatures they are, as OpenRouter names it. */
const detailFormat = "anthropic-claude-v1";

function detail(fields: Fields): Fields {
  return { type: "reasoning.text", ...fields, format: detailFormat, index: 0 };
}
