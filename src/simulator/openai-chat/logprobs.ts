import { splitTokens } from "../script/tokens.ts";
import type { ChatRequest, Fields } from "./wire.ts";

/** Probabilities of the tokens of an answer, as `logprobs` of a choice has them. They are made up, and always the same. */
export interface Logprobs {
  /** Those of one delta, in the field that it has. Null where the request does not ask for them. */
  of(field: "content" | "refusal", tokens: readonly string[]): Fields | null;
}

/** Prepares the probabilities that a request asks for. */
export function createLogprobs({ logprobs, top_logprobs: alternatives }: ChatRequest): Logprobs {
  if (logprobs !== true) return { of: () => null };
  const entry = (token: string): Fields => ({
    ...probability(token, 0),
    top_logprobs: Array.from({ length: alternatives ?? 0 }, (_, rank) => probability(token, rank)),
  });
  return {
    of: (field, tokens) => ({ content: null, refusal: null, [field]: tokens.map(entry) }),
  };
}

/** The tokens of a whole text. */
export function tokensOfText(text: string): readonly string[] {
  return [...splitTokens(text)];
}

/** The token itself, and others that are less likely by rank. */
function probability(token: string, rank: number): Fields {
  const other = token + "~".repeat(rank);
  return {
    token: other,
    logprob: -0.01 * (1 + (token.length % 5)) - 4 * rank,
    bytes: [...Buffer.from(other)],
  };
}
