/**
 * The content of a conversation, independent of the wire format. Read from bodies by readers that
 * share no code with the adapters, so that formats can be compared with each other.
 */

/** The author of content. Instructions are the system's, whatever role the wire format gives them. */
export type Author = "system" | "user" | "assistant";

/** One piece of content of a conversation. */
export type Fact = TextFact | MediaFact | CallFact | ResultFact | StateFact;

/** A text. */
export interface TextFact {
  readonly kind: "text";
  readonly author: Author;
  readonly text: string;
}

/** An image, a document or audio. */
export interface MediaFact {
  readonly kind: "image" | "document" | "audio";
  readonly author: Author;
  /** Its URL or id, or `data:TYPE;base64,...`. */
  readonly source: string;
}

/** A tool call. */
export interface CallFact {
  readonly kind: "call";
  readonly id: string;
  readonly name: string;
  /** The parsed arguments, or the text if it is free text or does not parse. */
  readonly arguments: unknown;
}

/** The result of a tool call. */
export interface ResultFact {
  readonly kind: "result";
  /** Id of the call on the wire. */
  readonly id: string;
  readonly text: string;
  /** Sources of its images and documents. */
  readonly media: readonly string[];
}

/** A block that only its provider understands: reasoning with its signature, the output of a hosted tool. */
export interface StateFact {
  readonly kind: "state";
  readonly block: unknown;
}

/** A tool that the request declares. */
export interface DeclaredTool {
  readonly name: string;
  readonly description: string;
  readonly schema: unknown;
}

/** The content of a request body. */
export interface Reading {
  /** In the order of the conversation; instructions come first. */
  readonly facts: readonly Fact[];
  readonly tools: readonly DeclaredTool[];
  /** `auto`, `none`, `required` or the name of a tool. Undefined if unset. */
  readonly toolChoice: string | undefined;
  /** The JSON Schema that the answer must match, or undefined if there is none. */
  readonly answerSchema: unknown;
  /** The reasoning effort, in the provider's term. Undefined if unset. */
  readonly effort: unknown;
}

/** Token counts in the same definition for all providers: input includes cached, output includes reasoning tokens. */
export interface Counts {
  readonly input: number;
  readonly output: number;
  readonly reasoning: number;
  readonly cacheRead: number;
}

/** A JSON object. */
export type Json = Readonly<Record<string, unknown>>;

/** Returns the objects in a list, or none if the value is not a list. */
export function objects(value: unknown): Json[] {
  return Array.isArray(value) ? value.filter((entry) => typeof entry === "object" && entry !== null) : [];
}

/** Returns the value if it is an object, otherwise an empty object. */
export function object(value: unknown): Json {
  return objects([value])[0] ?? {};
}

/** Returns the value if it is a string, otherwise an empty string. */
export function string(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** Returns the value if it is a non-empty string, otherwise undefined. */
export function nonEmptyString(value: unknown): string | undefined {
  return string(value) || undefined;
}

/** Returns the value if it is a number, otherwise 0. */
export function number(value: unknown): number {
  return typeof value === "number" ? value : 0;
}

/** Returns the fact for a text, or none if it is empty. */
export function textFacts(author: Author, text: unknown): TextFact[] {
  return typeof text === "string" && text !== "" ? [{ kind: "text", author, text }] : [];
}

/** Parses JSON text; returns the text itself if it is not valid. */
export function parseOrText(text: unknown): unknown {
  try {
    return JSON.parse(string(text) || "{}");
  } catch {
    return text;
  }
}

/** The fact for the result of a call. */
export function toResult(id: unknown, content: readonly Fact[]): ResultFact {
  return {
    kind: "result",
    id: string(id),
    text: content.flatMap((fact) => (fact.kind === "text" ? [fact.text] : [])).join("\n"),
    media: content.flatMap((fact) => ("source" in fact ? [fact.source] : [])),
  };
}
