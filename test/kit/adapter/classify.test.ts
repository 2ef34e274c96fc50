import { create } from "@bufbuild/protobuf";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isRetryableKind } from "../../../src/core/errors.ts";
import { assistantMessage, userMessage } from "../../../src/core/message.ts";
import type { Content } from "../../../src/core/parts.ts";
import { toolResult } from "../../../src/core/tools.ts";
import { ErrorKind } from "../../../src/gen/outrigger/v1/error_pb.ts";
import { type Request, RequestSchema } from "../../../src/gen/outrigger/v1/request_pb.ts";
import { boundedRaw, kindOfStatus, repeatableMessage } from "../../../src/kit/adapter/classify.ts";

describe("kindOfStatus()", () => {
  it.each([
    // The kinds that every provider shares.
    [400, "INVALID_REQUEST", false],
    [401, "AUTHENTICATION", false],
    [403, "ACCESS_DENIED", false],
    [404, "NOT_FOUND", false],
    [408, "REQUEST_TIMEOUT", true],
    [413, "CONTEXT_LENGTH", false],
    [422, "INVALID_REQUEST", false],
    [429, "RATE_LIMIT", true],
    [500, "SERVER", true],
    [502, "SERVER", true],
    [503, "SERVER", true],
    [504, "SERVER", true],
    // Statuses that providers added since.
    [402, "QUOTA_EXCEEDED", false],
    [405, "INVALID_REQUEST", false],
    [409, "PROVIDER", true],
    [499, "ABORT", false],
    [501, "INVALID_REQUEST", false],
    [520, "SERVER", true],
    [529, "SERVER", true],
    [304, "PROVIDER", true],
  ] as const)("takes %i for %s", (status, kind, retryable) => {
    expect(kindOfStatus(status)).toBe(ErrorKind[kind]);
    expect(isRetryableKind(kindOfStatus(status))).toBe(retryable);
  });
});

describe("boundedRaw()", () => {
  it("does not change a body that fits", () => {
    const body = `{"error":"${"é".repeat(1018)}"}`;
    expect(Buffer.byteLength(body)).toBe(2048);
    expect(boundedRaw(body)).toBe(body);
  });

  it("keeps at most 2 KiB, and never half a character", () => {
    const body = fc.array(fc.constantFrom("a", "é", "€", "😀", "\ud83d"), {
      minLength: 500,
      maxLength: 3000,
    });
    fc.assert(
      fc.property(body, (characters) => {
        const bounded = boundedRaw(characters.join(""));
        expect(Buffer.byteLength(bounded)).toBeLessThanOrEqual(2048);
        expect(characters.join("").toWellFormed().startsWith(bounded)).toBe(true);
        const whole = Buffer.byteLength(characters.join(""));
        expect(Buffer.byteLength(bounded)).toBeGreaterThan(Math.min(whole, 2048) - 4);
      }),
      { seed: 15, numRuns: 50 },
    );
  });
});

function requestWith(...contents: Content[]): Request {
  return create(RequestSchema, { messages: contents.map(userMessage) });
}

function toolWith(parametersJson: string) {
  return { tool: { case: "function" as const, value: { name: "count_hens", parametersJson } } };
}

const LEFT_OUT = "(the provider's message repeats the prompt and was left out)";

