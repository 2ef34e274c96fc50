import http2 from "node:http2";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import * as grpc from "@grpc/grpc-js";
import { describe, expect, it } from "vitest";
import { Client } from "../../../src/client/client.ts";
import { accumulate } from "../../../src/core/accumulator.ts";
import {
  AbortError,
  createError,
  invalidField,
  NetworkError,
  RateLimitError,
  RequestTimeoutError,
  ServerError,
  StreamError,
} from "../../../src/core/errors.ts";
import { LawChecker } from "../../../src/core/laws.ts";
import { userMessage } from "../../../src/core/message.ts";
import {
  BadRequestSchema,
  ErrorInfoSchema,
  RetryInfoSchema,
} from "../../../src/gen/google/rpc/error_details_pb.ts";
import { ErrorKind, ErrorKindSchema, InferenceErrorSchema } from "../../../src/gen/outrigger/v1/error_pb.ts";
import { InferenceService } from "../../../src/gen/outrigger/v1/inference_service_pb.ts";
import { Role } from "../../../src/gen/outrigger/v1/message_pb.ts";
import type { StreamEvent } from "../../../src/gen/outrigger/v1/stream_event_pb.ts";
import { getCode } from "../../../src/server/status/status-code.ts";
import { ScriptedAdapter } from "../../client/support/scripted-adapter.ts";
import { callGrpc, getStatus, grpcClient, TRANSPORTS, toDetail } from "../support/clients.ts";
import {
  numbered,
  oneByOne,
  type ScriptedCall,
  silence,
  textEvents,
  textResponse,
} from "../support/scripted-inference.ts";
import { type TestServer, useTestServers } from "../support/test-server.ts";

const servers = useTestServers();
const { complete, stream } = InferenceService.method;

const KINDS = ErrorKindSchema.values
  .filter(({ number }) => number !== ErrorKind.UNSPECIFIED)
  .map(({ number, localName }) => [localName, number as ErrorKind] as const);

/** A deadline that only the server keeps, so that it cannot lose a race against the client. */
const DEADLINE_HEADERS = { "grpc-timeout": "500m", "connect-timeout-ms": "500" };

/** Time in which a cancellation must have arrived; generous, for a loaded machine. */
const SOON_MS = 5000;

function grpcTo(server: TestServer): grpc.Client {
  const client = grpcClient(server.authority);
  servers.onEnd(() => client.close());
  return client;
}

function lastLine(server: TestServer): Record<string, unknown> | undefined {
  return server.log.findLast((line) => "rpc" in line);
}

