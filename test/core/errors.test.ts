import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  AbortError,
  AccessDeniedError,
  AuthenticationError,
  type CompletedStep,
  ConfigurationError,
  ContentFilterError,
  ContextLengthError,
  createError,
  errorFromProto,
  InternalError,
  InvalidRequestError,
  InvalidToolCallError,
  invalidField,
  invalidFields,
  isProviderTimeout,
  isRetryableKind,
  NetworkError,
  NoObjectGeneratedError,
  NotFoundError,
  ProviderError,
  type ProviderErrorOptions,
  QuotaExceededError,
  RateLimitError,
  RequestTimeoutError,
  SDKError,
  ServerError,
  StreamError,
  toSdkError,
  UnsupportedToolChoiceError,
  withCause,
  withEarlierSteps,
  withKeyOrigin,
  withMessage,
  withProgress,
  withTexts,
  withViolations,
} from "../../src/core/errors.ts";
import { assistantMessage } from "../../src/core/message.ts";
import { ErrorKind, type InferenceError, InferenceErrorSchema } from "../../src/gen/outrigger/v1/error_pb.ts";
import { UsageSchema } from "../../src/gen/outrigger/v1/usage_pb.ts";

/** Kind, class, and whether a retry can help. */
const KINDS = [
  ["PROVIDER", ProviderError, true],
  ["AUTHENTICATION", AuthenticationError, false],
  ["ACCESS_DENIED", AccessDeniedError, false],
  ["NOT_FOUND", NotFoundError, false],
  ["INVALID_REQUEST", InvalidRequestError, false],
  ["RATE_LIMIT", RateLimitError, true],
  ["SERVER", ServerError, true],
  ["CONTENT_FILTER", ContentFilterError, false],
  ["CONTEXT_LENGTH", ContextLengthError, false],
  ["QUOTA_EXCEEDED", QuotaExceededError, false],
  ["INVALID_TOOL_CALL", InvalidToolCallError, false],
  ["REQUEST_TIMEOUT", RequestTimeoutError, true],
  ["ABORT", AbortError, false],
  ["NETWORK", NetworkError, true],
  ["STREAM", StreamError, true],
  ["NO_OBJECT_GENERATED", NoObjectGeneratedError, false],
  ["CONFIGURATION", ConfigurationError, false],
  ["UNSUPPORTED_TOOL_CHOICE", UnsupportedToolChoiceError, false],
  ["INTERNAL", InternalError, false],
] as const;

const usage = create(UsageSchema, { inputTokens: 7, outputTokens: 2, totalTokens: 9, reasoningTokens: 0 });

/** The error after it was sent over the wire. */
function sent(error: SDKError): SDKError {
  return errorFromProto(travelled(error.toProto()));
}

function travelled(error: InferenceError): InferenceError {
  return fromBinary(InferenceErrorSchema, toBinary(InferenceErrorSchema, error));
}

describe("the classes", () => {
  it("are one for each kind of the contract", () => {
    const kinds = Object.values(ErrorKind).filter((kind) => typeof kind === "number" && kind !== 0);
    expect(KINDS.map(([name]) => ErrorKind[name])).toEqual(kinds);
  });

  it.each(KINDS)("%s has its class, its name and its default of retryable", (name, Class, retryable) => {
    const kind = ErrorKind[name];
    const error = createError(kind, "what happened");
    expect(error.constructor).toBe(Class);
    expect(error).toMatchObject({ kind, name: Class.name, message: "what happened", retryable });
    expect(error).toMatchObject({ outputStarted: false, violations: [] });
    expect([error.usage, error.retryAfter, "cause" in error]).toEqual([undefined, undefined, false]);
    expect(isRetryableKind(kind)).toBe(retryable);
  });

  it.each(KINDS)("%s is made by its constructor alike", (name, Class) => {
    expect(new Class("what happened")).toEqual(createError(ErrorKind[name], "what happened"));
  });

  it.each(KINDS)("%s is a class of the error tree", (name) => {
    const error = createError(ErrorKind[name], "");
    expect(error).toBeInstanceOf(SDKError);
    // A provider that rejects the text of its model reports that in a separate answer.
    const isReported = (error.kind >= 100 && error.kind <= 199) || name === "INVALID_TOOL_CALL";
    expect(error instanceof ProviderError).toBe(isReported);
  });

  it.each([
    [ErrorKind.UNSPECIFIED, ProviderError],
    [150 as ErrorKind, ProviderError],
    [299 as ErrorKind, SDKError],
  ])("classifies an unknown kind (%i) by its range, as retryable", (kind, Class) => {
    const error = createError(kind, "new");
    expect([error.constructor, error.retryable]).toEqual([Class, true]);
  });
});

