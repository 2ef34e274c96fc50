/**
 * What a conversation says, whichever wire format it is written in. Read from bodies by readers
 * that share no code with the adapters, so that two formats can be held against each other.
 */

/** Who says something. Instructions are the system's, whatever the wire calls their author. */
export type Speaker = "system" | "user" | "assistant";

/** One thing that a conversation says. */
export type Fact = TextFact | MediaFact | CallFact | ResultFact | StateFact;

/** A text. */
export interface TextFact {
  readonly kind: "text";
  readonly speaker: Speaker;
  readonly text: string;
}

/** An image, a document or a sound. */
export interface MediaFact {
  readonly kind: "image" | "document" | "audio";
  readonly speaker: Speaker;
  /** Its URL or id, or `data:TYPE;base64,...`. */
  readonly source: string;
}

/** A tool call. */
export interface CallFact {
  readonly kind: "call";
  readonly id: string;
  readonly name: string;
  /** The arguments, parsed; the text where it is free text or does not parse. */
  readonly arguments: unknown;
}

/** What a tool gave back. */
export interface ResultFact {
  readonly kind: "result";
  /** Id of the call on the wire. */
  readonly id: string;
  readonly text: string;
  /** Sources of its images and documents. */
  readonly media: readonly string[];
}

/** A block that only its own provider understands: thinking with its signature, a hosted tool's work. */
export interface StateFact {
  readonly kind: "state";
  readonly block: unknown;
}

/** A tool that the model is offered. */
export interface OfferedTool {
  readonly name: string;
  readonly description: string;
  readonly schema: unknown;
}

/** A body, read. */
export interface Reading {
  /** In the order of the conversation; instructions come first. */
  readonly facts: readonly Fact[];
  readonly tools: readonly OfferedTool[];
  /** `auto`, `none`, `required` or the name of a tool; undefined where nothing is said. */
  readonly toolChoice: string | undefined;
  /** JSON Schema that the answer must fit; undefined where it is free. */
  readonly answerSchema: unknown;
  /** How hard the model is to think, in the provider's word; undefined where nothing is said. */
  readonly effort: unknown;
}

/** Tokens of an answer in one measure for all providers: input with what was cached, output with reasoning. */
export interface Counts {
  readonly input: number;
  readonly output: number;
  readonly reasoning: number;
  readonly cacheRead: number;
}

/** A JSON object. */
export type Json = Readonly<Record<string, unknown>>;

/** The objects in a list; none where it is no list. */
export function objects(value: unknown): Json[] {
  return Array.isArray(value) ? value.filter((entry) => typeof entry === "object" && entry !== null) : [];
}

/** An object; an empty one where it is none. */
export function object(value: unknown): Json {
  return objects([value])[0] ?? {};
}

/** A string; an empty one where it is none. */
export function string(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** A string that is not empty; undefined where there is none. */
export function nameIn(value: unknown): string | undefined {
  return string(value) || undefined;
}

/** A number; 0 where it is none. */
export function number(value: unknown): number {
  return typeof value === "number" ? value : 0;
}

/** A text as a fact; none where it is empty. */
export function said(speaker: Speaker, text: unknown): TextFact[] {
  return typeof text === "string" && text !== "" ? [{ kind: "text", speaker, text }] : [];
}

/** JSON text, parsed; the text itself where it does not parse. */
export function parsed(text: unknown): unknown {
  try {
    return JSON.parse(string(text) || "{}");
  } catch {
    return text;
  }
}

/** The result of a call, from what it holds. */
export function resultOf(id: unknown, content: readonly Fact[]): ResultFact {
  return {
    kind: "result",
    id: string(id),
    text: content.flatMap((fact) => (fact.kind === "text" ? [fact.text] : [])).join("\n"),
    media: content.flatMap((fact) => ("source" in fact ? [fact.source] : [])),
  };
}
