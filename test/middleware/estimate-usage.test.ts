import { create } from "@bufbuild/protobuf";
import {
  customTool,
  functionTool,
  hostedTool,
  imagePart,
  type RequestInput,
  reasoningPart,
  toolResult,
  userMessage,
} from "outrigger";
import { describe, expect, it } from "vitest";
import { estimateUsage } from "../../src/client/estimate-usage.ts";
import { toRequest } from "../../src/client/request-input.ts";
import { ContentPartSchema, MessageSchema, Role } from "../../src/gen/outrigger/v1/message_pb.ts";

const FORTY_BYTES = "0123456789".repeat(4);

/** The estimated tokens of the prompt of a request. */
function countInput(changes: Partial<RequestInput>): number {
  return estimateUsage(toRequest({ model: "m", messages: [], ...changes })).inputTokens;
}

function assistantMessageWith(part: NonNullable<Parameters<typeof create<typeof ContentPartSchema>>[1]>) {
  return create(MessageSchema, { role: Role.ASSISTANT, content: [create(ContentPartSchema, part)] });
}

const CALL = {
  part: {
    case: "toolCall",
    value: { id: "c", name: "eightchr", input: { case: "argumentsJson", value: FORTY_BYTES } },
  },
} as const;

const NATIVE = {
  part: { case: "native", value: { provider: "one", type: "t", dataJson: FORTY_BYTES } },
} as const;

describe("estimateUsage()", () => {
  it.each([
    ["a text", userMessage(FORTY_BYTES), 10],
    ["characters of several bytes", userMessage("äöüß"), 2],
    ["a part of a token", userMessage("12345"), 2],
    ["reasoning", assistantMessageWith(reasoningPart({ text: FORTY_BYTES })), 10],
    ["a call of a tool", assistantMessageWith(CALL), 12],
    ["a native part", assistantMessageWith(NATIVE), 10],
    ["the result of a tool", toolResult("c", FORTY_BYTES), 10],
    ["a medium", userMessage(imagePart("https://example.com/a.png")), 1000],
  ])("counts %s", (_name, message, tokens) => {
    expect(countInput({ messages: [message] })).toBe(tokens);
    expect(countInput({ messages: [message, message] })).toBeGreaterThan(tokens);
  });

  it.each([
    [functionTool({ name: "f", description: FORTY_BYTES, parameters: { type: "object" } }), 10 + 17 / 4],
    [customTool({ name: "c", description: FORTY_BYTES }), 10],
    [hostedTool({ provider: "one", config: { type: "web_search" } }), 0],
  ])("counts descriptions and schemas of tools", (tool, tokens) => {
    expect(countInput({ tools: [tool] })).toBe(Math.ceil(tokens));
  });

  it("takes the longest answer that is allowed, and a thousand tokens if there is no limit", () => {
    const messages = [userMessage(FORTY_BYTES)];
    expect(estimateUsage(toRequest({ model: "m", messages, maxTokens: 7 }))).toMatchObject({
      outputTokens: 7,
      totalTokens: 17,
    });
    expect(estimateUsage(toRequest({ model: "m", messages }))).toMatchObject({
      outputTokens: 1000,
      totalTokens: 1010,
    });
  });
});