describe("toProto() and errorFromProto()", () => {
  it.each(KINDS)("transfer %s with all its facts", (name, Class) => {
    const cause = new NetworkError("the line is down", { retryAfter: 0.25 });
    const error = createError(ErrorKind[name], "what happened", {
      retryable: true,
      retryAfter: 12.5,
      outputStarted: true,
      usage,
      cause: new ServerError("beneath", { provider: "openai", httpStatusCode: 503, cause }),
    });
    const arrived = sent(error);
    expect(arrived.constructor).toBe(Class);
    expect(arrived).toMatchObject({ message: "what happened", retryable: true, retryAfter: 12.5 });
    expect(arrived).toMatchObject({ kind: ErrorKind[name], outputStarted: true, usage });
    expect(arrived.cause).toBeInstanceOf(ServerError);
    expect(arrived.cause).toMatchObject({ message: "beneath", provider: "openai", httpStatusCode: 503 });
    expect((arrived.cause as ServerError).cause).toEqual(cause);
  });

  it("keep the facts of the provider", () => {
    const facts = {
      provider: "openai",
      httpStatusCode: 429,
      errorCode: "rate_limit_exceeded",
      requestId: "req_1",
      rawJson: '{"error":{}}',
    };
    expect(sent(new RateLimitError("slow down", facts))).toMatchObject(facts);
    expect(sent(new RequestTimeoutError("gave up", facts))).toMatchObject(facts);
    expect([
      isProviderTimeout(new RequestTimeoutError("gave up", facts)),
      isProviderTimeout(new ServerError("down", facts)),
    ]).toEqual([true, false]);
    expect(isProviderTimeout(new RequestTimeoutError("the limit of the call"))).toBe(false);
  });

  it("keep the answer that is not a valid object", () => {
    const facts = { text: '{"age":"x"}', schemaViolations: ["/age: expected an integer"] };
    const error = new NoObjectGeneratedError("the answer does not match", { ...facts, usage });
    expect(sent(error)).toMatchObject({ ...facts, usage });
    expect(withProgress(error, { outputStarted: true, usage: undefined })).toMatchObject(facts);
    expect(JSON.stringify(error)).not.toMatch(/noObject|integer/);
  });

  it("distinguish an unset status, and a provider without details", () => {
    const { providerFailure: provider } = new ServerError("broke", { provider: "gemini" }).toProto();
    expect(provider).toMatchObject({ provider: "gemini", errorCode: "", requestId: "", rawJson: "" });
    expect(provider?.httpStatusCode).toBeUndefined();
  });

  it("have no facts of a provider if Outrigger itself refused the call", () => {
    expect(invalidField("model", "expected a name, found none").toProto().providerFailure).toBeUndefined();
    expect(new AbortError("left").toProto().providerFailure).toBeUndefined();
  });

  it("do not transfer a cause that is not one of our errors", () => {
    const error = new InternalError("internal error", { cause: new TypeError("secret prompt") });
    const arrived = sent(error);
    expect("cause" in arrived).toBe(false);
    expect(toBinary(InferenceErrorSchema, error.toProto()).toString()).not.toContain("secret");
  });

  it("are exact to the nanosecond about the delay, and distinguish none from zero", () => {
    expect(sent(new RateLimitError("now")).retryAfter).toBeUndefined();
    expect(new RateLimitError("now").toProto().retryAfter).toBeUndefined();
    const delays = fc.sample(fc.double({ min: 0, max: 1e6, noNaN: true }), { numRuns: 200, seed: 1 });
    for (const retryAfter of [0, 1, 59.999_999_999_9, ...delays]) {
      const { retryAfter: duration } = new RateLimitError("later", { retryAfter }).toProto();
      expect(duration?.nanos).toBeLessThan(1e9);
      expect(sent(new RateLimitError("later", { retryAfter })).retryAfter).toBeCloseTo(retryAfter, 8);
    }
  });

  it("are inverse to each other for any facts", () => {
    const options = fc.record<ProviderErrorOptions>({
      retryable: fc.boolean(),
      retryAfter: fc.option(fc.integer({ min: 0, max: 1e6 }), { nil: undefined }),
      outputStarted: fc.boolean(),
      provider: fc.string({ minLength: 1 }),
      httpStatusCode: fc.option(fc.integer({ min: 100, max: 599 }), { nil: undefined }),
      errorCode: fc.string(),
      requestId: fc.string(),
      rawJson: fc.string(),
    });
    const kind = fc.constantFrom(...KINDS.map(([name]) => ErrorKind[name]));
    fc.assert(
      fc.property(kind, fc.string({ unit: "grapheme" }), options, (kind, message, options) => {
        const proto = createError(kind, message, options).toProto();
        expect(travelled(errorFromProto(travelled(proto)).toProto())).toEqual(travelled(proto));
      }),
      { seed: 2 },
    );
  });
});

