import { countTokens, firstTokens } from "./tokens.ts";
import type { Part, TextPart } from "./turn.ts";

/** Counts the output tokens of one part. Hosted tools count none. */
export function countPartTokens(part: Part): number {
  switch (part.kind) {
    case "reasoning":
      return part.tokens;
    case "text":
    case "refusal":
      return countTokens(part.text);
    case "tool_call":
      return countTokens(part.name) + countTokens(part.input);
    case "web_search":
    case "image":
      return 0;
    default:
      return part satisfies never;
  }
}

/** Keeps the first `length` UTF-16 units of a text, and the citations that end within them. */
export function shortenText(part: TextPart, length: number): TextPart {
  const citations = part.citations.filter((citation) => citation.end <= length);
  return { ...part, text: part.text.slice(0, length), citations };
}

/** Truncates an answer to a number of tokens, within the part that would exceed it. */
export function limitParts(parts: readonly Part[], limit: number): readonly Part[] {
  const kept: Part[] = [];
  let left = limit;
  for (const part of parts) {
    const tokens = countPartTokens(part);
    if (tokens > left) return left > 0 ? [...kept, ...cutPart(part, left)] : kept;
    left -= tokens;
    kept.push(part);
  }
  return kept;
}

function cutPart(part: Part, limit: number): Part[] {
  switch (part.kind) {
    case "reasoning":
      return [{ ...part, paragraphs: [], tokens: limit }];
    case "text":
      return [{ ...shortenText(part, firstTokens(part.text, limit).length), cut: true }];
    case "refusal":
      return [{ ...part, text: firstTokens(part.text, limit) }];
    case "tool_call": {
      const rest = limit - countTokens(part.name);
      return rest > 0 ? [{ ...part, input: firstTokens(part.input, rest), cut: true }] : [];
    }
    case "web_search":
    case "image":
      return [part];
    default:
      return part satisfies never;
  }
}
