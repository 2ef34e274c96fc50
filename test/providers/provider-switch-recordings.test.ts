/**
 * Conversations that begin with a recorded answer of a real provider, sent to every other provider
 * and back: everything that providers are known to return has a form in the other wire formats, or
 * is left out with a warning.
 */
import {
  type ContentPart,
  type Message,
  type Response,
  toolCallsOf,
  toolResult,
  userMessage,
} from "outrigger";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { conversationIn, requestTo, toFailure, toMessage } from "./support/calls.ts";
import { type Column, type ColumnName, columns, createFixture, type Fixture } from "./support/columns.ts";
import { expectPreserved } from "./support/preserved.ts";
import { type RecordedAnswer, recordedAnswers } from "./support/recorded-answers.ts";

let fixture: Fixture;
/** One answer of each shape, by the name of its provider. */
const answers = new Map<ColumnName, readonly RecordedAnswer[]>();

beforeAll(async () => {
  fixture = await createFixture();
  for (const { name } of columns) answers.set(name, onePerShape(await recordedAnswers(name)));
});
afterAll(() => fixture[Symbol.asyncDispose]());

describe.each(columns)("recorded answers of $title", (from) => {
  it("have many different shapes", () => {
    expect(answers.get(from.name)?.length).toBeGreaterThanOrEqual(15);
  });

  it("are accepted by all others in turn, and by the original provider again", async () => {
    const failures: string[] = [];
    for (const answer of answers.get(from.name) ?? []) {
      const error = await toFailure(() => switchProviders(from, answer));
      if (error !== undefined) failures.push(`${answer.file}: ${error}`);
    }
    expect(failures).toEqual([]);
  });
});

/** The first answer of each sequence of kinds of parts; consecutive parts of a kind count as one. */
function onePerShape(all: readonly RecordedAnswer[]): RecordedAnswer[] {
  const byShape = new Map<string, RecordedAnswer>();
  for (const answer of all) {
    const shapes = answer.message.content.map(getShape);
    const shape = shapes.filter((each, index) => each !== shapes[index - 1]).join(" ");
    byShape.set(shape, byShape.get(shape) ?? answer);
  }
  return [...byShape.values()];
}

function getShape({ part, citations, providerState }: ContentPart): string {
  const facts = [part.case, citations.length > 0, providerState !== undefined];
  switch (part.case) {
    case "native":
      return [...facts, part.value.kind].join();
    case "toolCall":
      return [...facts, part.value.input.case, part.value.argumentsInvalid].join();
    case "reasoning":
      return [...facts, part.value.redacted, part.value.text === ""].join();
    default:
      return facts.join();
  }
}

async function switchProviders(from: Column, { message, model }: RecordedAnswer): Promise<void> {
  const origin = { name: from.name, model };
  const results = toolCallsOf(message).map(({ id }) => toolResult(id, "Noted."));
  const messages = [userMessage("Begin."), message, ...results, userMessage("Go on.")];
  const before = await conversationSentTo(origin, messages);
  for (const to of columns.filter(({ name }) => name !== from.name)) {
    const response = await fixture.client.complete(requestTo(to, { messages }));
    const sent = JSON.stringify(fixture.bodyAt());
    expectPreserved(to.read(fixture.bodyAt()).facts, messages);
    expectForeignStateWarnings(response, message);
    expect(statesIn(message).filter((state) => sent.includes(state))).toEqual([]);
    messages.push(toMessage(response), userMessage("And now?"));
  }
  const after = await conversationSentTo(origin, messages);
  expect(after.slice(0, before.length)).toEqual(before);
}

/**
 * Returns the conversation as it is sent to the provider of the answer. The simulator may reject it, since it does not
 * know the signatures.
 */
async function conversationSentTo(
  origin: Pick<Column, "name" | "model">,
  messages: readonly Message[],
): Promise<string[]> {
  fixture.simulator.clearRequests();
  await toFailure(() => fixture.client.complete(requestTo(origin, { messages: [...messages] })));
  expect(fixture.requests).toHaveLength(1);
  return conversationIn(fixture.bodyAt());
}

/** Every part that only its provider understands has a warning that it was left out, and no other part has. */
function expectForeignStateWarnings({ warnings }: Response, { content }: Message): void {
  const fields = warnings.filter(({ code }) => code.startsWith("foreign_state")).map(({ field }) => field);
  const left = content.flatMap(({ part }, index) =>
    part.case === "reasoning" || part.case === "native" ? [`messages[1].content[${index}]`] : [],
  );
  expect(fields).toEqual(left);
}

/** Signatures and encrypted texts of a message. */
function statesIn({ content }: Message): string[] {
  return content.flatMap(
    ({ providerState }) => providerState?.dataJson.match(/[A-Za-z0-9+/=_-]{40,}/g) ?? [],
  );
}
