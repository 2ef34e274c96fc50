/**
 * Calls that fail before their first message: one HEADERS frame, which leaves the call to the client's retry policy.
 */
import http2 from "node:http2";
import { create, toBinary } from "@bufbuild/protobuf";
import * as grpc from "@grpc/grpc-js";
import { describe, expect, it } from "vitest";
import { type Simulator, startSimulator } from "../../../../simulator/index.ts";
import { Client } from "../../../../src/client/client.ts";
import { createAdapter } from "../../../../src/client/providers.ts";
import { RateLimitError, ServerError } from "../../../../src/core/errors.ts";
import { userMessage } from "../../../../src/core/message.ts";
import { InferenceService } from "../../../../src/gen/outrigger/v1/inference_service_pb.ts";
import { type Request, RequestSchema } from "../../../../src/gen/outrigger/v1/request_pb.ts";
import { callGrpc } from "../../support/clients.ts";
import { frame, inferencePath, openStream, readAnswer } from "../../support/raw-http2.ts";
import { type Script, silence, textEvents, textResponse } from "../../support/scripted-inference.ts";
import { type TestServer, useTestServers } from "../../support/test-server.ts";

const servers = useTestServers();
const { complete, stream } = InferenceService.method;

const failing: Script = {
  complete: async () => {
    throw new ServerError("overloaded", { retryAfter: 0.25 });
  },
  // biome-ignore lint/correctness/useYield: it fails before its first event
  async *stream() {
    throw new ServerError("overloaded", { retryAfter: 0.25 });
  },
};

const GRPC = { "content-type": "application/grpc" };
const GRPC_JSON = { "content-type": "application/grpc+json" };

/** Calls a method, by default with an empty request. `isWhole`: the first HEADERS frame ended the stream. */
async function callRaw(
  server: TestServer,
  path: string,
  headers: Readonly<Record<string, string>>,
  message = Buffer.from(headers["content-type"]?.endsWith("json") ? "{}" : ""),
) {
  const session = http2.connect(server.url);
  servers.onEnd(() => session.destroy());
  const call = openStream(session, path, { "x-request-id": "mine", ...headers });
  let isWhole = false;
  call.on("response", (_headers, flags) => {
    isWhole = (flags & http2.constants.NGHTTP2_FLAG_END_STREAM) !== 0;
  });
  call.end(frame(message));
  return { ...(await readAnswer(call)), isWhole };
}

describe("a gRPC call that fails before its first message", () => {
  it.each([
    ["Complete", GRPC],
    ["Stream", GRPC],
    ["Complete", GRPC_JSON],
    ["Stream", GRPC_JSON],
  ])("gets %s's status and ids in one HEADERS frame (%o)", async (method, headers) => {
    const server = await servers.start(failing);
    const answer = await callRaw(server, inferencePath(method), headers);
    expect(answer).toMatchObject({ isWhole: true, body: Buffer.alloc(0) });
    expect(answer.headers).toMatchObject({
      ":status": 200,
      "grpc-status": "14",
      "grpc-message": "overloaded",
      "grpc-retry-pushback-ms": "250",
      "grpc-status-details-bin": expect.any(String),
      "outrigger-inference-id": server.inference.calls[0]?.inferenceId,
      "x-request-id": "mine",
    });
  });

  it.each([
    ["an unknown method", inferencePath("Missing"), GRPC, "12"],
    ["an unknown compression", inferencePath("Complete"), { ...GRPC, "grpc-encoding": "snappy" }, "12"],
    ["a wrong timeout", inferencePath("Complete"), { ...GRPC, "grpc-timeout": "soon" }, "3"],
    ["a foreign origin", inferencePath("Complete"), { ...GRPC, origin: "https://evil.example" }, "7"],
  ])("for %s gets one HEADERS frame too", async (_what, path, headers, status) => {
    const server = await servers.start(failing);
    const answer = await callRaw(server, path, headers);
    expect(answer.isWhole).toBe(true);
    expect(answer.headers).toMatchObject({ "grpc-status": status, "x-request-id": "mine" });
  });
});

