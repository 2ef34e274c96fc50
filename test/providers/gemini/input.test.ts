import type { MessageInitShape } from "@bufbuild/protobuf";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { assistantMessage, systemMessage, toolCallsOf, userMessage } from "../../../src/core/message.ts";
import { textPart } from "../../../src/core/parts.ts";
import type { Message, MessageSchema } from "../../../src/gen/outrigger/v1/message_pb.ts";
import { answered, getCodes, NEW_MODEL, OLD_MODEL, resultsFor, translate } from "./support.ts";

type MessageInit = MessageInitShape<typeof MessageSchema>;

describe("a conversation that ends with an assistant message", () => {
  const messages = [userMessage("hi"), assistantMessage("Hel")];
  it("is sent to models that support prefill and refused for others", async () => {
    expect((await translate({ model: OLD_MODEL, messages })).body.contents).toHaveLength(2);
    await expect(translate({ model: "gemini-3.8-flash", messages })).rejects.toThrow(
      "messages: expected a user's message",
    );
  });
});

describe("native parts in user messages", () => {
  const native = (provider: string, dataJson: string) =>
    ({ part: { case: "native", value: { provider, kind: "fileData", dataJson } } }) as const;

  it("are sent unchanged", async () => {
    const video = '{"fileData":{"fileUri":"https://youtu.be/x"},"videoMetadata":{"fps":1.0}}';
    const { text } = await translate({
      messages: [userMessage([textPart("look"), native("gemini", video)])],
    });
    expect(text).toContain(`{"text":"look"},${video}`);
  });

  it("of another provider are left out with a warning, as is a message that has no other parts", async () => {
    const messages = [userMessage("hi"), userMessage(native("openai", "{}")), userMessage("go")];
    const { body, warnings } = await translate({ messages });
    expect(body.contents).toHaveLength(2);
    expect(getCodes(warnings)).toEqual(["foreign_state_stripped messages[1].content[0]"]);
  });

  it("are refused by field if they are not a JSON object", async () => {
    await expect(translate({ messages: [userMessage(native("gemini", "[]"))] })).rejects.toThrow(
      "messages[0].content[0].native.data_json: expected the text of a JSON object, found a list",
    );
  });
});

describe("a growing conversation", () => {
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

  it("begins with the same bytes in every request", async () => {
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
            const { text } = await translate({ model, messages });
            const contents = text.slice(text.indexOf('"contents":'));
            expect(contents.startsWith(before)).toBe(true);
            expect((await translate({ model, messages })).text).toBe(text);
            // Without the brackets that close the list and the body.
            before = contents.slice(0, -2);
            const turn = renamed(answered(parts, model), index);
            messages.push(turn, ...resultsFor(turn));
          }
        },
      ),
      { numRuns: 60 },
    );
  });

  /** The turn with other ids, which every run generates anew. */
  function renamed(turn: Message, index: number): Message {
    for (const toolCall of toolCallsOf(turn)) toolCall.id = `${index}_${toolCall.id}`;
    return turn;
  }
});
