import { describe, expect, it } from "vitest";
import { assistantMessage, systemMessage, userMessage } from "../../../src/core/message.ts";
import { imagePart, type PartInput, textPart } from "../../../src/core/parts.ts";
import { toolResult } from "../../../src/core/tools.ts";
import type { Message } from "../../../src/gen/outrigger/v1/message_pb.ts";
import { ResponseFormat_Type } from "../../../src/gen/outrigger/v1/request_pb.ts";
import { profileNames } from "../../../src/providers/openai-chat/profiles.ts";
import { createRandom } from "../../support/random.ts";
import { PROVIDER, sent, toMessages } from "./support.ts";

const PNG = new Uint8Array([1, 2, 3]);

/** Assistant messages of this provider's model and of another's. */
function turn(random: () => number, number: number): Message[] {
  const isSameProvider = random() < 0.5;
  const state = {
    provider: isSameProvider ? PROVIDER : "other",
    model: "model-1",
    dataJson: '{"field":"reasoning"}',
  };
  const parts: PartInput[] = [];
  if (random() < 0.5)
    parts.push({ part: { case: "reasoning", value: { text: `thought ${number}` } }, providerState: state });
  if (random() < 0.7) parts.push(textPart(`answer ${number} with JSON`));
  const calls = Array.from({ length: Math.floor(random() * 3) }, (_, index) => `call_${number}_${index}`);
  for (const id of calls)
    parts.push({
      part: {
        case: "toolCall",
        value: { id, name: "f", input: { case: "argumentsJson", value: random() < 0.2 ? "{" : "{}" } },
      },
    });
  if (random() < 0.2) parts.push(imagePart(PNG));
  const results = calls.map((toolCallId) =>
    toolResult(toolCallId, random() < 0.3 ? [textPart("shot"), imagePart(PNG)] : "done", {
      failed: random() < 0.2,
    }),
  );
  return [assistantMessage(parts), ...results];
}

/** A conversation that grows turn by turn: each entry has the messages that one more request adds. */
function growing(seed: number): Message[][] {
  const random = createRandom(seed);
  const messages: Message[] = random() < 0.5 ? [systemMessage("Be brief.")] : [];
  const requests: Message[][] = [];
  for (let number = 0; number < 6; number += 1) {
    messages.push(
      userMessage(random() < 0.3 ? [textPart(`ask ${number}`), imagePart(PNG)] : `ask ${number}`),
    );
    requests.push([...messages]);
    messages.push(...turn(random, number));
    if (random() < 0.3) requests.push([...messages]);
  }
  return requests;
}

describe("the body of a growing conversation", () => {
  it.each(profileNames)("begins with the bytes of the turn before, with the profile %s", async (name) => {
    for (let seed = 1; seed <= 12; seed += 1) {
      let before = "";
      for (const messages of growing(seed)) {
        const { body } = await sent({ messages, responseFormat: { type: ResponseFormat_Type.JSON } }, name);
        const bytes = JSON.stringify(toMessages(body)).slice(0, -1);
        expect(bytes.startsWith(before)).toBe(true);
        before = bytes;
      }
    }
  });

  it("is the same each time it is translated", async () => {
    for (const messages of growing(99)) {
      expect((await sent({ messages })).text).toBe((await sent({ messages })).text);
    }
  });
});
