import type { MessageInitShape } from "@bufbuild/protobuf";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Message, MessageSchema } from "../../../src/gen/outrigger/v1/message_pb.ts";
import { assistantMessage, systemMessage, toolCallsOf, userMessage } from "../../../src/spec/message.ts";
import { answered, NEW_MODEL, OLD_MODEL, resultsFor, translate } from "./support.ts";

type MessageInit = MessageInitShape<typeof MessageSchema>;

describe("a conversation that ends with the model's message", () => {
  const messages = [userMessage("hi"), assistantMessage("Hel")];
  it("is continued by models that do so, and refused for others", async () => {
    expect((await translate({ model: OLD_MODEL, messages })).body.contents).toHaveLength(2);
    await expect(translate({ model: "gemini-3.8-flash", messages })).rejects.toThrow(
      "messages: expected a user's message",
    );
  });
});

describe("a conversation that grows", () => {
  const text = fc.string({ minLength: 1, maxLength: 8 });
  const signature = fc.option(fc.base64String({ minLength: 4, maxLength: 8 }), { nil: undefined });
  const signed = (part: object, thoughtSignature: string | undefined) =>
    thoughtSignature === undefined ? part : { ...part, thoughtSignature };
  const wirePart = fc.oneof(
    fc.tuple(text, signature).map(([value, sealed]) => signed({ text: value }, sealed)),
    fc.tuple(text, signature).map(([value, sealed]) => signed({ text: value, thought: true }, sealed)),
    fc
      .tuple(fc.constantFrom("f", "g"), fc.dictionary(text, fc.jsonValue({ maxDepth: 1 })), signature)
      .map(([name, args, sealed]) => signed({ functionCall: { name, args } }, sealed)),
    fc.constant({ executableCode: { language: "PYTHON", code: "1" } }),
  );
  const step = fc.record({
    say: text,
    parts: fc.array(wirePart, { minLength: 1, maxLength: 4 }),
    note: fc.boolean(),
  });

  it("begins with the same bytes in every turn", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 2, maxLength: 4 }),
        fc.constantFrom(NEW_MODEL, OLD_MODEL),
        async (steps, model) => {
          const messages: MessageInit[] = [systemMessage("Be brief.")];
          let before = "";
          for (const [index, { say, parts, note }] of steps.entries()) {
            messages.push(userMessage(say));
            if (note) messages.push(systemMessage("By the way."));
            const { body } = await translate({ model, messages });
            const contents = JSON.stringify(body.contents);
            expect(contents.startsWith(before)).toBe(true);
            expect(JSON.stringify((await translate({ model, messages })).body)).toBe(JSON.stringify(body));
            // Without the bracket that closes the list.
            before = contents.slice(0, -1);
            const turn = renamed(answered(parts, model), index);
            messages.push(turn, ...resultsFor(turn));
          }
        },
      ),
      { numRuns: 60 },
    );
  });

  /** Every run has ids of its own. */
  function renamed(turn: Message, index: number): Message {
    for (const toolCall of toolCallsOf(turn)) toolCall.id = `${index}_${toolCall.id}`;
    return turn;
  }
});