/** An error with every fact. */
const whole = new RateLimitError("slow down", {
  provider: "openai",
  httpStatusCode: 429,
  errorCode: "rate_limit_exceeded",
  requestId: "req_1",
  rawJson: "{}",
  retryAfter: 3,
  retryable: false,
  usage,
  violations: [{ field: "model", description: "is busy" }],
});

describe("An error with other facts", () => {
  it("has another message or other invalid fields, and is otherwise the same", () => {
    const told = withMessage(whole, "try later");
    expect(told).toBeInstanceOf(RateLimitError);
    expect([told.message, { ...told }]).toEqual(["try later", { ...whole }]);
    const violations = [{ field: "prompt", description: "is long" }];
    const moved = withViolations(whole, "prompt: is long", violations);
    expect([moved.message, { ...moved }]).toEqual(["prompt: is long", { ...whole, violations }]);
  });

  it.each(["message", "errorCode", "requestId", "rawJson"] as const)("has its %s changed", (name) => {
    const text = { message: "slow", errorCode: "rate", requestId: "req", rawJson: "{" }[name];
    const told = withTexts(whole, (found) => found.replace(text, "…"));
    expect(told[name as "message"]).toBe(whole[name]?.replace(text, "…"));
    expect({ ...told, [name]: undefined }).toEqual({ ...whole, [name]: undefined });
  });

  it("is the same object if none of its texts changes", () => {
    expect(withTexts(whole, (text) => text)).toBe(whole);
    const short = new AbortError("left");
    expect(withTexts(short, (text) => text)).toBe(short);
    expect(withTexts(short, (text) => text.replace("left", "gone")).message).toBe("gone");
  });

  it("has an earlier error behind the last of its causes that is one of ours", () => {
    const earlier = new NetworkError("first");
    const told = withCause(new ServerError("third", { cause: new ServerError("second") }), earlier);
    expect(told).toMatchObject({ message: "third", cause: { message: "second", cause: earlier } });
    const foreign = withCause(new InternalError("bug", { cause: new TypeError("text") }), earlier);
    expect(foreign.cause).toBe(earlier);
  });

  it("names the key of Outrigger that a provider has refused, and no access key", () => {
    const refused = new AuthenticationError("invalid key", { provider: "openai" });
    expect(withKeyOrigin(refused, "OPENAI_API_KEY")).toMatchObject({
      kindName: "AUTHENTICATION",
      provider: "openai",
      message: "the provider openai refused the key that Outrigger has (OPENAI_API_KEY): invalid key",
    });
    expect(withKeyOrigin(refused, undefined)).toBe(refused);
    const denied = new AuthenticationError("the request has no valid access key");
    expect(withKeyOrigin(denied, "OPENAI_API_KEY")).toBe(denied);
    expect(withKeyOrigin(whole, "OPENAI_API_KEY")).toBe(whole);
  });

  it("has the steps before it, with their messages and the usage of all", () => {
    const steps = ["a", "b"].map((text) => ({
      messages: [assistantMessage(text)],
    })) as unknown as CompletedStep[];
    const told = withEarlierSteps(whole, usage, steps);
    expect(told).toMatchObject({ kindName: "RATE_LIMIT", outputStarted: true });
    expect([told.usage?.totalTokens, told.steps]).toEqual([18, steps]);
    expect(told.messages).toEqual([assistantMessage("a"), assistantMessage("b")]);
    expect([withEarlierSteps(whole, undefined, []).usage, whole.steps, whole.messages]).toEqual([
      usage,
      [],
      [],
    ]);
    const free = new AbortError("left");
    expect(withEarlierSteps(free, usage, []).usage).toEqual(usage);
    expect(withEarlierSteps(free, undefined, []).usage).toBeUndefined();
  });
});

