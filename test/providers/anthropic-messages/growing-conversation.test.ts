import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { systemMessage, userMessage } from "../../../src/core/message.ts";
import { imagePart, textPart } from "../../../src/core/parts.ts";
import { toolResult } from "../../../src/core/tools.ts";
import type { Message } from "../../../src/gen/outrigger/v1/message_pb.ts";
import { toResponse } from "../../../src/providers/anthropic-messages/response.ts";
import { factsFor } from "../../support/decode.ts";
import { build } from "./build-request.ts";

/** The possible contents of one turn: the user's texts, the model's answer, and the results of its tools. */
const turns = fc.array(
  fc.record({
    userTexts: fc.constantFrom(["hi"], ["", "and then?"], ["🌊", "", "hi"]),
    hasInstruction: fc.boolean(),
    hasImage: fc.boolean(),
    thinking: fc.constantFrom(undefined, "Hm.", ""),
    hasSearch: fc.boolean(),
    inputs: fc.array(fc.constantFrom('{"b":1.0,"2":{},"1":[]}', "{}", '{ "a" : "x" }'), { maxLength: 3 }),
    answer: fc.constantFrom("", "So.", "So. \n"),
  }),
  { minLength: 1, maxLength: 6 },
);

type Turns = typeof turns extends fc.Arbitrary<infer Value> ? Value : never;

/** The messages of each request of a conversation. */
function messagesOfRequests(history: Turns): Message[][] {
  const messages: Message[] = [systemMessage("Be kind.")];
  const requests: Message[][] = [];
  history.forEach((turn, index) => {
    messages.push(userMessage(turn.userTexts.map(textPart)));
    if (turn.hasImage) messages.push(userMessage(imagePart(Uint8Array.of(1, 2), { mediaType: "image/gif" })));
    if (turn.hasInstruction) messages.push(systemMessage(`Rule ${index}.`));
    requests.push([...messages]);
    const calls = turn.inputs.map((_, callIndex) => `toolu_${index}_${callIndex}`);
    messages.push(toAnswer(turn, calls));
    for (const toolCallId of calls) messages.push(toolResult(toolCallId, "done"));
    if (calls.length > 0) requests.push([...messages]);
  });
  return requests;
}

/** The model's answer, as the adapter reads it. */
function toAnswer(turn: Turns[number], calls: readonly string[]): Message {
  const blocks = [
    ...(turn.thinking === undefined ? [] : [{ type: "thinking", thinking: turn.thinking, signature: "s" }]),
    ...(turn.hasSearch
      ? [{ type: "server_tool_use", id: "srv", name: "web_search", input: { q: "x" } }]
      : []),
    ...(turn.answer === "" ? [] : [{ type: "text", text: turn.answer }]),
  ].map((block) => JSON.stringify(block));
  const uses = calls.map(
    (id, callIndex) => `{"type":"tool_use","id":"${id}","name":"look","input":${turn.inputs[callIndex]}}`,
  );
  const body = `{"model":"${MODEL}","content":[${[...blocks, ...uses].join(",")}]}`;
  const facts = factsFor("anthropic", { model: MODEL });
  const { message } = toResponse(body, facts);
  if (message === undefined) throw new Error("expected a message in the answer");
  return message;
}

const MODEL = "claude-opus-5";
const TOOLS = [{ tool: { case: "function", value: { name: "look" } } }] as const;

/** The body of a request up to the end of its last block, at which the next turn continues. */
function withoutClosing(text: string): string {
  expect(text.endsWith("]}]}")).toBe(true);
  return text.slice(0, -"]}]}".length);
}

/** A body without its cache breakpoints, which move as the conversation grows. */
function withoutBreakpoints(text: string): string {
  return text.replaceAll(',"cache_control":{"type":"ephemeral"}', "");
}

const request = (messages: Message[], fields: object) =>
  build({
    model: MODEL,
    messages,
    tools: [...TOOLS],
    reasoningEffort: "high",
    providerOptionsJson: { anthropic: JSON.stringify(fields) },
  });

describe("a growing conversation", () => {
  it("sends each turn as the bytes of the previous turn followed by more", async () => {
    await fc.assert(
      fc.asyncProperty(turns, async (history) => {
        let before = "";
        for (const messages of messagesOfRequests(history)) {
          const { text } = await request(messages, { auto_cache: false });
          expect(text.startsWith(before)).toBe(true);
          before = withoutClosing(text);
        }
      }),
      { seed: 3, numRuns: 150 },
    );
  });

  it("differs by its cache breakpoints alone, of which there are at most four", async () => {
    await fc.assert(
      fc.asyncProperty(turns, async (history) => {
        for (const messages of messagesOfRequests(history)) {
          const cached = await request(messages, {});
          const plain = await request(messages, { auto_cache: false });
          expect(withoutBreakpoints(cached.text)).toBe(plain.text);
          expect(cached.text.split("cache_control").length - 1).toBeLessThanOrEqual(4);
          expect(cached.text).not.toMatch(/"signature":"s","cache_control"/);
        }
      }),
      { seed: 4, numRuns: 100 },
    );
  });
});
