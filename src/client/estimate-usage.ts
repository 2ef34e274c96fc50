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
  const parts = request.messages.flatMap(({ content }) => content).map(tokensOfPart);
  const inputTokens = Math.ceil(sum(parts) + sum(request.tools.map(tokensOfTool)));
  const outputTokens = request.maxTokens ?? DEFAULT_OUTPUT_TOKENS;
  return create(UsageSchema, { inputTokens, outputTokens, totalTokens: inputTokens + outputTokens });
}

function tokensOfPart({ part }: ContentPart): number {
  switch (part.case) {
    case "text":
      return tokensOfText(part.value);
    case "reasoning":
      return tokensOfText(part.value.text);
    case "toolCall":
      return tokensOfText(part.value.name) + tokensOfText(part.value.input.value);
    case "toolResult":
      return sum(part.value.content.map(tokensOfPart));
    case "native":
      return tokensOfText(part.value.dataJson);
    default:
      return TOKENS_PER_MEDIUM;
  }
}

function tokensOfTool({ tool }: Tool): number {
  switch (tool.case) {
    case "function":
      return tokensOfText(tool.value.description) + tokensOfText(tool.value.parametersJson);
    case "custom":
      return tokensOfText(tool.value.description);
    default:
      return 0;
  }
}

function tokensOfText(text = ""): number {
  return Buffer.byteLength(text) / BYTES_PER_TOKEN;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
