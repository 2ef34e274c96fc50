import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { type RequestInput, toRequest } from "../../src/client/request-input.ts";
import { InvalidRequestError } from "../../src/core/errors.ts";
import { userMessage } from "../../src/core/message.ts";
import { RequestSchema } from "../../src/gen/outrigger/v1/request_pb.ts";

const messages = [userMessage("hi")];

function violationsIn(input: unknown): string[] {
  try {
    toRequest(input as RequestInput);
    return [];
  } catch (error) {
    if (!(error instanceof InvalidRequestError)) throw error;
    return error.violations.map(({ field, description }) => `${field}: ${description}`);
  }
}

describe("toRequest()", () => {
  it.each([
    ["a plain request", { model: "m", messages }],
    ["a created request", create(RequestSchema, { model: "m", messages })],
    ["undefined fields", { model: "m", messages, temperature: undefined }],
    [
      "plain messages",
      { model: "m", messages: [{ role: 2, content: [{ part: { case: "text", value: "hi" } }] }] },
    ],
    ["an unset oneof", { messages: [{ content: [{ part: { case: undefined } }] }] }],
    [
      "maps, bytes, enums and durations",
      {
        metadata: { team: "blue" },
        toolChoice: { mode: 1, parallel: false },
        timeouts: { request: { seconds: 5n, nanos: 0 } },
        messages: [
          {
            content: [
              { part: { case: "image", value: { source: { case: "data", value: new Uint8Array(1) } } } },
            ],
          },
        ],
      },
    ],
  ])("accepts %s", (_what, input) => {
    expect(violationsIn(input)).toEqual([]);
  });

  it.each([
    [
      "a max_tokens that is not a number",
      { maxTokens: Number.NaN },
      "max_tokens: expected a whole number, found NaN",
    ],
    ["a fraction of a token", { maxTokens: 1.5 }, "max_tokens: expected a whole number, found 1.5"],
    [
      "a temperature that is not a number",
      { temperature: Number.NaN },
      "temperature: expected a number, found NaN",
    ],
    [
      "a string in place of a tool choice",
      { toolChoice: "required" },
      'tool_choice: expected an object (ToolChoice), found a string; write toolChoice("required")',
    ],
    [
      "a tool's name in place of a tool choice",
      { toolChoice: "get_weather" },
      "tool_choice: expected an object (ToolChoice), found a string; write toolChoice({ name })",
    ],
    [
      "seconds in place of a duration",
      { timeouts: { request: 5 } },
      "timeouts.request: expected a Duration, found 5; requestMs takes milliseconds",
    ],
    [
      "a number in place of a bigint",
      { timeouts: { request: { seconds: 5 } } },
      "timeouts.request.seconds: expected a bigint, found 5",
    ],
    ["a text in place of messages", { messages: "hi" }, "messages: expected a list, found a string"],
    [
      "a text in place of a message",
      { messages: ["hi"] },
      "messages[0]: expected an object (Message), found a string",
    ],
    [
      "a message of another type",
      { messages: [create(RequestSchema)] },
      "messages[0]: expected a Message, found a outrigger.v1.Request",
    ],
    [
      "a part of an unknown kind",
      { messages: [{ content: [{ part: { case: "picture", value: {} } }] }] },
      /^messages\[0\]\.content\[0\]\.part: expected \{ case, value \} with one of the cases text, image/,
    ],
    [
      "a text part without text",
      { messages: [{ content: [{ part: { case: "text", value: 7 } }] }] },
      "messages[0].content[0].text: expected a string, found 7",
    ],
    ["a map of other values", { metadata: { team: 7 } }, 'metadata["team"]: expected a string, found 7'],
    ["no object at all", null, ": expected an object (Request), found null"],
  ] as const)("rejects %s", (_what, input, violation) => {
    const [found = "", ...more] = violationsIn(input);
    expect(more).toEqual([]);
    if (typeof violation === "string") expect(found).toBe(violation);
    else expect(found).toMatch(violation);
  });

  it("names the known fields if one is misspelt", () => {
    expect(violationsIn({ max_tokens: 5 })[0]).toMatch(
      /^max_tokens: is not a field of Request; expected one of model, messages/,
    );
  });
});
