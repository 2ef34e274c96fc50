/** Compares a request body with the conversation that it was made from. */
import { type ContentPart, type Message, Role, type ToolResult } from "outrigger";
import { expect } from "vitest";
import { type Author, type CallFact, type Fact, object, parseOrText, type ResultFact } from "./facts.ts";

/**
 * Fails if a text, a tool call with its arguments, a result or an image of a conversation was not sent in its order and
 * with its author, if calls and results no longer match, or if text was added to the assistant's messages. Reasoning
 * and native parts are not compared.
 */
export function expectPreserved(facts: readonly Fact[], messages: readonly Message[]): void {
  for (const author of ["system", "user", "assistant"] as const) {
    const texts = textsIn(messages.filter(({ role }) => AUTHORS.get(role) === author));
    const added = withoutInOrder(textsBy(author, facts), texts);
    // An adapter may add the source of an image to the user's text.
    if (author !== "user") expect(added).toMatch(/^\s*$/);
  }
  expect(pairsIn(facts)).toEqual(collectPairs(messages));
  expect(mediaIn(facts)).toEqual(collectMedia(messages));
}

const AUTHORS: ReadonlyMap<Role, Author> = new Map([
  [Role.SYSTEM, "system"],
  [Role.DEVELOPER, "system"],
  [Role.USER, "user"],
  [Role.ASSISTANT, "assistant"],
]);

function textsBy(author: Author, facts: readonly Fact[]): string {
  return facts
    .flatMap((fact) => (fact.kind === "text" && fact.author === author ? [fact.text] : []))
    .join("\n");
}

/** The texts that are expected: blank ones are not sent. */
function textsIn(messages: readonly Message[]): string[] {
  return messages.flatMap(({ content }) => content.flatMap(textIn)).filter((text) => text.trim() !== "");
}

function textIn({ part }: ContentPart): string[] {
  return part.case === "text" ? [part.value] : [];
}

/** Removes texts from a text. Returns the rest. Fails if they do not occur in this order. */
function withoutInOrder(sent: string, expected: readonly string[]): string {
  let left = "";
  let rest = sent;
  for (const text of expected) {
    expect(rest).toContain(text);
    const at = rest.indexOf(text);
    left += rest.slice(0, at);
    rest = rest.slice(at + text.length);
  }
  return left + rest;
}

/** A call and its result. */
interface Pair {
  readonly name: string;
  readonly arguments: unknown;
  /** Text of the result, without the prefix that marks a failed tool. */
  result: string | undefined;
}

/** Returns the calls in their order, each with its result. A result belongs to the latest call of its id before. */
function pairsIn(facts: readonly Fact[]): Pair[] {
  const calls: { call: CallFact; result?: ResultFact }[] = [];
  for (const fact of facts) {
    if (fact.kind === "call") calls.push({ call: fact });
    if (fact.kind !== "result") continue;
    const answered = calls.findLast(({ call }) => call.id === fact.id);
    expect(answered?.result, `call ${fact.id} must have only one result`).toBeUndefined();
    if (answered !== undefined) answered.result = fact;
  }
  return calls.map(({ call, result }) => ({
    name: call.name,
    arguments: unwrapped(call.arguments),
    result: result?.text.replace(/^The tool failed: /, ""),
  }));
}

/** Free text and invalid JSON are sent inside an object if the wire format requires one. */
function unwrapped(given: unknown): unknown {
  const [[key, value] = [], ...more] = Object.entries(object(given));
  const isWrapped = more.length === 0 && (key === "input" || key === "invalid_arguments");
  return isWrapped && typeof value === "string" ? value : given;
}

function collectPairs(messages: readonly Message[]): Pair[] {
  const pairs: (Pair & { readonly id: string })[] = [];
  for (const { part } of messages.flatMap(({ content }) => content)) {
    if (part.case === "toolCall") {
      const { id, name, input } = part.value;
      const given = input.case === "text" ? input.value : unwrapped(parseOrText(input.value ?? ""));
      pairs.push({ id, name, arguments: given, result: undefined });
    } else if (part.case === "toolResult") {
      const { toolCallId, content } = part.value;
      const answered = pairs.findLast(({ id }) => id === toolCallId);
      if (answered !== undefined) answered.result = content.flatMap(textIn).join("\n");
    }
  }
  return pairs.map(({ id: _, ...pair }) => pair);
}

function resultIn({ part }: ContentPart): ToolResult[] {
  return part.case === "toolResult" ? [part.value] : [];
}

/** Sources of images and documents wherever they are, since not every wire format has them in results. */
function mediaIn(facts: readonly Fact[]): string[] {
  return facts.flatMap((fact) => {
    if (fact.kind === "result") return fact.media;
    return "source" in fact ? [fact.source] : [];
  });
}

function collectMedia(messages: readonly Message[]): string[] {
  return messages.flatMap(({ content }) =>
    content
      .flatMap((part) => [part, ...resultIn(part).flatMap((result) => result.content)])
      .flatMap(sourceIn),
  );
}

function sourceIn({ part }: ContentPart): string[] {
  if (part.case !== "image" && part.case !== "document") return [];
  const { source, mediaType } = part.value;
  if (source.case !== "data") return [source.value ?? ""];
  const type = mediaType || (part.case === "image" ? "image/png" : "application/pdf");
  return [`data:${type};base64,${Buffer.from(source.value).toString("base64")}`];
}
