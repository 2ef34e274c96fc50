import { create, type DescMessage, type MessageShape, toBinary } from "@bufbuild/protobuf";
import { anyPack, durationMs } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  createError,
  InternalError,
  invalidField,
  invalidFields,
  isRetryableKind,
  NoObjectGeneratedError,
  QuotaExceededError,
  RateLimitError,
  ServerError,
  StreamError,
} from "../../../src/core/errors.ts";
import {
  BadRequestSchema,
  ErrorInfoSchema,
  RetryInfoSchema,
} from "../../../src/gen/google/rpc/error_details_pb.ts";
import { StatusSchema } from "../../../src/gen/google/rpc/status_pb.ts";
import { ErrorKind, ErrorKindSchema, InferenceErrorSchema } from "../../../src/gen/outrigger/v1/error_pb.ts";
import { UsageSchema } from "../../../src/gen/outrigger/v1/usage_pb.ts";
import { toConnectError, toFailure } from "../../../src/server/status/status.ts";
import { codeName, getCode, kindName } from "../../../src/server/status/status-code.ts";
import { MAX_STATUS_BYTES } from "../../../src/server/status/status-details.ts";

// Kinds by name. UNSPECIFIED stands for none.
const KINDS = ErrorKindSchema.values
  .filter(({ number }) => number !== ErrorKind.UNSPECIFIED)
  .map(({ number, localName }) => [localName, number as ErrorKind] as const);

const KIND_OF_THE_FUTURE = 150 as ErrorKind;

// The status of each error kind.
const CODES: Readonly<Record<string, Code>> = {
  PROVIDER: Code.Unknown,
  AUTHENTICATION: Code.Unauthenticated,
  ACCESS_DENIED: Code.PermissionDenied,
  NOT_FOUND: Code.NotFound,
  INVALID_REQUEST: Code.InvalidArgument,
  RATE_LIMIT: Code.ResourceExhausted,
  SERVER: Code.Unavailable,
  CONTENT_FILTER: Code.InvalidArgument,
  CONTEXT_LENGTH: Code.InvalidArgument,
  QUOTA_EXCEEDED: Code.ResourceExhausted,
  REQUEST_TIMEOUT: Code.DeadlineExceeded,
  ABORT: Code.Canceled,
  NETWORK: Code.Unavailable,
  STREAM: Code.Unavailable,
  INVALID_TOOL_CALL: Code.Aborted,
  NO_OBJECT_GENERATED: Code.Aborted,
  CONFIGURATION: Code.FailedPrecondition,
  UNSUPPORTED_TOOL_CHOICE: Code.InvalidArgument,
  INTERNAL: Code.Internal,
};

function detail<Desc extends DescMessage>(error: ConnectError, desc: Desc): MessageShape<Desc> | undefined {
  return error.findDetails(desc)[0];
}

function sizeOnTheWire(error: ConnectError): number {
  const details = error.details.map((each) => {
    if (!("desc" in each)) throw new Error("an outgoing detail has a descriptor");
    return anyPack(each.desc, create(each.desc, each.value));
  });
  return toBinary(
    StatusSchema,
    create(StatusSchema, { code: error.code, message: error.rawMessage, details }),
  ).length;
}

describe("getCode()", () => {
  it("knows every kind of the contract", () => {
    expect(Object.fromEntries(KINDS.map(([name, kind]) => [name, getCode(kind)]))).toEqual(CODES);
  });

  it("calls a kind that was added later UNKNOWN", () => {
    expect(getCode(KIND_OF_THE_FUTURE)).toBe(Code.Unknown);
    expect(kindName(KIND_OF_THE_FUTURE)).toBe("KIND_150");
  });
});

describe("codeName()", () => {
  it("spells like gRPC", () => {
    expect([Code.Canceled, Code.DeadlineExceeded].map(codeName)).toEqual(["CANCELLED", "DEADLINE_EXCEEDED"]);
  });
});

