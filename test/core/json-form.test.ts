import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { ConfigurationError, InvalidRequestError, RateLimitError } from "../../src/core/errors.ts";
import { messageFromJson, responseFromJson, toJson } from "../../src/core/json-form.ts";
import { assistantMessage, userMessage } from "../../src/core/message.ts";
import { imagePart, reasoningPart, textPart } from "../../src/core/parts.ts";
import { completeResponse, finishReasonOf } from "../../src/core/response.ts";
import { ErrorKind } from "../../src/gen/outrigger/v1/error_pb.ts";
import {
  FinishReason_Reason,
  type Response,
  ResponseSchema,
} from "../../src/gen/outrigger/v1/response_pb.ts";
import { UsageSchema } from "../../src/gen/outrigger/v1/usage_pb.ts";

function createResponse(reason = FinishReason_Reason.STOP): Response {
  return create(ResponseSchema, {
    model: "m",
    message: assistantMessage([
      reasoningPart({ text: "Hm.", signature: "s", provider: "one", model: "m" }),
      textPart("Hi"),
    ]),
    finishReason: { reason, raw: "stop" },
    usage: create(UsageSchema, { inputTokens: 3, costNanoUsd: 9_007_199_254_740_993n }),
    createdAt: { seconds: 1_700_000_000n, nanos: 0 },
  });
}

/** Returns the value as a database or a file would return it. */
function stored(json: unknown) {
  return JSON.parse(JSON.stringify(json));
}

describe("toJson()", () => {
  it("writes values that JSON.stringify cannot write", () => {
    expect(() => JSON.stringify(createResponse())).toThrow(TypeError);
    expect(stored(toJson(createResponse()))).toMatchObject({
      model: "m",
      finishReason: { reason: "REASON_STOP", raw: "stop" },
      usage: { inputTokens: 3, costNanoUsd: "9007199254740993" },
      createdAt: "2023-11-14T22:13:20Z",
    });
  });

  it("writes messages and every other message of the contract", () => {
    expect(toJson(userMessage("hi"))).toEqual({ role: "ROLE_USER", content: [{ text: "hi" }] });
    expect(toJson(create(UsageSchema, { inputTokens: 1 }))).toEqual({ inputTokens: 1 });
  });

  it("rejects messages of other contracts", () => {
    expect(() => toJson({ $typeName: "acme.v1.Thing" })).toThrow("found acme.v1.Thing");
  });
});

describe("messageFromJson() and responseFromJson()", () => {
  it("restore the stored messages with their bytes, signatures and numbers", () => {
    const message = userMessage([textPart("See:"), imagePart(Uint8Array.of(0, 255))]);
    expect(messageFromJson(stored(toJson(message)))).toEqual(message);
    expect(responseFromJson(stored(toJson(createResponse())))).toEqual(createResponse());
  });

  it.each([["a text"], [{ role: "ROLE_KING" }], [{ speaker: "me" }]])("reject %j", (json) => {
    expect(() => messageFromJson(json)).toThrow(InvalidRequestError);
    expect(() => messageFromJson(json)).toThrow("expected the JSON of a Message");
  });

  it("reject a response that is not whole", () => {
    expect(() => responseFromJson({})).toThrow(ConfigurationError);
  });
});

describe("completeResponse()", () => {
  it("names missing fields", () => {
    const { finishReason: _, ...rest } = createResponse();
    expect(() => completeResponse(create(ResponseSchema, rest))).toThrow("found no finishReason");
    expect(() => completeResponse(create(ResponseSchema))).toThrow("found no message");
  });
});

describe("finishReasonOf()", () => {
  it.each([
    [FinishReason_Reason.STOP, "STOP"],
    [FinishReason_Reason.TOOL_CALLS, "TOOL_CALLS"],
    [FinishReason_Reason.OTHER, "OTHER"],
    [99, "OTHER"],
  ])("reads %d as %s", (reason, name) => {
    expect(
      finishReasonOf(create(ResponseSchema, { finishReason: { reason: reason as FinishReason_Reason } })),
    ).toBe(name);
  });

  it("reads a missing reason as UNSPECIFIED", () => {
    expect(finishReasonOf(create(ResponseSchema))).toBe("UNSPECIFIED");
  });
});

describe("errors in a log", () => {
  it("give their kind in words", () => {
    expect(new RateLimitError("slow").kindName).toBe("RATE_LIMIT");
  });

  it("can be written by JSON.stringify, with prices and causes", () => {
    const usage = create(UsageSchema, { costNanoUsd: 5n });
    const error = new RateLimitError("slow", { retryAfter: 1.5, usage, cause: new ConfigurationError("x") });
    expect(stored(error)).toMatchObject({
      name: "RateLimitError",
      kind: "ERROR_KIND_RATE_LIMIT",
      message: "slow",
      retryable: true,
      retryAfter: "1.500s",
      usage: { costNanoUsd: "5" },
      cause: { kind: "ERROR_KIND_CONFIGURATION" },
    });
    expect(ErrorKind.RATE_LIMIT).toBe(error.kind);
  });
});
