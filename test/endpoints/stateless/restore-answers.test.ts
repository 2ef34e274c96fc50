import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { restoreAnswers } from "../../../src/endpoints/stateless/restore-answers.ts";
import { type Message, MessageSchema, Role } from "../../../src/gen/outrigger/v1/message_pb.ts";

type Parts = NonNullable<MessageInitShape<typeof MessageSchema>["content"]>;

const state = { provider: "p", model: "m", dataJson: '{"signature":"s"}' };

function answer(content: Parts): Message {
  return create(MessageSchema, { role: Role.ASSISTANT, content });
}

function call(id: string, argumentsJson: string, rest: object = {}) {
  return {
    part: {
      case: "toolCall" as const,
      value: { id, name: "f", input: { case: "argumentsJson" as const, value: argumentsJson } },
    },
    ...rest,
  };
}

const reasoning = { part: { case: "reasoning" as const, value: { text: "Hm." } }, providerState: state };
const kept = answer([reasoning, call("a", '{"x":1}', { providerState: state }), call("b", "{}")]);

/** Restores one message from the kept one, and counts the look-ups. */
async function restore(message: Message): Promise<{ message: Message; lookedUp: string[] }> {
  const lookedUp: string[] = [];
  await restoreAnswers([message], {
    getMessage: () => Promise.reject(new Error("messages have no ids in these APIs")),
    findCall: async (id) => {
      lookedUp.push(id);
      return { id: "1", message: kept };
    },
  });
  return { message, lookedUp };
}

describe("restoreAnswers()", () => {
  it("puts the reasoning and the state of calls back, whatever the white space of the arguments", async () => {
    const { message } = await restore(answer([call("a", '{ "x": 1 }'), call("b", "{}")]));
    expect(message.content.map(({ part }) => part.case)).toEqual(["reasoning", "toolCall", "toolCall"]);
    expect(message.content.map(({ providerState }) => providerState?.dataJson)).toEqual([
      state.dataJson,
      state.dataJson,
      undefined,
    ]);
  });

  it("replaces reasoning that has lost its signature", async () => {
    const bare = { part: reasoning.part };
    const { message } = await restore(answer([bare, call("a", '{"x":1}'), call("b", "{}")]));
    expect(message.content).toHaveLength(3);
    expect(message.content[0]?.providerState?.dataJson).toBe(state.dataJson);
  });

  it("keeps the reasoning that a client returned with its state", async () => {
    const other = { ...reasoning, providerState: { ...state, dataJson: "{}" } };
    const { message } = await restore(answer([other, call("a", '{"x":1}'), call("b", "{}")]));
    expect(message.content.map(({ providerState }) => providerState?.dataJson)).toEqual([
      "{}",
      state.dataJson,
      undefined,
    ]);
  });

  it.each([
    ["other arguments", [call("a", '{"x":2}'), call("b", "{}")]],
    ["fewer calls", [call("a", '{"x":1}')]],
    ["another order", [call("b", "{}"), call("a", '{"x":1}')]],
  ])("leaves an answer with %s as it is", async (_, content) => {
    const { message } = await restore(answer(content));
    expect(message.content.every(({ providerState }) => providerState === undefined)).toBe(true);
  });

  it("looks up answers without state only", async () => {
    const { lookedUp } = await restore(answer([call("a", '{"x":1}', { providerState: state })]));
    expect(lookedUp).toEqual([]);
    expect((await restore(answer([{ part: { case: "text", value: "Hi" } }]))).lookedUp).toEqual([]);
  });
});