describe("withProgress()", () => {
  it("adds how far the call had come and changes nothing else", () => {
    const error = new RateLimitError("slow down", {
      provider: "openai",
      httpStatusCode: 429,
      errorCode: "rate_limit_exceeded",
      requestId: "req_1",
      rawJson: "{}",
      retryAfter: 3,
      retryable: false,
      violations: [{ field: "model", description: "is busy" }],
      cause: new NetworkError("beneath"),
    });
    const told = withProgress(error, { outputStarted: true, usage });
    expect(told).toBeInstanceOf(RateLimitError);
    expect({ ...told, cause: told.cause }).toEqual({
      ...error,
      outputStarted: true,
      usage,
      cause: error.cause,
    });
    expect(told.message).toBe("slow down");
  });

  it("keeps the facts that the error already has", () => {
    const error = new ServerError("broke", { outputStarted: true, usage });
    const other = create(UsageSchema, { inputTokens: 1 });
    const told = withProgress(error, { outputStarted: false, usage: other });
    expect([told.outputStarted, told.usage]).toEqual([true, usage]);
  });

  it("adds no cause if there is none", () => {
    expect("cause" in withProgress(new AbortError("left"), { outputStarted: false, usage: undefined })).toBe(
      false,
    );
  });
});

describe("toSdkError()", () => {
  it("returns our errors unchanged", () => {
    const error = new StreamError("broke");
    expect(toSdkError(error)).toBe(error);
  });

  it("turns an abort into AbortError", () => {
    const reason = AbortSignal.abort().reason;
    const error = toSdkError(reason);
    expect(error).toBeInstanceOf(AbortError);
    expect(error.cause).toBe(reason);
  });

  it.each([new TypeError("secret prompt"), "secret prompt", undefined, null, { message: "secret prompt" }])(
    "turns anything else into an internal error that hides its message (%s)",
    (thrown) => {
      const error = toSdkError(thrown);
      expect(error).toBeInstanceOf(InternalError);
      expect(error).toMatchObject({ message: "internal error", retryable: false, cause: thrown });
    },
  );
});

describe("invalidField() and invalidFields()", () => {
  it("name every field in message and violations", () => {
    const violations = [
      { field: "temperature", description: "expected a number, found NaN" },
      { field: "messages[0].role", description: "expected a role, found none" },
    ];
    const error = invalidFields(violations);
    expect(error).toBeInstanceOf(InvalidRequestError);
    expect(error.violations).toEqual(violations);
    expect(error.message).toBe(
      "temperature: expected a number, found NaN; messages[0].role: expected a role, found none",
    );
    expect(invalidField("model", "is empty").violations).toEqual([
      { field: "model", description: "is empty" },
    ]);
  });
});