describe("a gRPC call that ends before its provider answers", () => {
  it.each(["Complete", "Stream"])("gets one HEADERS frame if %s is over its deadline", async (method) => {
    const server = await servers.start({
      complete: ({ signal }) => silence(signal),
      async *stream({ signal }) {
        yield await silence(signal);
      },
    });
    const answer = await callRaw(server, inferencePath(method), { ...GRPC, "grpc-timeout": "20m" });
    expect(answer).toMatchObject({ isWhole: true, headers: { "grpc-status": "4" } });
  });

  it.each([
    ["too large", Buffer.alloc(65), "8"],
    ["not a message of the contract", Buffer.from([0xff]), "3"],
  ])("gets one HEADERS frame if the request is %s", async (_what, message, status) => {
    const server = await servers.start(failing, { limits: { maxMessageBytes: 64 } });
    for (const method of ["Complete", "Stream"]) {
      const answer = await callRaw(server, inferencePath(method), GRPC, message);
      expect(answer).toMatchObject({ isWhole: true, headers: { "grpc-status": status } });
    }
  });

  it.each(["Complete", "Stream"])(
    "gets one HEADERS frame if the request of %s is invalid",
    async (method) => {
      const { server } = await startSimulated();
      const answer = await callRaw(server, inferencePath(method), GRPC);
      expect(answer).toMatchObject({
        isWhole: true,
        headers: { "grpc-status": "3", "grpc-retry-pushback-ms": "-1" },
      });
    },
  );
});

/** A server whose provider is the simulator. */
async function startSimulated(): Promise<{ server: TestServer; simulator: Simulator }> {
  const simulator = await startSimulator();
  const settings = { api: "openai-responses", apiKey: "any", baseUrl: simulator.openaiBaseUrl } as const;
  const client = new Client({ providers: { openai: createAdapter("openai", settings) } });
  servers.onEnd(async () => {
    await client.close();
    await simulator.close();
  });
  return { server: await servers.start({}, { inference: client }), simulator };
}

describe("a gRPC call that succeeds", () => {
  it.each([GRPC, GRPC_JSON])(
    "gets its ids in headers, which leave with the first message (%o)",
    async (type) => {
      const server = await servers.start({
        complete: async (call) => textResponse(call, "x"),
        async *stream(call) {
          yield textEvents(call, ["x"]);
        },
      });
      for (const method of ["Complete", "Stream"]) {
        const { headers, trailers, isWhole } = await callRaw(server, inferencePath(method), type);
        expect(isWhole).toBe(false);
        expect(headers).toMatchObject({
          "outrigger-inference-id": expect.any(String),
          "x-request-id": "mine",
        });
        expect(headers).not.toHaveProperty("grpc-status");
        expect(trailers).toMatchObject({ "grpc-status": "0" });
      }
    },
  );

  it("gets no headers while its stream has no message", async () => {
    const { promise: proceed, resolve } = Promise.withResolvers<void>();
    const server = await servers.start({
      async *stream(call) {
        await proceed;
        yield textEvents(call, ["x"]);
      },
    });
    const session = http2.connect(server.url);
    servers.onEnd(() => session.destroy());
    const call = openStream(session, inferencePath("Stream"));
    call.end(frame(Buffer.alloc(0)));
    let hasHeaders = false;
    call.on("response", () => {
      hasHeaders = true;
    });
    const answer = readAnswer(call);
    await expect.poll(() => server.inference.calls.length).toBe(1);
    await new Promise((next) => setTimeout(next, 50));
    expect(hasHeaders).toBe(false);
    resolve();
    expect((await answer).trailers["grpc-status"]).toBe("0");
  });
});