describe("repeatableMessage()", () => {
  const prompt = "My grandmother's maiden name is Winterbottom and she keeps 429 hens in Leeds.";

  it.each([
    "Rate limit reached for gpt-5.2 in organization org-AbC on tokens per min (TPM): Limit 30000, Used 29000.",
    "Unsupported value: 'temperature' does not support 0.5 with this model.",
    "API key not valid. Please pass a valid API key.",
    "API key expired. Please renew the API key.",
    "No tool output found for function call call_abc123.",
    "The key-value store is skating on thin ice",
    "Bearer authentication is required",
  ])("repeats a provider's message about itself: %s", (message) => {
    expect(repeatableMessage(message, requestWith(prompt))).toBe(message);
  });

  it("makes the message one bounded line", () => {
    const message = `  first\n\n\tsecond ${"word ".repeat(200)}`;
    const said = repeatableMessage(message, requestWith("hi"));
    expect(said.startsWith("first second word word")).toBe(true);
    expect(said.length).toBe(500);
    expect(repeatableMessage(`${"a".repeat(499)}😀`, requestWith("hi"))).toBe(`${"a".repeat(499)}\ufffd`);
  });

  it.each([
    ["whole", `Invalid prompt: ${prompt}`],
    ["in part", `Your request was flagged: "…${prompt.slice(10, 50)}…"`],
    ["with its lines folded", `Flagged: ${prompt.replaceAll(" ", "\n  ")}`],
    ["where the message is cut", `${"x".repeat(440)}${prompt}`],
  ])("leaves a message out that repeats a prompt %s", (_how, message) => {
    expect(repeatableMessage(message, requestWith("hello there", prompt))).toBe(LEFT_OUT);
  });

  it.each([
    ["a short prompt", requestWith("the hens of Leeds"), "Flagged: the hens of Leeds."],
    [
      "a part of a prompt of middling length",
      requestWith("the hens of Leeds are the best of all hens"),
      "Flagged: the hens of Leeds are the best of…",
    ],
    ["a prompt of several lines", requestWith("the hens\n  of Leeds"), "Flagged: the hens of Leeds."],
    [
      "the result of a tool",
      create(RequestSchema, {
        messages: [toolResult("a", "secret\nhens of Leeds")],
      }),
      "Cannot take: secret hens of Leeds",
    ],
    [
      "the arguments of a tool call",
      create(RequestSchema, {
        messages: [
          assistantMessage({
            part: {
              case: "toolCall",
              value: { id: "a", input: { case: "argumentsJson", value: '{"name":"Winterbottom"}' } },
            },
          }),
        ],
      }),
      'Invalid arguments: {"name":"Winterbottom"}',
    ],
    [
      "what the model thought",
      create(RequestSchema, {
        messages: [
          assistantMessage({ part: { case: "reasoning", value: { text: "The user keeps hens." } } }),
        ],
      }),
      "Cannot take: The user keeps hens.",
    ],
    [
      "the description of a tool",
      create(RequestSchema, {
        tools: [{ tool: { case: "function", value: { name: "count", description: "Counts the hens." } } }],
      }),
      "Invalid tool: Counts the hens.",
    ],
    [
      "a description inside of a tool's schema",
      create(RequestSchema, { tools: [toolWith('{"properties":{"a":{"description":"A hen of Leeds"}}}')] }),
      "Invalid schema: A hen of Leeds",
    ],
    [
      "the grammar of a custom tool",
      create(RequestSchema, {
        tools: [{ tool: { case: "custom", value: { name: "c", grammar: { definition: "start: HEN+" } } } }],
      }),
      "Invalid grammar: start: HEN+",
    ],
    [
      "the settings of a provider's hosted tool",
      create(RequestSchema, {
        tools: [{ tool: { case: "hosted", value: { provider: "p", configJson: '{"hint":"near Leeds"}' } } }],
      }),
      "Cannot search: near Leeds",
    ],
    ["metadata", create(RequestSchema, { metadata: { user: "winterbottom" } }), "No such user: winterbottom"],
    ["a stop sequence", create(RequestSchema, { stopSequences: ["END OF HENS"] }), "Bad: END OF HENS"],
    [
      "the schema of the answer",
      create(RequestSchema, { responseFormat: { schemaJson: '{"enum":["the hens of Leeds"]}' } }),
      "Invalid value: the hens of Leeds",
    ],
    [
      "provider options",
      create(RequestSchema, { providerOptionsJson: { openai: '{"prompt":{"a":["the hens of Leeds"]}}' } }),
      "Invalid value: the hens of Leeds",
    ],
  ])("leaves a message out that repeats %s", (_what, request, message) => {
    expect(repeatableMessage(message, request)).toBe(LEFT_OUT);
  });

  it("does not treat a single word as an echo", () => {
    expect(repeatableMessage("Invalid value: 'model'", requestWith("model", "Invalid"))).toBe(
      "Invalid value: 'model'",
    );
  });

  it("names tools, fields and settings of the request", () => {
    const request = create(RequestSchema, {
      model: "gpt-long-name",
      tools: [toolWith('{"type":"object","properties":{"number_of_hens":{"type":"integer"}}}')],
      providerOptionsJson: { openai: '{"reasoning":{"summary":"in_every_detail"}}' },
    });
    const message =
      "Unsupported value 'in_every_detail' at gpt-long-name; see 'number_of_hens' of count_hens";
    expect(repeatableMessage(message, request)).toBe(message);
  });

  it("finds every echo of 36 characters", () => {
    const words = fc.string({ unit: fc.constantFrom(..."abcdefghij "), minLength: 60, maxLength: 200 });
    fc.assert(
      fc.property(words, fc.nat({ max: 20 }), fc.nat({ max: 300 }), (secret, from, before) => {
        const told = secret
          .replace(/\s+/g, " ")
          .trim()
          .slice(from, from + 36);
        fc.pre(told.length === 36 && told.trim() === told);
        const message = `${"-".repeat(before)} ${told} ${"-".repeat(20)}`;
        expect(repeatableMessage(message, requestWith(secret))).toBe(LEFT_OUT);
      }),
      { seed: 16 },
    );
  });

  it.each([
    "sk-proj-abcDEF123_456-789",
    "sk-ant-api03-abcdefgh",
    "sk-1234********wxyz",
    "****wxyz",
    "gsk_abcdefghijklmnop",
    "xai-abcdefghijklmnop",
    "hf_abcdefghijklmnop",
    "AIzaSyA1234567890abcdefghijk",
    "Bearer abc.def.123456",
    "0123456789abcdef0123456789abcdef",
  ])("takes %s for a key", (key) => {
    const said = repeatableMessage(`Incorrect API key provided: ${key}, sorry`, requestWith(prompt));
    expect(said).toBe("Incorrect API key provided: (key), sorry");
  });
});
