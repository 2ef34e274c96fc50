import type { Delta, Message } from "../../src/wire/openai-chat/message.ts";
import type { ReasoningDetail, ThinkPart } from "../../src/wire/openai-chat/parts.ts";
import type { ModelOptions } from "../model-options.ts";
import type { ReasoningPart } from "../script/turn.ts";
import { encryptReasoning, signReasoning } from "./signatures.ts";

/** The form in which a server shows the reasoning of a model. */
export interface ReasoningDialect {
  /** The first delta of an answer with reasoning, besides its role. */
  readonly opening: Delta;
  /** Returns the shown text of the reasoning; empty if none is shown. */
  shown(part: ReasoningPart): string;
  /** Returns the delta of a piece of that text. */
  delta(piece: string): Delta;
  /** Returns the deltas before that text. */
  before(part: ReasoningPart): readonly Delta[];
  /** Returns the deltas after that text. */
  after(part: ReasoningPart): readonly Delta[];
  /** Fields of the deltas with the text of the answer, besides its content. */
  readonly besideText: Delta;
  /** Returns fields of a whole message: with `content` if it holds the reasoning. */
  message(part: ReasoningPart, content: string | null): Partial<Message>;
}

/** Returns the dialect that the option `reasoning_field` asks for; undefined if reasoning is not shown. */
export function getReasoningDialect(options: ModelOptions): ReasoningDialect | undefined {
  const { reasoning_field: field = "reasoning_content" } = options;
  return field === "none" ? undefined : dialects[field];
}

/** Defaults of all dialects. */
const common = { shown: toText, before: () => [], after: () => [], besideText: {} };

/** DeepSeek, Qwen, Kimi, GLM, vLLM. */
const reasoningContent: ReasoningDialect = {
  ...common,
  opening: { content: null, reasoning_content: "" },
  delta: (piece) => ({ content: null, reasoning_content: piece }),
  besideText: { reasoning_content: null },
  message: (part) => ({ reasoning_content: toText(part) }),
};

/** Groq, Cerebras. */
const reasoning: ReasoningDialect = {
  ...common,
  opening: {},
  delta: (piece) => ({ reasoning: piece }),
  message: (part) => ({ reasoning: toText(part) }),
};

/** OpenRouter: the text, and next to it the details with the signature, which comes at the end of a stream. */
const details: ReasoningDialect = {
  ...common,
  opening: { content: "" },
  delta: (piece) => ({ content: "", reasoning: piece, reasoning_details: [detail({ text: piece })] }),
  after: (part) => [{ content: "", reasoning_details: [closingDetail(part)] }],
  message: (part) =>
    part.redacted
      ? { reasoning: null, reasoning_details: [closingDetail(part)] }
      : {
          reasoning: toText(part),
          reasoning_details: [detail({ text: toText(part), signature: signReasoning(toText(part)) })],
        },
};

/** Mistral: parts of the content. */
const chunks: ReasoningDialect = {
  ...common,
  opening: { content: "" },
  delta: (piece) => ({ content: [thinkPart(piece)] }),
  message: (part, content) => ({
    content: [thinkPart(toText(part)), ...(content ? [{ type: "text", text: content }] : [])],
  }),
};

const tags = { open: "<think>\n", close: "\n</think>\n\n" };

/** Servers that pass on the model's text unchanged. */
const thinkTags: ReasoningDialect = {
  ...common,
  opening: { content: "" },
  delta: (piece) => ({ content: piece }),
  before: () => [{ content: tags.open }],
  after: () => [{ content: tags.close }],
  message: (part, content) => ({ content: `${tags.open}${toText(part)}${tags.close}${content ?? ""}` }),
};

const dialects = {
  reasoning_content: reasoningContent,
  reasoning,
  details,
  chunks,
  think_tags: thinkTags,
} as const satisfies Readonly<Record<string, ReasoningDialect>>;

/** Returns the text of reasoning; empty if it is redacted. */
function toText({ paragraphs, redacted }: ReasoningPart): string {
  return redacted ? "" : paragraphs.join("\n\n");
}

function thinkPart(text: string): ThinkPart {
  return { type: "thinking", thinking: [{ type: "text", text }] };
}

/** Returns the detail that ends reasoning in a stream: its signature, or the encrypted reasoning. */
function closingDetail(part: ReasoningPart): ReasoningDetail {
  if (part.redacted) {
    const data = encryptReasoning(part.paragraphs.join("\n\n"));
    return { type: "reasoning.encrypted", data, format: detailFormat, index: 0 };
  }
  return detail({ signature: signReasoning(toText(part)) });
}

/** OpenRouter's name for the format of the signatures. */
const detailFormat = "anthropic-claude-v1";

function detail(fields: Pick<ReasoningDetail, "text" | "signature">): ReasoningDetail {
  return { type: "reasoning.text", ...fields, format: detailFormat, index: 0 };
}