describe.each(Object.entries(TRANSPORTS))("over %s", (_name, transportTo) => {
  it("Complete returns the response of the inference", async () => {
    const server = await servers.start({ complete: async (call) => textResponse(call, "grüße 😀") });
    const client = createClient(InferenceService, transportTo(server.url));
    const response = await client.complete({ model: "m-1", messages: [{ role: Role.USER }] });
    expect(response.message?.content[0]?.part).toEqual({ case: "text", value: "grüße 😀" });
    expect(response.inferenceId).toBe(server.inference.calls[0]?.inferenceId);
    expect(server.inference.calls[0]?.request).toMatchObject({
      model: "m-1",
      messages: [{ role: Role.USER }],
    });
  });

  it("Stream gives the events that the inference gives", async () => {
    const server = await servers.start({ stream: (call) => oneByOne(textEvents(call, ["a", "b", "c"])) });
    const client = createClient(InferenceService, transportTo(server.url));
    const response = await accumulate(client.stream({ model: "m-1" }));
    expect(response.message?.content[0]?.part).toEqual({ case: "text", value: "abc" });
  });

  it("a failure is a status with its details", async () => {
    const failure = new RateLimitError("slow down", { provider: "acme", httpStatusCode: 429, retryAfter: 2 });
    const server = await servers.start({
      complete: () => Promise.reject(failure),
      stream: async function* () {
        yield await Promise.reject(failure);
      },
    });
    const client = createClient(InferenceService, transportTo(server.url));
    const errors = [
      await client.complete({ model: "m-1" }).catch(ConnectError.from),
      await accumulate(client.stream({ model: "m-1" })).catch(ConnectError.from),
    ];
    for (const error of errors) {
      if (!(error instanceof ConnectError)) throw new Error("the call did not fail");
      expect(error.code).toBe(Code.ResourceExhausted);
      expect(error.findDetails(InferenceErrorSchema)).toMatchObject([
        {
          kind: ErrorKind.RATE_LIMIT,
          message: "slow down",
          retryable: true,
          providerFailure: { provider: "acme" },
        },
      ]);
      expect(error.findDetails(RetryInfoSchema)).toMatchObject([{ retryDelay: { seconds: 2n } }]);
      expect(error.metadata.get("grpc-retry-pushback-ms")).toBe("2000");
      expect(error.metadata.get("retry-after")).toBe("2");
    }
  });

  it("an error event is followed by its status", async () => {
    const server = await servers.start({ stream: failingAfterOutput });
    const client = createClient(InferenceService, transportTo(server.url));
    const events: StreamEvent[] = [];
    const read = async () => {
      for await (const event of client.stream({ model: "m-1" })) events.push(event);
    };
    await expect(read()).rejects.toMatchObject({ code: Code.Unavailable });
    expect(events.map(({ event }) => event.case)).toEqual(["streamStart", "textStart", "textDelta", "error"]);
  });

  it("a deadline in mid stream is an error event and the status", async () => {
    const server = await servers.start({ stream: (call) => startThenSilence(call, () => {}) });
    const client = createClient(InferenceService, transportTo(server.url));
    const events: StreamEvent[] = [];
    const read = async () => {
      const options = { headers: DEADLINE_HEADERS };
      for await (const event of client.stream({ model: "m-1" }, options)) events.push(event);
    };
    await expect(read()).rejects.toMatchObject({ code: Code.DeadlineExceeded });
    expect(events.map(({ event }) => event.case)).toEqual(["streamStart", "error"]);
    await expect
      .poll(() => lastLine(server))
      .toMatchObject({ code: "DEADLINE_EXCEEDED", error_kind: "REQUEST_TIMEOUT" });
  });

  it("leaving a stream aborts the inference", async () => {
    const left = Promise.withResolvers<unknown>();
    const server = await servers.start({ stream: (call) => startThenSilence(call, left.resolve) });
    const client = createClient(InferenceService, transportTo(server.url));
    const controller = new AbortController();
    const read = async () => {
      for await (const _event of client.stream({ model: "m-1" }, { signal: controller.signal }))
        controller.abort();
    };
    await expect(read()).rejects.toMatchObject({ code: Code.Canceled });
    expect(await left.promise).toBeInstanceOf(AbortError);
  });

  it("the client's deadline aborts the inference and becomes the status", async () => {
    const server = await servers.start({ complete: ({ signal }) => silence(signal) });
    const client = createClient(InferenceService, transportTo(server.url));
    const error = await client
      .complete({ model: "m-1" }, { headers: DEADLINE_HEADERS })
      .catch(ConnectError.from);
    expect(error).toMatchObject({ code: Code.DeadlineExceeded });
    const [call] = server.inference.calls;
    await expect.poll(() => call?.signal.reason, { timeout: SOON_MS }).toBeInstanceOf(RequestTimeoutError);
    await expect.poll(() => lastLine(server)?.code, { timeout: SOON_MS }).toBe("DEADLINE_EXCEEDED");
  });

  it("returns the client's request id and the inference id", async () => {
    const server = await servers.start({ complete: async (call) => textResponse(call, "x") });
    const client = createClient(InferenceService, transportTo(server.url));
    let headers = new Headers();
    await client.complete(
      { model: "m-1" },
      {
        headers: { "x-request-id": "order-66" },
        onHeader(received) {
          headers = received;
        },
      },
    );
    expect(headers.get("x-request-id")).toBe("order-66");
    expect(headers.get("outrigger-inference-id")).toBe(server.inference.calls[0]?.inferenceId);
    await expect.poll(() => lastLine(server)).toMatchObject({ request_id: "order-66", code: "OK" });
  });
});

