/** Messages of a conversation that a request repeats: what is left of its input. */
import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { createTextPart } from "../../../src/endpoints/answers/create-request.ts";
import { Fields } from "../../../src/endpoints/openai/fields.ts";
import { MessageDrafts } from "../../../src/endpoints/responses/message-drafts.ts";
import { removeRepeatedItems } from "../../../src/endpoints/responses/repeated-items.ts";
import { MessageSchema, Role } from "../../../src/gen/outrigger/v1/message_pb.ts";
import { ThreadMessageSchema } from "../../../src/gen/outrigger/v1/thread_pb.ts";

/** Each letter is a message with that text: `z` one of the model, the others of the user. */
const LETTERS = ["x", "y", "z"];

/** All conversations of a length in which the model does not speak twice in a row. */
function listConversations(length: number): string[] {
  if (length === 0) return [""];
  const shorter = listConversations(length - 1);
  return LETTERS.flatMap((letter) => shorter.map((rest) => letter + rest)).filter((all) => !/zz/.test(all));
}

function getRole(letter: string): Role {
  return letter === "z" ? Role.ASSISTANT : Role.USER;
}

function toStored(letter: string, index: number) {
  const message = create(MessageSchema, { role: getRole(letter), content: [createTextPart(letter)] });
  return create(ThreadMessageSchema, { id: `m${index}`, message });
}

function toDrafts(letters: string): MessageDrafts {
  const drafts = new MessageDrafts();
  for (const letter of letters) {
    const part = createTextPart(letter);
    if (letter === "z") drafts.addToTurn(part, new Fields({}, "", () => "{}"));
    else drafts.add(Role.USER, [{ part, path: "" }], "");
  }
  return drafts;
}

/** The letters of the input that are left. */
async function getRest(conversation: string, input: string): Promise<string> {
  const drafts = toDrafts(input);
  const readEnd = async () => [...conversation].map(toStored);
  await removeRepeatedItems(drafts, new Map(), { readEnd });
  return drafts.all.map(({ message }) => message.content[0]?.part.value).join("");
}

/** The same, by trying each number of messages. */
function expectedRest(conversation: string, input: string): string {
  for (let count = input.length; count > 0; count -= 1) {
    const repeated = input.slice(0, count);
    if (conversation.endsWith(repeated)) return repeated.includes("z") ? input.slice(count) : input;
  }
  return input;
}

describe("The beginning of an input", () => {
  it.each([
    ["xz", "xzy", "y"],
    ["xzxzy", "xzyx", "x"],
    ["xzxzx", "xzxzy", "zy"],
    ["xy", "xyx", "xyx"],
    ["xz", "yxz", "yxz"],
  ])("is left out if the conversation %j ends with it and the model speaks in it: %j", async (...all) => {
    const [conversation, input, rest] = all;
    expect(await getRest(conversation, input)).toBe(rest);
  });

  it("is left out in every short conversation as far as it is repeated", async () => {
    for (const conversation of listConversations(5))
      for (const input of listConversations(4)) {
        const rest = await getRest(conversation, input);
        expect(`${conversation} ${input} ${rest}`).toBe(
          `${conversation} ${input} ${expectedRest(conversation, input)}`,
        );
      }
  });
});