describe("gRPC-Web and Connect", () => {
  it("get the status of a failed call in the form of their protocol", async () => {
    const server = await servers.start(failing);
    const web = await callRaw(server, inferencePath("Stream"), {
      "content-type": "application/grpc-web+proto",
    });
    expect(web.headers).toMatchObject({ ":status": 200, "outrigger-inference-id": expect.any(String) });
    expect(web.body.toString("latin1")).toContain("grpc-status: 14");
    const unary = await fetch(`${server.url}${inferencePath("Complete")}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: "{}",
    });
    expect([unary.status, await unary.json()]).toMatchObject([503, { code: "unavailable" }]);
    expect(unary.headers.get("outrigger-inference-id")).not.toBeNull();
    const connect = await callRaw(server, inferencePath("Stream"), {
      "content-type": "application/connect+json",
    });
    expect(connect.headers).toMatchObject({ ":status": 200, "outrigger-inference-id": expect.any(String) });
    expect(JSON.parse(connect.body.subarray(5).toString())).toMatchObject({ error: { code: "unavailable" } });
  });
});

describe("the retry policy of a gRPC client", () => {
  const policy = {
    methodConfig: [
      {
        name: [{ service: InferenceService.typeName }],
        retryPolicy: {
          maxAttempts: 4,
          initialBackoff: "0.01s",
          maxBackoff: "0.05s",
          backoffMultiplier: 1,
          retryableStatusCodes: ["UNAVAILABLE", "RESOURCE_EXHAUSTED"],
        },
      },
    ],
  };

  function retryingClient(server: TestServer): grpc.Client {
    const client = new grpc.Client(server.authority, grpc.credentials.createInsecure(), {
      "grpc.service_config": JSON.stringify(policy),
      "grpc.use_local_subchannel_pool": 1,
    });
    servers.onEnd(() => client.close());
    return client;
  }

  function completeBy(client: grpc.Client, request: Request): Promise<grpc.ServiceError | null> {
    return new Promise((resolve) => {
      const bytes = Buffer.from(toBinary(RequestSchema, request));
      const path = inferencePath(complete.name);
      client.makeUnaryRequest(
        path,
        (sent: Buffer) => sent,
        (read) => read,
        bytes,
        (error) => resolve(error),
      );
    });
  }

  function requestTo(model: string): Request {
    return create(RequestSchema, { model, messages: [userMessage("hi")] });
  }

  it("repeats a call that its provider could not serve, until it is served", async () => {
    const { server } = await startSimulated();
    const client = retryingClient(server);
    const error = await completeBy(client, requestTo("sim-text:status=500,times=2"));
    expect(error).toBeNull();
    const codes = server.log.filter(({ rpc }) => rpc !== undefined).map(({ code }) => code);
    expect(codes).toEqual(["UNAVAILABLE", "UNAVAILABLE", "OK"]);
  });

  it("repeats a stream that failed before its first event", async () => {
    const { server } = await startSimulated();
    const request = requestTo("sim-text:status=500,times=2,delay_ms=1");
    const { code, messages } = await callGrpc(retryingClient(server), stream, request);
    expect(code).toBe(grpc.status.OK);
    expect(messages.at(-1)?.event.case).toBe("finish");
    expect(server.log.filter(({ rpc }) => rpc !== undefined)).toHaveLength(3);
  });

  it("waits as long as grpc-retry-pushback-ms says", async () => {
    const { server } = await startSimulated();
    const startedAt = performance.now();
    const error = await completeBy(
      retryingClient(server),
      requestTo("sim-text:status=429,retry_after_ms=300,times=1"),
    );
    expect(error).toBeNull();
    expect(performance.now() - startedAt).toBeGreaterThan(290);
  });

  it("stops retrying if grpc-retry-pushback-ms is -1", async () => {
    const { server } = await startSimulated();
    const model = "sim-text:status=429,code=insufficient_quota,times=1";
    const error = await completeBy(retryingClient(server), requestTo(model));
    expect(error?.code).toBe(grpc.status.RESOURCE_EXHAUSTED);
    expect(error?.metadata.get("grpc-retry-pushback-ms")).toEqual(["-1"]);
    expect(server.log.filter(({ rpc }) => rpc !== undefined)).toHaveLength(1);
  });

  it("does not repeat a stream that had begun", async () => {
    let calls = 0;
    const server = await servers.start({
      async *stream(call) {
        calls += 1;
        yield textEvents(call, ["x"]).slice(0, 3);
        throw new RateLimitError("slow down");
      },
    });
    const { code } = await callGrpc(retryingClient(server), stream, { model: "m" });
    expect(code).toBe(grpc.status.RESOURCE_EXHAUSTED);
    expect(calls).toBe(1);
  });
});