describe("by grpc-js", () => {
  it.each(KINDS)("%s arrives with its code, details and trailers", async (name, kind) => {
    const failure = createError(kind, "it failed", {
      provider: "acme",
      httpStatusCode: 418,
      retryAfter: 1.5,
    });
    const server = await servers.start({ complete: () => Promise.reject(failure) });
    const { code, message, trailers } = await callGrpc(grpcTo(server), complete, { model: "m-1" });
    expect(code).toBe(getCode(kind));
    expect(message).toBe(kind === ErrorKind.INTERNAL ? "internal error" : "it failed");
    const { status } = getStatus(trailers);
    expect(status).toMatchObject({ code, message });
    expect(toDetail(status, InferenceErrorSchema)).toMatchObject({ kind, message });
    // A provider that refuses the sidecar's key is distinguished from a sidecar that refuses the caller's key.
    const reason = name === "AUTHENTICATION" ? "PROVIDER_KEY_REFUSED" : name;
    expect(toDetail(status, ErrorInfoSchema)).toMatchObject({ reason, metadata: { model: "m-1" } });
    const pushback = failure.retryable ? "1500" : "-1";
    expect(trailers.get("grpc-retry-pushback-ms")).toEqual([pushback]);
    expect(toDetail(status, RetryInfoSchema) !== undefined).toBe(failure.retryable);
  });

  it("a call may have more than a thousand entries of metadata", async () => {
    const server = await servers.start({ complete: async (call) => textResponse(call, "x") });
    const metadata = Object.fromEntries(Array.from({ length: 1200 }, (_, index) => [`x-${index}`, "v"]));
    const { code } = await callGrpc(grpcTo(server), complete, { model: "m-1" }, { metadata });
    expect(code).toBe(grpc.status.OK);
  });

  it("a message arrives as it was written", async () => {
    const text = "messages[0].role: 100% wrong, see https://x/y?a=b&c#d; grüße 😀\ttab";
    const server = await servers.start({ complete: () => Promise.reject(new ServerError(text)) });
    expect((await callGrpc(grpcTo(server), complete, { model: "m-1" })).message).toBe(text);
  });

  it("wrong fields arrive as BadRequest", async () => {
    const failure = invalidField("messages[0].role", "is UNSPECIFIED, expected a role");
    const server = await servers.start({ complete: () => Promise.reject(failure) });
    const { trailers } = await callGrpc(grpcTo(server), complete, { model: "m-1" });
    expect(toDetail(getStatus(trailers).status, BadRequestSchema)?.fieldViolations).toMatchObject([
      { field: "messages[0].role" },
    ]);
  });

  it("a bug in the inference is INTERNAL and its message is not shown", async () => {
    const server = await servers.start({
      complete: () => Promise.reject(new TypeError("prompt: tell me a secret")),
    });
    const { code, message, trailers } = await callGrpc(grpcTo(server), complete, { model: "m-1" });
    expect(code).toBe(grpc.status.INTERNAL);
    expect(message).toBe("internal error");
    expect(JSON.stringify(trailers.getMap())).not.toContain("secret");
    await expect.poll(() => lastLine(server)).toMatchObject({ level: 50, fault: { type: "TypeError" } });
    expect(JSON.stringify(server.log)).not.toContain("secret");
  });

  it("a mid-stream failure keeps the facts of the error event", async () => {
    const server = await servers.start({ stream: failingAfterOutput });
    const { code, messages, trailers } = await callGrpc(grpcTo(server), stream, { model: "m-1" });
    expect(code).toBe(grpc.status.UNAVAILABLE);
    const last = messages.at(-1)?.event;
    const inStatus = toDetail(getStatus(trailers).status, InferenceErrorSchema);
    expect(last?.case === "error" && last.value.message).toBe("overloaded");
    expect(inStatus).toMatchObject({ kind: ErrorKind.SERVER, message: "overloaded", outputStarted: true });
  });

  it.each(["throws", "ends"])("a stream that %s without an error event gets one", async (how) => {
    const server = await servers.start({
      stream: async function* (call) {
        yield textEvents(call, ["a"]).slice(0, 3);
        if (how === "throws") throw new StreamError("the provider's stream broke", { outputStarted: true });
      },
    });
    const { code, messages, trailers } = await callGrpc(grpcTo(server), stream, { model: "m-1" });
    expect(code).toBe(grpc.status.UNAVAILABLE);
    const laws = new LawChecker();
    for (const event of messages) laws.check(event);
    laws.end();
    expect(messages.at(-1)?.event.case).toBe("error");
    expect(toDetail(getStatus(trailers).status, InferenceErrorSchema)?.kind).toBe(ErrorKind.STREAM);
  });

  it("a stream that ends before its first event is a status and nothing else", async () => {
    const server = await servers.start({ stream: async function* () {} });
    const { code, messages } = await callGrpc(grpcTo(server), stream, { model: "m-1" });
    expect(messages).toEqual([]);
    expect(code).toBe(grpc.status.UNAVAILABLE);
  });

  it("headers leave when the provider has accepted the request", async () => {
    const go = Promise.withResolvers<void>();
    const server = await servers.start({
      stream: async function* (call) {
        const events = textEvents(call, ["a"]);
        yield events.slice(0, 1);
        await go.promise;
        yield events.slice(1);
      },
    });
    const seen: string[] = [];
    const outcome = await callGrpc(
      grpcTo(server),
      stream,
      { model: "m-1" },
      {
        onMessage: () => {
          seen.push("message");
          go.resolve();
        },
      },
    );
    expect(seen.length).toBe(5);
    expect(outcome.headers?.get("outrigger-inference-id")).toEqual([server.inference.calls[0]?.inferenceId]);
  });

  const phases: Readonly<Record<string, number>> = {
    "before the first event": 0,
    "after stream_start": 1,
    "in mid text": 3,
    "after the last delta": 4,
  };
  it.each(Object.entries(phases))("a cancellation %s reaches the inference", async (_phase, count) => {
    const left = Promise.withResolvers<unknown>();
    const begun = Promise.withResolvers<void>();
    const server = await servers.start({
      stream: async function* (call) {
        yield textEvents(call, ["a", "b"]).slice(0, count);
        begun.resolve();
        await silence(call.signal).catch(left.resolve);
      },
    });
    const client = grpcTo(server);
    const call = client.makeServerStreamRequest(
      "/outrigger.v1.InferenceService/Stream",
      () => Buffer.alloc(0),
      (x) => x,
      {},
    );
    call.on("error", () => {}).resume();
    await begun.promise;
    call.cancel();
    expect(await left.promise).toBeInstanceOf(AbortError);
    await expect
      .poll(() => lastLine(server))
      .toMatchObject({ level: 20, code: "CANCELLED", msg: "client disconnected" });
  });

  it("a cancellation of Complete reaches the inference", async () => {
    const left = Promise.withResolvers<unknown>();
    const begun = Promise.withResolvers<void>();
    const server = await servers.start({
      complete: ({ signal }) => {
        begun.resolve();
        return silence(signal).catch((reason) => {
          left.resolve(reason);
          throw reason;
        });
      },
    });
    const call = grpcTo(server).makeUnaryRequest(
      "/outrigger.v1.InferenceService/Complete",
      () => Buffer.alloc(0),
      (x) => x,
      {},
      () => {},
    );
    await begun.promise;
    call.cancel();
    expect(await left.promise).toBeInstanceOf(AbortError);
  });

  it("a connection that breaks ends its calls", async () => {
    const left = Promise.withResolvers<unknown>();
    const server = await servers.start({ stream: (call) => startThenSilence(call, left.resolve) });
    const session = http2.connect(server.url);
    const request = session.request({
      ":method": "POST",
      ":path": "/outrigger.v1.InferenceService/Stream",
      "content-type": "application/grpc",
    });
    request.on("error", () => {}).on("response", () => session.destroy());
    request.end(Buffer.alloc(5));
    expect(await left.promise).toBeInstanceOf(AbortError);
    await expect.poll(() => lastLine(server)).toMatchObject({ level: 20, code: "CANCELLED" });
  });

  it("nothing listens to a signal after its call", async () => {
    const signals: AbortSignal[] = [];
    const server = await servers.start({
      complete: async (call) => {
        signals.push(call.signal);
        return textResponse(call, "x");
      },
      stream: (call) => {
        signals.push(call.signal);
        return oneByOne(textEvents(call, ["a"]));
      },
    });
    const client = grpcTo(server);
    await callGrpc(client, complete, { model: "m-1" });
    await callGrpc(client, stream, { model: "m-1" });
    await expect.poll(() => server.log.filter((line) => "rpc" in line).length).toBe(2);
    expect(signals.map((signal) => signal.aborted)).toEqual([false, false]);
  });
});

