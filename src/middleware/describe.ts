import type { CallTarget } from "../core/adapter.ts";

/** Longest description, in UTF-16 code units: names of models are chosen by callers. */
const MAX_LENGTH = 128;

/** Describes a provider and its model, for messages: `openai, gpt-5.2`. */
export function describeTarget({ provider, model }: CallTarget): string {
  return `${provider}, ${model}`.slice(0, MAX_LENGTH).toWellFormed();
}

/** Describes a count, for messages: `1 request`, `500 requests`. */
export function describeCount(count: number, what: "requests" | "tokens"): string {
  return `${count} ${count === 1 ? what.slice(0, -1) : what}`;
}
