import { create } from "@bufbuild/protobuf";
import type { ContentPart } from "../gen/outrigger/v1/message_pb.ts";
import type { Request } from "../gen/outrigger/v1/request_pb.ts";
import type { Tool } from "../gen/outrigger/v1/tool_pb.ts";
import { type Usage, UsageSchema } from "../gen/outrigger/v1/usage_pb.ts";

/** Bytes of text for one token, approximately the ratio of tokenizers for English. */
const BYTES_PER_TOKEN = 4;

/** Tokens of an image, a recording or a document, whose bytes say little about them. */
const TOKENS_PER_MEDIUM = 1000;

/** Tokens of an answer if the request sets no maximum. */
const DEFAULT_OUTPUT_TOKENS = 1000;

/** Estimates the maximum usage of a call: a quarter of the bytes of its texts, and the tokens that it allows. */
export function estimateUsage(request: Request): Usage {
  const parts = request.messages.flatMap(({ content }) => content).map(estimatePartTokens);
  const inputTokens = Math.ceil(sum(parts) + sum(request.tools.map(estimateToolTokens)));
  const outputTokens = request.maxTokens ?? DEFAULT_OUTPUT_TOKENS;
  return create(UsageSchema, { inputTokens, outputTokens, totalTokens: inputTokens + outputTokens });
}

function estimatePartTokens({ part }: ContentPart): number {
  switch (part.case) {
    case "text":
      return estimateTextTokens(part.value);
    case "reasoning":
      return estimateTextTokens(part.value.text);
    case "toolCall":
      return estimateTextTokens(part.value.name) + estimateTextTokens(part.value.input.value);
    case "toolResult":
      return sum(part.value.content.map(estimatePartTokens));
    case "native":
      return estimateTextTokens(part.value.dataJson);
    default:
      return TOKENS_PER_MEDIUM;
  }
}

function estimateToolTokens({ tool }: Tool): number {
  switch (tool.case) {
    case "function":
      return estimateTextTokens(tool.value.description) + estimateTextTokens(tool.value.parametersJson);
    case "custom":
      return estimateTextTokens(tool.value.description);
    default:
      return 0;
  }
}

function estimateTextTokens(text = ""): number {
  return Buffer.byteLength(text) / BYTES_PER_TOKEN;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