describe("toConnectError()", () => {
  it.each(KINDS)("gives %s its code, its details and its retry advice", (name, kind) => {
    const error = toConnectError(createError(kind, "it failed", { provider: "acme", httpStatusCode: 499 }), {
      model: "m-1",
    });
    expect(error.code).toBe(CODES[name]);
    const inference = detail(error, InferenceErrorSchema);
    expect(inference?.kind).toBe(kind);
    expect(inference?.message).toBe(kind === ErrorKind.INTERNAL ? "internal error" : "it failed");
    expect(inference?.retryable).toBe(isRetryableKind(kind));
    expect(detail(error, ErrorInfoSchema)).toMatchObject({
      reason: kind === ErrorKind.AUTHENTICATION ? "PROVIDER_KEY_REFUSED" : name,
      domain: "outrigger",
    });
    expect(error.metadata.get("grpc-retry-pushback-ms")).toBe(isRetryableKind(kind) ? null : "-1");
  });

  it("names provider, model, HTTP status and the provider's request id", () => {
    const failed = new ServerError("overloaded", {
      provider: "acme",
      httpStatusCode: 529,
      requestId: "req_9",
    });
    expect(detail(toConnectError(failed, { model: "m-1" }), ErrorInfoSchema)?.metadata).toEqual({
      provider: "acme",
      model: "m-1",
      http_status: "529",
      request_id: "req_9",
    });
  });

  it("says when to retry, to gRPC in milliseconds and to HTTP in whole seconds", () => {
    const error = toConnectError(new RateLimitError("slow down", { provider: "acme", retryAfter: 1.2345 }));
    const info = detail(error, RetryInfoSchema);
    expect(info?.retryDelay && durationMs(info.retryDelay)).toBe(1235);
    expect(error.metadata.get("grpc-retry-pushback-ms")).toBe("1235");
    expect(error.metadata.get("retry-after")).toBe("2");
  });

  it("gives no delay if a retry cannot help", () => {
    const spent = toConnectError(
      new QuotaExceededError("no money left", { provider: "acme", retryAfter: 60 }),
    );
    expect(detail(spent, RetryInfoSchema)).toBeUndefined();
    expect(spent.metadata.get("grpc-retry-pushback-ms")).toBe("-1");
    expect(spent.metadata.get("retry-after")).toBeNull();
  });

  it("leaves out a delay that has passed", () => {
    const error = toConnectError(new RateLimitError("slow down", { retryAfter: -1 }));
    expect(detail(error, RetryInfoSchema)).toBeUndefined();
    expect(error.metadata.get("grpc-retry-pushback-ms")).toBeNull();
  });

  it("names wrong fields", () => {
    const error = toConnectError(invalidField("messages[2].role", "is UNSPECIFIED, expected a role"));
    expect(detail(error, BadRequestSchema)?.fieldViolations).toMatchObject([
      { field: "messages[2].role", description: "is UNSPECIFIED, expected a role" },
    ]);
  });

  it("reveals nothing about an internal error or its cause", () => {
    const cause = new ServerError("secret of the cause", { provider: "acme" });
    const error = toConnectError(new InternalError("secret of the bug", { cause }));
    expect(error.rawMessage).toBe("internal error");
    expect(detail(error, InferenceErrorSchema)?.cause).toBeUndefined();
    expect(sizeOnTheWire(error)).toBeLessThan(200);
  });

  it("carries the cause, the cost and whether output had begun", () => {
    const cause = new ServerError("upstream said so", { provider: "acme" });
    const usage = create(UsageSchema, { inputTokens: 3, outputTokens: 4, totalTokens: 7, rawJson: "{}" });
    const error = toConnectError(new StreamError("cut", { cause, usage, outputStarted: true }));
    expect(detail(error, InferenceErrorSchema)).toMatchObject({
      outputStarted: true,
      usage: { totalTokens: 7, rawJson: "" },
      cause: { kind: ErrorKind.SERVER, message: "upstream said so" },
    });
  });

  it("carries the provider's body if it fits", () => {
    const rawJson = JSON.stringify({ error: "x".repeat(1900) });
    const error = toConnectError(new ServerError("broke", { provider: "acme", rawJson }));
    expect(detail(error, InferenceErrorSchema)?.providerFailure?.rawJson).toBe(rawJson);
    expect(sizeOnTheWire(error)).toBeLessThanOrEqual(MAX_STATUS_BYTES);
  });

  it("carries the text of an object that does not match, shortened", () => {
    const short = { text: '{"age":"x"}', schemaViolations: ["/age: expected an integer"] };
    const whole = toConnectError(new NoObjectGeneratedError("no match", short));
    expect(detail(whole, InferenceErrorSchema)?.noObject).toMatchObject({
      text: short.text,
      violations: short.schemaViolations,
    });
    const long = { text: "é".repeat(5000), schemaViolations: Array(30).fill("x".repeat(500)) };
    const error = toConnectError(new NoObjectGeneratedError("y".repeat(2000), long), { model: "m-1" });
    const noObject = detail(error, InferenceErrorSchema)?.noObject;
    expect(noObject?.text).toMatch(/^é{700,}…$/);
    expect(noObject?.violations).toHaveLength(2);
    expect(sizeOnTheWire(error)).toBeLessThanOrEqual(MAX_STATUS_BYTES);
  });

  it("keeps as many field violations as there is room for", () => {
    const violations = Array.from({ length: 400 }, (_, index) => ({
      field: `messages[${index}].content`,
      description: "is empty, expected at least one part",
    }));
    const error = toConnectError(invalidFields(violations));
    const kept = detail(error, BadRequestSchema)?.fieldViolations ?? [];
    expect(kept.length).toBeGreaterThan(10);
    expect(kept[0]?.field).toBe("messages[0].content");
    expect(sizeOnTheWire(error)).toBeLessThanOrEqual(MAX_STATUS_BYTES);
  });

  it("stays within its size and its encoding for any failure", () => {
    const text = fc.string({ unit: "binary", maxLength: 5000 });
    const violation = fc.record({ field: text, description: text });
    const failure = fc.record({
      kind: fc.constantFrom(...KINDS.map(([, kind]) => kind)),
      message: text,
      provider: text,
      errorCode: text,
      requestId: text,
      rawJson: text,
      cause: text,
      model: text,
      retryAfter: fc.option(fc.double({ min: 0, max: 1e6, noNaN: true }), { nil: undefined }),
      violations: fc.array(violation, { maxLength: 20 }),
    });
    fc.assert(
      fc.property(failure, ({ kind, message, model, cause, ...options }) => {
        const inner = new ServerError(cause, { provider: "acme", rawJson: cause });
        const error = toConnectError(createError(kind, message, { ...options, cause: inner }), { model });
        expect(sizeOnTheWire(error)).toBeLessThanOrEqual(MAX_STATUS_BYTES);
        expect(() => encodeURIComponent(error.rawMessage)).not.toThrow();
      }),
      { numRuns: 60 },
    );
  });
});

