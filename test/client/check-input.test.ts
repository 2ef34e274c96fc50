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
    ["a copy without its type", { model: "m", messages: [{ role: 2, content: [], $unknown: [] }] }],
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
      "null in place of a part",
      { messages: [{ content: [{ part: null }] }] },
      /^messages\[0\]\.content\[0\]\.part: expected \{ case, value \} .*, found null$/,
    ],
    [
      "a text part without text",
      { messages: [{ content: [{ part: { case: "text", value: 7 } }] }] },
      "messages[0].content[0].text: expected a string, found 7",
    ],
    [
      "an unknown field of a message",
      { messages: [{ role: 2, content: [], text: "hi" }] },
      "messages[0].text: is not a field of Message; expected one of role, content, name, toolCallId",
    ],
    [
      "a word in place of an enum",
      { toolChoice: { mode: "auto" } },
      "tool_choice.mode: expected a whole number, found a string",
    ],
    [
      "a list with another value",
      { stopSequences: ["end", 7] },
      "stop_sequences[1]: expected a string, found 7",
    ],
    [
      "a list with a gap",
      { messages: [undefined] },
      "messages[0]: expected an object (Message), found nothing",
    ],
    [
      "bytes in place of a text",
      { messages: [{ content: [{ part: { case: "text", value: new Uint8Array(1) } }] }] },
      "messages[0].content[0].text: expected a string, found bytes",
    ],
    [
      "a list in place of an object",
      { toolChoice: ["auto"] },
      "tool_choice: expected an object (ToolChoice), found a list",
    ],
    ["a list in place of a map", { metadata: ["blue"] }, "metadata: expected an object, found a list"],
    ["bytes in place of a map", { metadata: new Uint8Array(1) }, "metadata: expected an object, found bytes"],
    [
      "a map with a long key",
      { metadata: { ["k".repeat(60)]: 7 } },
      `metadata["${"k".repeat(48)}"]: expected a string, found 7`,
    ],
    ["a map of other values", { metadata: { team: 7 } }, 'metadata["team"]: expected a string, found 7'],
    ["no object at all", null, ": expected an object (Request), found null"],
  ] as const)("rejects %s", (_what, input, violation) => {
    const [found = "", ...more] = violationsIn(input);
    expect(more).toEqual([]);
    if (typeof violation === "string") expect(found).toBe(violation);
    else expect(found).toMatch(violation);
  });

  it("suggests the field that was probably meant", () => {
    expect(violationsIn({ max_tokens: 5 })[0]).toMatch(/; did you mean maxTokens\?$/);
    expect(violationsIn({ budget: 5 })[0]).not.toContain("did you mean");
  });

  it("names the known fields if one is misspelt", () => {
    expect(violationsIn({ max_tokens: 5 })[0]).toMatch(
      /^max_tokens: is not a field of Request; expected one of model, messages, .*, providerOptions; /,
    );
  });
});
