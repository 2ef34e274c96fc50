import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { userMessage } from "../../../src/core/message.ts";
import { type Request, RequestSchema } from "../../../src/gen/outrigger/v1/request_pb.ts";
import { withoutCallerText } from "../../../src/server/telemetry/caller-text.ts";

function requestWith(text: string, model = "gpt-5.2"): Request {
  return create(RequestSchema, { model, messages: [userMessage(text)] });
}

describe("withoutCallerText()", () => {
  const kept = [
    "This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens.",
    "Unsupported parameter: 'max_tokens' is not supported with this model.",
    "The model `gpt-5.2` does not exist or you do not have access to it.",
    "Rate limit reached for gpt-5.2 in organization org-1 on tokens per min",
  ];
  it.each(kept)("keeps what a provider says of itself: %s", (message) => {
    expect(withoutCallerText(message, requestWith("Please summarize the model of the messages."))).toBe(
      message,
    );
  });

  const quoting: readonly [string, string, string][] = [
    ["my card is 4929-1111", "Invalid value: 'my card is 4929-1111'.", "Invalid value: 'my … is …'."],
    ["Hunter2 is it", "unexpected HUNTER2 in input", "unexpected … in input"],
    ["the patient has cancer", "Content: The PATIENT has cancer", "Content: The … has …"],
    ["a lengthy_secret_word", "cannot parse lengthy_sec", "cannot parse …"],
    ["他的密码是红色", "输入 密码 无效", "输入 … 无效"],
  ];
  it.each(quoting)("removes words of the request %j", (text, message, expected) => {
    expect(withoutCallerText(message, requestWith(text))).toBe(expected);
  });

  it("removes words of tools, metadata and binary-free parts alike", () => {
    const request = create(RequestSchema, {
      metadata: { ticket: "zebra" },
      tools: [{ tool: { case: "function", value: { name: "f", parametersJson: '{"giraffe":1}' } } }],
    });
    expect(withoutCallerText("zebra giraffe", request)).toBe("…");
  });

  it("bounds the message, and says nothing about a request that is too long to compare", () => {
    expect(withoutCallerText(`${"word ".repeat(1000)}\u0000`, requestWith("x"))?.length).toBeLessThan(310);
    expect(withoutCallerText("overloaded", requestWith("x".repeat(300_000)))).toBeUndefined();
  });
});
