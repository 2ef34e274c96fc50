import type { Delta, Message } from "../../src/wire/openai-chat/message.ts";
import type { ReasoningDetail, ThinkPart } from "../../src/wire/openai-chat/parts.ts";
import type { ModelOptions } from "../model-options.ts";
import type { ReasoningPart } from "../script/turn.ts";
import { encryptReasoning, signReasoning } from "./signatures.ts";

/** How a server shows the reasoning of a model. */
export interface ReasoningDialect {
  /** The first delta of an answer with reasoning, besides its role. */
  readonly opening: Delta;
  /** The text of the reasoning that is shown; empty where none is. */
  shown(part: ReasoningPart): string;
  /** The delta of a piece of that text. */
  delta(piece: string): Delta;
  /** The deltas before that text. */
  before(part: ReasoningPart): readonly Delta[];
  /** The deltas after that text. */
  after(part: ReasoningPart): readonly Delta[];
  /** Fields of the deltas with the text of the answer, besides its content. */
  readonly besideText: Delta;
  /** Fields of a whole message: with `content` where it holds the reasoning. */
  message(part: ReasoningPart, content: string | null): Partial<Message>;
}

/** The dialect that the option `reasoning_field` asks for; undefined where reasoning is not shown. */
export function getReasoningDialect(options: ModelOptions): ReasoningDialect | undefined {
  const { reasoning_field: field = "reasoning_content" } = options;
  return field === "none" ? undefined : dialects[field];
}

/** Defaults of all dialects. */
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
          reasoning_details: [detail({ text: textOf(part), signature: signReasoning(textOf(part)) })],
        },
};

/** Mistral: parts of the content. */
const chunks: ReasoningDialect = {
  ...common,
  opening: { content: "" },
  delta: (piece) => ({ content: [thinkPart(piece)] }),
  message: (part, content) => ({
    content: [thinkPart(textOf(part)), ...(content ? [{ type: "text", text: content }] : [])],
  }),
};

const tags = { open: "<think>\n", close: "\n</think>\n\n" };

/** Servers that pass the model's own text on unchanged. */
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

/** The text of reasoning; empty where it is redacted. */
function textOf({ paragraphs, redacted }: ReasoningPart): string {
  return redacted ? "" : paragraphs.join("\n\n");
}

function thinkPart(text: string): ThinkPart {
  return { type: "thinking", thinking: [{ type: "text", text }] };
}

/** The detail that ends reasoning in a stream: its signature, or the encrypted reasoning. */
function closingDetail(part: ReasoningPart): ReasoningDetail {
  if (part.redacted) {
    const data = encryptReasoning(part.paragraphs.join("\n\n"));
    return { type: "reasoning.encrypted", data, format: detailFormat, index: 0 };
  }
  return detail({ signature: signReasoning(textOf(part)) });
}

/** OpenRouter's name for the format of the signatures. */
const detailFormat = "anthropic-claude-v1";

function detail(fields: Pick<ReasoningDetail, "text" | "signature">): ReasoningDetail {
  return { type: "reasoning.text", ...fields, format: detailFormat, index: 0 };
}
