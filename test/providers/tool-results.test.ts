/** Results that do not fit the calls of a conversation are refused before anything is sent, whatever the provider. */
import { assistantMessage, InvalidRequestError, type Message, toolResult, userMessage } from "outrigger";
import { expect } from "vitest";
import { type CallMode, callModel, requestTo, toFailure } from "./support/calls.ts";
import { type Column, createFixture } from "./support/columns.ts";
import { testTable } from "./support/table.ts";

const asked = [userMessage("Weather?"), assistantMessage([call("call_1"), call("call_2")])];
const results = [toolResult("call_1", "rain"), toolResult("call_2", "sun")];

function call(id: string) {
  const value = { id, name: "get_weather", input: { case: "argumentsJson", value: "{}" } } as const;
  return { part: { case: "toolCall", value } } as const;
}

async function expectRefused(column: Column, messages: Message[], path: string, id: string): Promise<void> {
  await using fixture = await createFixture("sim-text");
  for (const mode of ["complete", "stream"] satisfies CallMode[]) {
    const failure = await toFailure(() => callModel(fixture.client, requestTo(column, { messages }), mode));
    expect(failure).toBeInstanceOf(InvalidRequestError);
    expect(String(failure)).toContain(`${path}: "${id}"`);
  }
  expect(fixture.requests).toEqual([]);
}

testTable("Tool results", [
  {
    title: "A call without a result is refused",
    verify: (column) =>
      expectRefused(column, [...asked, ...results.slice(1)], "messages[1].content[0].toolCall", "call_1"),
  },
  {
    title: "A second result for a call is refused",
    verify: (column) =>
      expectRefused(
        column,
        [...asked, ...results, toolResult("call_1", "snow")],
        "messages[4].content[0].toolResult.toolCallId",
        "call_1",
      ),
  },
  {
    title: "A result for no call is refused",
    verify: (column) =>
      expectRefused(
        column,
        [...asked, ...results, toolResult("call_9", "snow")],
        "messages[4].content[0].toolResult.toolCallId",
        "call_9",
      ),
  },
  {
    title: "One result for each call is sent, in any order",
    async verify(column) {
      await using fixture = await createFixture("sim-text");
      const messages = [...asked, ...results.toReversed()];
      await fixture.client.complete(requestTo(column, { messages }));
      expect(fixture.requests).toHaveLength(1);
    },
  },
]);
