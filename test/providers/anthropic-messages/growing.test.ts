import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { imagePart, systemMessage, textPart, toolResult, userMessage } from "../../../src/core/message.ts";
import type { Message } from "../../../src/gen/outrigger/v1/message_pb.ts";
import { ToolCallIdAllocator } from "../../../src/kit/adapter/tool-call-id-allocator.ts";
import { toResponse } from "../../../src/providers/anthropic-messages/response.ts";
import { factsFor } from "../../support/decode.ts";
import { build } from "./build.ts";

/** What can happen in one turn: what the user says, what the model answers, what its tools answer. */
const turns = fc.array(
  fc.record({
    asked: fc.constantFrom(["hi"], ["", "and then?"], ["🌊", "", "hi"]),
    instructed: fc.boolean(),
    shown: fc.boolean(),
    thought: fc.constantFrom(undefined, "Hm.", ""),
    searched: fc.boolean(),
    called: fc.array(fc.constantFrom('{"b":1.0,"2":{},"1":[]}', "{}", '{ "a" : "x" }'), { maxLength: 3 }),
    answered: fc.constantFrom("", "So.", "So. \n"),
  }),
  { minLength: 1, maxLength: 6 },
);

type Turns = typeof turns extends fc.Arbitrary<infer Value> ? Value : never;

/** The conversation at each moment at which it is sent. */
function momentsOf(history: Turns): Message[][] {
  const messages: Message[] = [systemMessage("Be kind.")];
  const moments: Message[][] = [];
  history.forEach((turn, index) => {
    messages.push(userMessage(turn.asked.map(textPart)));
    if (turn.shown) messages.push(userMessage(imagePart(Uint8Array.of(1, 2), "image/gif")));
    if (turn.instructed) messages.push(systemMessage(`Rule ${index}.`));
    moments.push([...messages]);
    const calls = turn.called.map((_, place) => `toolu_${index}_${place}`);
    messages.push(answerOf(turn, calls));
    for (const toolCallId of calls) messages.push(toolResult({ toolCallId, content: "done" }));
    if (calls.length > 0) moments.push([...messages]);
  });
  return moments;
}

/** What the model says, through the adapter's own reading of the provider's answer. */
function answerOf(turn: Turns[number], calls: readonly string[]): Message {
  const blocks = [
    ...(turn.thought === undefined ? [] : [{ type: "thinking", thinking: turn.thought, signature: "s" }]),
    ...(turn.searched ? [{ type: "server_tool_use", id: "srv", name: "web_search", input: { q: "x" } }] : []),
    ...(turn.answered === "" ? [] : [{ type: "text", text: turn.answered }]),
  ].map((block) => JSON.stringify(block));
  const uses = calls.map(
    (id, place) => `{"type":"tool_use","id":"${id}","name":"look","input":${turn.called[place]}}`,
  );
  const body = `{"model":"${MODEL}","content":[${[...blocks, ...uses].join(",")}]}`;
  const facts = factsFor("anthropic", { model: MODEL });
  const { message } = toResponse(body, facts, new ToolCallIdAllocator(facts.inferenceId));
  if (message === undefined) throw new Error("an answer has a message");
  return message;
}

const MODEL = "claude-opus-5";
const TOOLS = [{ tool: { case: "function", value: { name: "look" } } }] as const;

/** The bytes of a request up to the end of its last block, so that what follows can only be added behind. */
function openEnd(text: string): string {
  expect(text.endsWith("]}]}")).toBe(true);
  return text.slice(0, -"]}]}".length);
}

/** Markers tell the cache what to keep; they are no content, and move with the conversation. */
function withoutMarkers(text: string): string {
  return text.replaceAll(',"cache_control":{"type":"ephemeral"}', "");
}

const request = (messages: Message[], own: object) =>
  build({
    model: MODEL,
    messages,
    tools: [...TOOLS],
    reasoningEffort: "high",
    providerOptionsJson: { anthropic: JSON.stringify(own) },
  });

describe("a growing conversation", () => {
  it("sends in each turn the bytes of the turn before, and more behind them", async () => {
    await fc.assert(
      fc.asyncProperty(turns, async (history) => {
        let before = "";
        for (const messages of momentsOf(history)) {
          const { text } = await request(messages, { auto_cache: false });
          expect(text.startsWith(before)).toBe(true);
          before = openEnd(text);
        }
      }),
      { seed: 3, numRuns: 150 },
    );
  });

  it("is the same beneath its cache markers, of which there are at most four", async () => {
    await fc.assert(
      fc.asyncProperty(turns, async (history) => {
        for (const messages of momentsOf(history)) {
          const marked = await request(messages, {});
          const bare = await request(messages, { auto_cache: false });
          expect(withoutMarkers(marked.text)).toBe(bare.text);
          expect(marked.text.split("cache_control").length - 1).toBeLessThanOrEqual(4);
          expect(marked.text).not.toMatch(/"signature":"s","cache_control"/);
        }
      }),
      { seed: 4, numRuns: 100 },
    );
  });
});
