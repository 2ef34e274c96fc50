import { fromJsonString } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { RequestSchema } from "../../../src/gen/outrigger/v1/request_pb.ts";
import { protocolMessage } from "../../../src/server/status/status.ts";

const SECRET = 'tell "no" one';
const QUOTED = JSON.stringify(SECRET);

describe("protocolMessage()", () => {
  it.each([
    ["a text in the place of parts", `{"messages":[{"content":${QUOTED}}]}`],
    ["texts in the place of parts", `{"messages":[{"content":[${QUOTED}]}]}`],
    ["a text in the place of messages", `{"messages":${QUOTED}}`],
    ["a text in the place of a number", `{"maxTokens":${QUOTED}}`],
    ["a text in the place of a map", `{"metadata":${QUOTED}}`],
    ["a text in the place of a duration", `{"timeouts":{"request":${QUOTED}}}`],
    ["a text in the place of a role", `{"messages":[{"role":${QUOTED}}]}`],
    ["a text without quotes", `{"messages":[{"content":[{"text":${SECRET}}]}]}`],
    ["a text alone", SECRET],
  ])("does not repeat %s", (_, body) => {
    const message = protocolMessage(toFailure(body));
    expect(message).toMatch(/^cannot decode \w+ [\w.]+ from JSON: ./);
    for (const word of ["tell", "no\\", 'one"', '"no']) expect(message).not.toContain(word);
  });

  it("names the expected and the found size", () => {
    const message = protocolMessage(toFailure('{"messages":[{"content":"Hello"}]}'));
    expect(message).toBe(
      "cannot decode field outrigger.v1.Message.content from JSON: expected Array, got a string of length 5",
    );
  });

  it("keeps the name of an unknown field, and a number", () => {
    expect(protocolMessage(toFailure('{"mesages":[]}'))).toContain('key "mesages" is unknown');
    expect(protocolMessage(toFailure('{"model":5}'))).toContain("expected string, got 5");
  });

  it("shows a misspelled value of an enum beside the values there are", () => {
    expect(protocolMessage(toFailure('{"messages":[{"role":"user"}]}'))).toMatch(
      /: "user"; expected one of .*ROLE_USER/,
    );
  });

  it.each([
    ["message size 9 is larger than configured readMaxBytes 5", "found 9 bytes"],
    ["message size is larger than configured readMaxBytes 5", "found more"],
    ["message is larger than configured readMaxBytes 5 after decompression", "found more"],
  ])("names the setting that a message exceeds: %s", (words, found) => {
    expect(protocolMessage(words)).toBe(
      `the message is too large: expected at most 5 bytes (limits.max_message_bytes), ${found}`,
    );
  });
});

function toFailure(body: string): string {
  try {
    fromJsonString(RequestSchema, body);
  } catch (error) {
    if (error instanceof Error) return error.message;
  }
  throw new Error(`expected a failure to read ${body}`);
}
