import type { MessageInitShape } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import {
  assistantMessage,
  developerMessage,
  systemMessage,
  toolCallsOf,
  userMessage,
} from "../../../src/core/message.ts";
import { textPart } from "../../../src/core/parts.ts";
import { toolResult } from "../../../src/core/tools.ts";
import { type Message, type MessageSchema, Role } from "../../../src/gen/outrigger/v1/message_pb.ts";
import { ResponseFormat_Type as Format } from "../../../src/gen/outrigger/v1/request_pb.ts";
import { toResponse } from "../../../src/providers/openai-responses/response.ts";
import { factsFor } from "../../support/decode.ts";
import { createRandom } from "../../support/random.ts";
import { getRecordings, toBytes } from "../../support/recordings.ts";
import { build, functionTool, type RequestInit } from "./build.ts";

type MessageInit = MessageInitShape<typeof MessageSchema>;

/** Bodies of recorded answers that hold something to send back. */
const answers = getRecordings("openai-responses", ".json")
  .filter(({ status }) => status < 400)
  .map((recording) => toBytes(recording).toString("utf8"));

const MODELS = ["gpt-5.6", "gpt-5-mini", "gpt-4o", "grok-3-mini", "deployment"];

/** A conversation turn by turn: the messages of each request. */
function* growing(random: () => number, model: string): Generator<MessageInit[]> {
  const pick = <Entry>(entries: readonly Entry[]) => entries[Math.floor(random() * entries.length)] as Entry;
  const messages: MessageInit[] = pick([
    [],
    [systemMessage("Be brief."), developerMessage("Be kind.")],
  ]).slice();
  messages.push(userMessage("hi"));
  for (let turn = 0; turn < 6; turn += 1) {
    yield [...messages];
    const answer = random() < 0.15 ? foreignAnswer() : toAnswer(pick(answers), model, messages);
    messages.push(answer, ...toolCallsOf(answer).map(({ id }) => toResult(id, random)));
    if (random() < 0.3) messages.push(developerMessage(`Turn ${turn}: in JSON from now on.`));
    messages.push(userMessage(`And ${turn}?`));
  }
  yield messages;
}

function toAnswer(body: string, model: string, history: readonly MessageInit[]): Message {
  const { message } = toResponse(body, factsFor("openai", { model, messages: [...history] }));
  if (message?.role !== Role.ASSISTANT) throw new Error("an answer is the assistant's");
  return message;
}

function foreignAnswer(): Message {
  const providerState = { provider: "anthropic", model: "claude", dataJson: "{}" };
  return assistantMessage([
    { part: { case: "reasoning", value: { text: "Hm." } }, providerState },
    textPart("Yes."),
    {
      part: {
        case: "toolCall",
        value: { id: `toolu_${"x".repeat(80)}`, name: "look", input: { case: "argumentsJson", value: "{}" } },
      },
    },
  ]);
}

function toResult(toolCallId: string, random: () => number): MessageInit {
  return toolResult(toolCallId, "It is 7.", { failed: random() < 0.2 });
}

/** A body up to the last item of its input: the prefix that the next turn's body must have. */
function beginning(text: string, body: { readonly input?: unknown }): string {
  const input = JSON.stringify((body.input as unknown[]).at(-1));
  const end = text.lastIndexOf(input);
  expect(end).toBeGreaterThan(0);
  return text.slice(0, end + input.length);
}

describe("requests of a growing conversation", () => {
  const formats: Pick<RequestInit & object, "responseFormat">[] = [
    {},
    { responseFormat: { type: Format.JSON } },
  ];

  it.each(Array.from({ length: 40 }, (_, seed) => seed))(
    "begin with the bytes of the previous turn, seed %i",
    async (seed) => {
      const random = createRandom(seed);
      const model = MODELS[seed % MODELS.length] ?? "";
      const init = { model, tools: [functionTool({ name: "look" })], ...formats[seed % 2] };
      let before = "";
      let turns = 0;
      for (const messages of growing(random, model)) {
        const { text, body } = await build({ ...init, messages }, { store: seed % 3 === 0 });
        expect(text.startsWith(before)).toBe(true);
        // The same history gives the same bytes.
        expect((await build({ ...init, messages }, { store: seed % 3 === 0 })).text).toBe(text);
        before = beginning(text, body);
        turns += 1;
      }
      expect(turns).toBe(7);
    },
  );
});
