/**
 * Conversations that begin with a recorded answer of a real provider, handed to every other
 * provider and back: everything that providers are known to say has a place in each other's
 * wire formats, or is left out and told.
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
import { conversationIn, failureOf, messageOf, requestTo } from "./support/asking.ts";
import { type Column, type ColumnName, columns, type Stage, setStage } from "./support/columns.ts";
import { expectNothingLost } from "./support/nothing-lost.ts";
import { type RecordedAnswer, recordedAnswers } from "./support/recorded.ts";

let stage: Stage;
/** One answer of each shape, by the name of its provider. */
const answers = new Map<ColumnName, readonly RecordedAnswer[]>();

beforeAll(async () => {
  stage = await setStage();
  for (const { name } of columns) answers.set(name, onePerShape(await recordedAnswers(name)));
});
afterAll(() => stage[Symbol.asyncDispose]());

describe.each(columns)("recorded answers of $title", (from) => {
  it("are of many shapes", () => {
    expect(answers.get(from.name)?.length).toBeGreaterThanOrEqual(15);
  });

  it("go to all others, one after the other, and back", async () => {
    const failures: string[] = [];
    for (const answer of answers.get(from.name) ?? []) {
      const error = await failureOf(() => handOver(from, answer));
      if (error !== undefined) failures.push(`${answer.file}: ${error}`);
    }
    expect(failures).toEqual([]);
  });
});

/** The first answer of each sequence of kinds of parts; several of a kind in a row are as good as one. */
function onePerShape(all: readonly RecordedAnswer[]): RecordedAnswer[] {
  const byShape = new Map<string, RecordedAnswer>();
  for (const answer of all) {
    const shapes = answer.message.content.map(shapeOf);
    const shape = shapes.filter((each, index) => each !== shapes[index - 1]).join(" ");
    byShape.set(shape, byShape.get(shape) ?? answer);
  }
  return [...byShape.values()];
}

function shapeOf({ part, citations, providerState }: ContentPart): string {
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

async function handOver(from: Column, { message, model }: RecordedAnswer): Promise<void> {
  const author = { name: from.name, model };
  const results = toolCallsOf(message).map(({ id }) => toolResult({ toolCallId: id, content: "Noted." }));
  const messages = [userMessage("Begin."), message, ...results, userMessage("Go on.")];
  const before = await conversationSentTo(author, messages);
  for (const to of columns.filter(({ name }) => name !== from.name)) {
    const response = await stage.client.complete(requestTo(to, { messages }));
    const sent = JSON.stringify(stage.bodyAt());
    expectNothingLost(to.read(stage.bodyAt()).facts, messages);
    expectTold(response, message);
    expect(statesIn(message).filter((state) => sent.includes(state))).toEqual([]);
    messages.push(messageOf(response), userMessage("And now?"));
  }
  const after = await conversationSentTo(author, messages);
  expect(after.slice(0, before.length)).toEqual(before);
}

/** What is sent to the author of the answer. The simulator does not know its signatures, so that it may refuse it. */
async function conversationSentTo(
  author: Pick<Column, "name" | "model">,
  messages: readonly Message[],
): Promise<string[]> {
  stage.simulator.clearRequests();
  await failureOf(() => stage.client.complete(requestTo(author, { messages: [...messages] })));
  expect(stage.requests).toHaveLength(1);
  return conversationIn(stage.bodyAt());
}

/** Every part that only its author understands is told to have been left out, and no other. */
function expectTold({ warnings }: Response, { content }: Message): void {
  const told = warnings.filter(({ code }) => code.startsWith("foreign_state")).map(({ field }) => field);
  const left = content.flatMap(({ part }, index) =>
    part.case === "reasoning" || part.case === "native" ? [`messages[1].content[${index}]`] : [],
  );
  expect(told).toEqual(left);
}

/** Signatures and encrypted texts of a message. */
function statesIn({ content }: Message): string[] {
  return content.flatMap(
    ({ providerState }) => providerState?.dataJson.match(/[A-Za-z0-9+/=_-]{40,}/g) ?? [],
  );
}