describe("the log line of a call", () => {
  it("has ids, provider, model and tokens, and no text", async () => {
    const server = await servers.start({ stream: (call) => oneByOne(textEvents(call, ["the answer"])) });
    const messages = [userMessage("the prompt")];
    const metadata = { authorization: "Bearer hush", "x-api-key": "hush" };
    await callGrpc(grpcTo(server), stream, { model: "m-1", messages }, { metadata });
    await expect
      .poll(() => lastLine(server))
      .toMatchObject({
        level: 30,
        rpc: "outrigger.v1.InferenceService/Stream",
        protocol: "grpc",
        http: "2.0",
        code: "OK",
        provider: "scripted",
        model: "m-1",
        inference_id: server.inference.calls[0]?.inferenceId,
        input_tokens: 7,
        output_tokens: 5,
      });
    expect(JSON.stringify(server.log)).not.toMatch(/the answer|the prompt|hush/);
  });

  it("says why the call failed, and not what the caller sent", async () => {
    const failure = new ServerError("cannot digest the albatross now", {
      provider: "scripted",
      errorCode: "busy",
    });
    const fail = () => Promise.reject(failure);
    async function* failing(): AsyncGenerator<readonly StreamEvent[]> {
      yield await fail();
    }
    const server = await servers.start({ complete: fail, stream: failing });
    const messages = [userMessage("an albatross")];
    for (const call of [complete, stream]) {
      await callGrpc(grpcTo(server), call, { model: "m-1", messages });
      await expect
        .poll(() => lastLine(server))
        .toMatchObject({
          level: 40,
          msg: "call failed",
          failed_by: "provider",
          error_kind: "SERVER",
          reason: "cannot digest the … now",
          provider_code: "busy",
          attempts: 1,
        });
      server.log.length = 0;
    }
    await callGrpc(
      grpcTo(server),
      complete,
      { model: "m-1", messages },
      { metadata: { "grpc-timeout": "x" } },
    );
    await expect.poll(() => lastLine(server)).toMatchObject({ level: 40, failed_by: "caller" });
  });

  it("has names of clients with bounded length", async () => {
    const server = await servers.start({ complete: async (call) => textResponse(call, "x") });
    const name = "n".repeat(100_000);
    await callGrpc(grpcTo(server), complete, { model: name, provider: name });
    await expect.poll(() => lastLine(server)).toMatchObject({ code: "OK" });
    expect(JSON.stringify(lastLine(server)).length).toBeLessThan(1000);
  });

  it("of a provider's failure has its kind, HTTP status and request id, and not the prompt", async () => {
    const failure = new ServerError("your prompt was: apricot", {
      provider: "acme",
      httpStatusCode: 500,
      requestId: "req_1",
    });
    const server = await servers.start({ complete: () => Promise.reject(failure) });
    await callGrpc(grpcTo(server), complete, { model: "m-1", messages: [userMessage("Apricot")] });
    await expect
      .poll(() => lastLine(server))
      .toMatchObject({
        code: "UNAVAILABLE",
        reason: "your prompt was: …",
        error_kind: "SERVER",
        http_status: 500,
        provider_request_id: "req_1",
      });
    expect(JSON.stringify(server.log)).not.toContain("apricot");
  });

  it.each([
    ["m-1", "one", "m-1"],
    ["fast", "two", "m-mini"],
  ])(
    "names the provider of a failed call that named none, for the model %s",
    async (asked, provider, model) => {
      const failing = () => [new NetworkError("no route"), new NetworkError("no route")];
      const inference = new Client({
        providers: {
          one: new ScriptedAdapter("one", { failures: failing() }),
          two: new ScriptedAdapter("two", { failures: failing() }),
        },
        defaultProvider: "one",
        modelAliases: { fast: { provider: "two", model: "m-mini" } },
      });
      const server = await servers.start({}, { inference });
      for (const method of [complete, stream]) {
        await callGrpc(grpcTo(server), method, { model: asked, messages: [userMessage("hi")] });
        await expect
          .poll(() => lastLine(server))
          .toMatchObject({
            rpc: expect.stringContaining(method.name),
            error_kind: "NETWORK",
            provider,
            model,
          });
      }
    },
  );
});

/** Starts, writes a little, and fails as a provider that gives a reason. */
async function* failingAfterOutput(call: ScriptedCall): AsyncGenerator<readonly StreamEvent[]> {
  const failure = new ServerError("overloaded", { provider: "acme", outputStarted: true });
  const begun = textEvents(call, ["a", "b"]).slice(0, 3);
  yield numbered([...begun.map(({ event }) => event), { case: "error", value: failure.toProto() }]);
  throw failure;
}

/** Starts, and then sends nothing until the call is aborted. */
async function* startThenSilence(
  call: ScriptedCall,
  onLeft: (reason: unknown) => void,
): AsyncGenerator<readonly StreamEvent[]> {
  yield textEvents(call, ["a"]).slice(0, 1);
  await silence(call.signal).catch((reason: unknown) => {
    onLeft(reason);
    throw reason;
  });
}