describe("toFailure()", () => {
  const found = (thrown: unknown) => toFailure(thrown, "outrigger.v1.CatalogService/ListModels");

  it("takes a status as it is", () => {
    const thrown = new ConnectError("not here", Code.NotFound);
    const { status, fault } = found(thrown);
    expect(status).toBe(thrown);
    expect([status.code, fault]).toEqual([Code.NotFound, undefined]);
  });

  it("treats any other value as an internal error, and does not describe it", () => {
    const thrown = new TypeError("secret");
    const { status, fault } = found(thrown);
    expect(status).toMatchObject({ code: Code.Internal, rawMessage: "internal error", details: [] });
    expect(fault).toBe(thrown);
  });
});

describe("the status of a failure that a transport found", () => {
  const OUR_RPC = "outrigger.v1.InferenceService/Complete";

  it("gives mistakes that a transport found in a message the details of an invalid request", () => {
    const { status, fault } = toFailure(new ConnectError("too large", Code.ResourceExhausted), OUR_RPC);
    expect(status).toMatchObject({ code: Code.ResourceExhausted, rawMessage: "too large" });
    expect(detail(status, InferenceErrorSchema)?.kind).toBe(ErrorKind.INVALID_REQUEST);
    expect(status.metadata.get("grpc-retry-pushback-ms")).toBe("-1");
    expect(fault).toBeUndefined();
  });

  it("changes the error itself, because Connect sends the object that it threw", () => {
    const error = new ConnectError("the operation timed out", Code.DeadlineExceeded);
    expect(toFailure(error, OUR_RPC).status).toBe(error);
    expect(error.rawMessage).toBe("the caller's deadline was exceeded");
  });

  it("leaves a compression that no header names as INTERNAL", () => {
    const error = new ConnectError("received compressed envelope, but do not know how", Code.Internal);
    expect(toFailure(error, OUR_RPC).status).toMatchObject({ code: Code.Internal, details: [] });
  });

  it("gives services that do not know our details none", () => {
    const error = new ConnectError("cut off", Code.InvalidArgument);
    const { status } = toFailure(error, "grpc.health.v1.Health/Check");
    expect(status).toMatchObject({ code: Code.InvalidArgument, details: [] });
    expect([...status.metadata]).toEqual([]);
  });

  it("bounds a message", () => {
    const error = new ConnectError(`the header is ${"y".repeat(100_000)}`, Code.InvalidArgument);
    expect(Buffer.byteLength(toFailure(error, OUR_RPC).status.message)).toBeLessThan(420);
  });

  it("does not change errors that have details or do not concern a message", () => {
    const detailed = toConnectError(invalidField("model", "is empty"));
    const details = [...detailed.details];
    expect(toFailure(detailed, OUR_RPC).status.details).toEqual(details);
    expect(toFailure(new ConnectError("not here", Code.NotFound), OUR_RPC).status.details).toEqual([]);
  });

  it("is the status of the error if it is one of ours, with details for our services", () => {
    const error = invalidField("model", "is empty");
    const { status, fault } = toFailure(error, OUR_RPC);
    expect([status.code, fault]).toEqual([Code.InvalidArgument, undefined]);
    expect(detail(status, InferenceErrorSchema)?.kind).toBe(ErrorKind.INVALID_REQUEST);
    const foreign = toFailure(error, "grpc.health.v1.Health/Watch").status;
    expect(foreign).toMatchObject({ code: Code.InvalidArgument, rawMessage: status.rawMessage, details: [] });
    expect([...foreign.metadata]).toEqual([]);
  });
});
