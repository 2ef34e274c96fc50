import type { ChatRequest } from "../../src/wire/openai-chat/request.ts";
import type { Logprobs, TokenLogprob, TopLogprob } from "../../src/wire/openai-chat/response.ts";
import { splitTokens } from "../script/tokens.ts";

/** Creates the `logprobs` of a choice. The values are invented, and always the same. */
export interface LogprobsWriter {
  /** Returns the log probabilities of one delta, in the delta's field. Null if the request does not ask for them. */
  of(field: keyof Logprobs, tokens: readonly string[]): Logprobs | null;
}

/** Creates the writer of the log probabilities that a request asks for. */
export function createLogprobs({ logprobs, top_logprobs: alternatives }: ChatRequest): LogprobsWriter {
  if (logprobs !== true) return { of: () => null };
  const entry = (token: string): TokenLogprob => ({
    ...probability(token, 0),
    top_logprobs: Array.from({ length: alternatives ?? 0 }, (_, rank) => probability(token, rank)),
  });
  return {
    of: (field, tokens) => ({ content: null, refusal: null, [field]: tokens.map(entry) }),
  };
}

/** Returns the tokens of a whole text. */
export function listTokens(text: string): readonly string[] {
  return [...splitTokens(text)];
}

/** Returns the token itself at rank 0, and invented alternatives that are less likely at other ranks. */
function probability(token: string, rank: number): TopLogprob {
  const other = token + "~".repeat(rank);
  return {
    token: other,
    logprob: -0.01 * (1 + (token.length % 5)) - 4 * rank,
    bytes: [...Buffer.from(other)],
  };
}
