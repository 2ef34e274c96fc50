/** Holds what a body says against the conversation that it was made from. */
import { type ContentPart, type Message, Role, type ToolResult } from "outrigger";
import { expect } from "vitest";
import { type CallFact, type Fact, object, parsed, type ResultFact, type Speaker } from "./facts.ts";

/**
 * Fails where a text, a tool call with its arguments, a result or a picture of a conversation is not in what was sent,
 * in its order and from its speaker, where calls and results no longer belong together, or where words were put into
 * the assistant's mouth. Thinking and native parts are not looked at.
 */
export function expectNothingLost(facts: readonly Fact[], messages: readonly Message[]): void {
  for (const speaker of ["system", "user", "assistant"] as const) {
    const spoken = textsIn(messages.filter(({ role }) => SPEAKERS.get(role) === speaker));
    const added = withoutInOrder(textsBy(speaker, facts), spoken);
    // To the user's words an adapter may add where a picture is from.
    if (speaker !== "user") expect(added).toMatch(/^\s*$/);
  }
  expect(pairsIn(facts)).toEqual(pairsOf(messages));
  expect(mediaIn(facts)).toEqual(mediaOf(messages));
}

const SPEAKERS: ReadonlyMap<Role, Speaker> = new Map([
  [Role.SYSTEM, "system"],
  [Role.DEVELOPER, "system"],
  [Role.USER, "user"],
  [Role.ASSISTANT, "assistant"],
]);

function textsBy(speaker: Speaker, facts: readonly Fact[]): string {
  return facts
    .flatMap((fact) => (fact.kind === "text" && fact.speaker === speaker ? [fact.text] : []))
    .join("\n");
}

/** Texts as they are sent: blank ones say nothing. */
function textsIn(messages: readonly Message[]): string[] {
  return messages.flatMap(({ content }) => content.flatMap(textIn)).filter((text) => text.trim() !== "");
}

function textIn({ part }: ContentPart): string[] {
  return part.case === "text" ? [part.value] : [];
}

/** What is left of a text once others are taken out of it. Fails where one of them does not follow the one before. */
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

/** A call and what answered it. */
interface Pair {
  readonly name: string;
  readonly arguments: unknown;
  /** Text of the result, without what a wire format puts before that of a tool that failed. */
  result: string | undefined;
}

/** Calls in their order, each with its result: that of the latest call of that id before it. */
function pairsIn(facts: readonly Fact[]): Pair[] {
  const calls: { call: CallFact; result?: ResultFact }[] = [];
  for (const fact of facts) {
    if (fact.kind === "call") calls.push({ call: fact });
    if (fact.kind !== "result") continue;
    const answered = calls.findLast(({ call }) => call.id === fact.id);
    expect(answered?.result, `a result of the call ${fact.id}, which waits for one`).toBeUndefined();
    if (answered !== undefined) answered.result = fact;
  }
  return calls.map(({ call, result }) => ({
    name: call.name,
    arguments: unwrapped(call.arguments),
    result: result?.text.replace(/^The tool failed: /, ""),
  }));
}

/** Free text and broken JSON are sent inside an object to those who take nothing else. */
function unwrapped(given: unknown): unknown {
  const [[key, value] = [], ...more] = Object.entries(object(given));
  const isWrapped = more.length === 0 && (key === "input" || key === "invalid_arguments");
  return isWrapped && typeof value === "string" ? value : given;
}

function pairsOf(messages: readonly Message[]): Pair[] {
  const pairs: (Pair & { readonly id: string })[] = [];
  for (const { part } of messages.flatMap(({ content }) => content)) {
    if (part.case === "toolCall") {
      const { id, name, input } = part.value;
      const given = input.case === "text" ? input.value : unwrapped(parsed(input.value ?? ""));
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

/** Sources of pictures and documents wherever they stand, since not every wire format has them in results. */
function mediaIn(facts: readonly Fact[]): string[] {
  return facts.flatMap((fact) => {
    if (fact.kind === "result") return fact.media;
    return "source" in fact ? [fact.source] : [];
  });
}

function mediaOf(messages: readonly Message[]): string[] {
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
