import http from "node:http";
import http2 from "node:http2";
import { fromBinary } from "@bufbuild/protobuf";
import { Code, ConnectError, createClient, type Interceptor, type Transport } from "@connectrpc/connect";
import {
  createConnectTransport,
  createGrpcTransport,
  createGrpcWebTransport,
} from "@connectrpc/connect-node";
import { describe, expect, it } from "vitest";
import { RateLimitError } from "../../../src/core/errors.ts";
import { ErrorInfoSchema, RetryInfoSchema } from "../../../src/gen/google/rpc/error_details_pb.ts";
import { StatusSchema } from "../../../src/gen/google/rpc/status_pb.ts";
import { Health } from "../../../src/gen/grpc/health/v1/health_pb.ts";
import { ServerReflection } from "../../../src/gen/grpc/reflection/v1/reflection_pb.ts";
import { CatalogService } from "../../../src/gen/outrigger/v1/catalog_service_pb.ts";
import { InferenceErrorSchema } from "../../../src/gen/outrigger/v1/error_pb.ts";
import { GenerationService } from "../../../src/gen/outrigger/v1/generation_service_pb.ts";
import { InferenceService } from "../../../src/gen/outrigger/v1/inference_service_pb.ts";
import type { HttpApi } from "../../../src/http/endpoint.ts";
import { AccessControl } from "../../../src/server/access/access-control.ts";
import { accessKey } from "../support/access-keys.ts";
import { exchange, frame, inferencePath, openStream, readAnswer } from "../support/raw-http2.ts";
import { oneByOne, textEvents, textResponse } from "../support/scripted-inference.ts";
import { type TestServer, useTestServers } from "../support/test-server.ts";

const servers = useTestServers();

/** Keys that a test may change. */
interface Keys {
  current(): ReturnType<typeof accessKey>[];
}

function start(keys: Keys = { current: () => KEYS }): Promise<TestServer> {
  return servers.start(
    {
      complete: async (call) => textResponse(call, "x"),
      stream: (call) => oneByOne(textEvents(call, ["x"])),
    },
    { access: new AccessControl(keys), cors: { allowedOrigins: ["https://app.example"] } },
  );
}

const KEYS = [accessKey("checkout", ["checkout-old", "checkout-new"]), accessKey("search", ["search-key"])];

/** Adds a key to every call. */
function withKey(key: string | undefined): Interceptor {
  return (next) => (request) => {
    if (key !== undefined) request.header.set("authorization", `Bearer ${key}`);
    return next(request);
  };
}

const TRANSPORTS: Readonly<Record<string, (baseUrl: string, interceptors: Interceptor[]) => Transport>> = {
  gRPC: (baseUrl, interceptors) => createGrpcTransport({ baseUrl, interceptors }),
  "gRPC-Web over HTTP/2": (baseUrl, interceptors) =>
    createGrpcWebTransport({ baseUrl, interceptors, httpVersion: "2" }),
  "gRPC-Web over HTTP/1.1": (baseUrl, interceptors) =>
    createGrpcWebTransport({ baseUrl, interceptors, httpVersion: "1.1" }),
  "Connect over HTTP/2": (baseUrl, interceptors) =>
    createConnectTransport({ baseUrl, interceptors, httpVersion: "2" }),
  "Connect with JSON": (baseUrl, interceptors) =>
    createConnectTransport({ baseUrl, interceptors, httpVersion: "1.1", useBinaryFormat: false }),
  "Connect by GET": (baseUrl, interceptors) =>
    createConnectTransport({ baseUrl, interceptors, httpVersion: "1.1", useHttpGet: true }),
};

/** A call of each service. */
const CALLS: Readonly<Record<string, (transport: Transport) => Promise<unknown>>> = {
  Complete: (transport) => createClient(InferenceService, transport).complete({ model: "m" }),
  Stream: (transport) => drained(createClient(InferenceService, transport).stream({ model: "m" })),
  Generate: (transport) =>
    createClient(GenerationService, transport).generate({
      options: { request: { model: "m" }, prompt: "p" },
    }),
  CountTokens: (transport) => createClient(InferenceService, transport).countTokens({ model: "m" }),
  ListModels: (transport) => createClient(CatalogService, transport).listModels({}),
};

async function drained(events: AsyncIterable<unknown>): Promise<unknown[]> {
  const all: unknown[] = [];
  for await (const event of events) all.push(event);
  return all;
}

async function toFailure(call: Promise<unknown>): Promise<ConnectError> {
  const error: unknown = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof ConnectError)) throw new Error("the call did not fail");
  return error;
}

const cases = Object.entries(TRANSPORTS).flatMap(([protocol, transportTo]) =>
  Object.entries(CALLS).map(([name, call]) => ({ protocol, transportTo, name, call })),
);

describe.each(cases)("$name over $protocol", ({ transportTo, call }) => {
  it.each([undefined, "wrong-key", "checkout-ol", ""])("is refused with the key %j", async (key) => {
    const server = await start();
    const error = await toFailure(call(transportTo(server.url, [withKey(key)])));
    expect(error.code).toBe(Code.Unauthenticated);
    expect(error.findDetails(ErrorInfoSchema)).toMatchObject([
      { reason: "AUTHENTICATION", domain: "outrigger" },
    ]);
    const [inference] = error.findDetails(InferenceErrorSchema);
    expect(inference).toMatchObject({ retryable: false });
    expect(inference?.providerFailure).toBeUndefined();
    expect(server.inference.calls).toEqual([]);
    expect(error.message).not.toMatch(/wrong-key|checkout/);
  });

  it("is served with both keys of a caller until one is taken out", async () => {
    let keys = KEYS;
    const server = await start({ current: () => keys });
    for (const key of ["checkout-old", "checkout-new", "search-key"])
      await call(transportTo(server.url, [withKey(key)]));
    keys = [accessKey("checkout", ["checkout-new"])];
    const error = await toFailure(call(transportTo(server.url, [withKey("checkout-old")])));
    expect(error.code).toBe(Code.Unauthenticated);
    await call(transportTo(server.url, [withKey("checkout-new")]));
    const callers = server.log
      .filter(({ msg }) => msg === "call" || msg === "call failed")
      .map(({ caller }) => caller);
    expect(callers).toEqual(["checkout", "checkout", "search", undefined, "checkout"]);
  });

  it("is refused if its header fields take more memory than there is", async () => {
    const server = await servers.start({}, { limits: { maxRequestMemoryBytes: 100 * 1024 } });
    const withFields: Interceptor = (next) => (request) => {
      for (let index = 0; index < 900; index += 1) request.header.set(`x-${index}`, "1");
      return next(request);
    };
    const error = await toFailure(call(transportTo(server.url, [withFields])));
    expect([error.code, error.message]).toEqual([
      Code.ResourceExhausted,
      expect.stringContaining("max_request_memory"),
    ]);
  });

  it("is refused with a time to wait if its caller is over its rate", async () => {
    const limit = { requestsPerMinute: 1, burst: 1 };
    const keys = [accessKey("a", ["a-key"], { rateLimit: limit })];
    const server = await start({ current: () => keys });
    const transport = transportTo(server.url, [withKey("a-key")]);
    await call(transport);
    const error = await toFailure(call(transport));
    expect(error.code).toBe(Code.ResourceExhausted);
    expect(error.message).toContain("the limit of 1 request per minute for the caller a is reached");
    const [retry] = error.findDetails(RetryInfoSchema);
    expect(Number(retry?.retryDelay?.seconds)).toBeGreaterThan(50);
    await expect.poll(() => server.log.at(-1)).toMatchObject({ code: "RESOURCE_EXHAUSTED", caller: "a" });
  });
});

describe("an access key", () => {
  it("is needed for reflection", async () => {
    const server = await start();
    const ask = (key: string | undefined) => {
      const client = createClient(
        ServerReflection,
        createGrpcTransport({ baseUrl: server.url, interceptors: [withKey(key)] }),
      );
      const question = { messageRequest: { case: "listServices", value: "" } } as const;
      return drained(
        client.serverReflectionInfo(
          (async function* () {
            yield question;
          })(),
        ),
      );
    };
    expect((await toFailure(ask(undefined))).code).toBe(Code.Unauthenticated);
    expect(await ask("search-key")).toHaveLength(1);
  });

  it.each(Object.entries(TRANSPORTS))("is not needed for health over %s", async (_name, transportTo) => {
    const server = await start();
    const client = createClient(Health, transportTo(server.url, []));
    expect((await client.check({})).status).toBe(1);
  });

  it("is not needed on the admin listener", async () => {
    const server = await start();
    expect((await fetch(`${server.adminUrl}/readyz`)).status).toBe(200);
    const metrics = await (await fetch(`${server.adminUrl}/metrics`)).text();
    expect(metrics).toContain("outrigger_caller_requests_total");
  });

  it("is needed before an unknown path is reported", async () => {
    const server = await start();
    expect((await fetch(`${server.url}/nothing`)).status).toBe(401);
    const headers = { authorization: "Bearer search-key" };
    expect((await fetch(`${server.url}/nothing`, { headers })).status).toBe(404);
    const answer = await exchange(server.url, "/acme.Missing/Do", {}, frame(Buffer.alloc(0)));
    expect(answer.trailers["grpc-status"]).toBe(String(Code.Unauthenticated));
  });

  it("is not needed by a preflight, and its refusal can be read by the page", async () => {
    const server = await start();
    const path = `${server.url}${inferencePath("Complete")}`;
    const origin = "https://app.example";
    const preflight = await fetch(path, {
      method: "OPTIONS",
      headers: {
        origin,
        "access-control-request-method": "POST",
        "access-control-request-headers": "authorization",
      },
    });
    expect(preflight.status).toBe(204);
    const refused = await fetch(path, {
      method: "POST",
      headers: { origin, "content-type": "application/json" },
      body: "{}",
    });
    expect([refused.status, refused.headers.get("access-control-allow-origin")]).toEqual([401, origin]);
  });

  it("counts calls and tokens by the name of its entry", async () => {
    const server = await start();
    const transport = createGrpcTransport({ baseUrl: server.url, interceptors: [withKey("search-key")] });
    await CALLS.Complete?.(transport);
    const metrics = await (await fetch(`${server.adminUrl}/metrics`)).text();
    expect(metrics).toContain('outrigger_caller_requests_total{caller="search",code="OK"} 1\n');
    expect(metrics).toContain('outrigger_caller_tokens_total{caller="search",direction="output"} 5\n');
    expect(metrics).not.toContain("search-key");
  });
});

describe("a refusal over HTTP", () => {
  it("has the status 401 and names the scheme", async () => {
    const server = await start();
    const response = await fetch(`${server.url}${inferencePath("Complete")}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: "{}",
    });
    expect(response.status).toBe(401);
    expect(response.headers.get("www-authenticate")).toBe("Bearer");
    expect(await response.json()).toMatchObject({
      code: "unauthenticated",
      message: expect.stringContaining('expected an access key in the header "authorization: Bearer KEY"'),
    });
  });

  it("has the status 429 and a retry delay if a caller exceeds its rate", async () => {
    const keys = [accessKey("a", ["a-key"], { rateLimit: { requestsPerMinute: 1, burst: 1 } })];
    const server = await start({ current: () => keys });
    const headers = { authorization: "Bearer a-key", accept: "text/event-stream" };
    const post = () =>
      fetch(`${server.url}${inferencePath("Stream")}`, {
        method: "POST",
        headers: { ...headers, "content-type": "application/json" },
        body: "{}",
      });
    expect((await post()).status).toBe(200);
    const refused = await post();
    expect(refused.status).toBe(429);
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(50);
    expect(refused.headers.get("www-authenticate")).toBeNull();
  });

  it("comes as the only HEADERS frame of a gRPC call, with its details", async () => {
    const server = await start();
    const { headers, trailers, body } = await exchange(
      server.url,
      inferencePath("Complete"),
      { "x-request-id": "r-1" },
      frame(Buffer.alloc(0)),
    );
    expect([headers[":status"], trailers["grpc-status"], body.byteLength]).toEqual([200, "16", 0]);
    expect([trailers["grpc-retry-pushback-ms"], trailers["x-request-id"]]).toEqual(["-1", "r-1"]);
    const packed = Buffer.from(String(trailers["grpc-status-details-bin"]), "base64");
    expect(fromBinary(StatusSchema, packed).details).toHaveLength(2);
  });
});

describe("an HTTP API", () => {
  it("refuses in the form of the API, with the status and the headers, and passes the caller to its routes", async () => {
    const callers: string[] = [];
    const endpoint: HttpApi = {
      find: (path) =>
        path !== "/v1/test"
          ? undefined
          : {
              name: "GET /v1/test",
              async serve({ caller }) {
                callers.push(caller.name);
                return { status: 200, headers: {}, body: Buffer.from("served") };
              },
              fail: ({ kindName, message, retryAfter }) => ({
                status: 418,
                headers: { "content-type": "application/json" },
                body: Buffer.from(JSON.stringify({ kindName, message, waits: retryAfter !== undefined })),
              }),
            },
    };
    const keys = [
      accessKey("a", ["a-key"], { rateLimit: { requestsPerMinute: 1, burst: 1 } }),
      accessKey("b", ["b-key"]),
    ];
    const access = new AccessControl({ current: () => keys });
    const limits = { maxRequestMemoryBytes: 100 * 1024 };
    const server = await servers.start({}, { access, apis: [endpoint], limits });
    const get = (key: string, headers: Readonly<Record<string, string>> = {}) =>
      fetch(`${server.url}/v1/test`, { headers: { authorization: `Bearer ${key}`, ...headers } });
    const refused = await get("wrong");
    expect([refused.status, refused.headers.get("www-authenticate")]).toEqual([418, "Bearer"]);
    expect(await refused.json()).toMatchObject({ kindName: "AUTHENTICATION", waits: false });
    expect(await (await get("a-key")).text()).toBe("served");
    const limited = await get("a-key");
    expect(Number(limited.headers.get("retry-after"))).toBeGreaterThan(50);
    expect(await limited.json()).toMatchObject({ kindName: "RATE_LIMIT", waits: true });
    const fields = Object.fromEntries(Array.from({ length: 900 }, (_, index) => [`x-${index}`, "1"]));
    const large = await (await get("b-key", fields)).json();
    expect(large).toMatchObject({ message: expect.stringContaining("max_request_memory") });
    expect(callers).toEqual(["a"]);
  });
});

describe("requests with wrong keys", () => {
  it.each([
    ["gRPC", { "content-type": "application/grpc" }],
    ["Connect", { "content-type": "application/proto" }],
    ["a stream of Connect", { "content-type": "application/connect+proto" }],
    ["an unknown path", { "content-type": "text/plain", ":path": "/nothing" }],
  ])(
    "are refused over %s before anything of a body is read, and their streams end",
    async (_name, headers) => {
      const server = await start();
      const session = http2.connect(server.url);
      servers.onEnd(() => session.destroy());
      const stream = openStream(session, inferencePath("Complete"), headers);
      stream.write(frame(Buffer.alloc(0), 0, 30 * 1024 * 1024));
      const closed = new Promise<void>((resolve) => stream.once("close", resolve));
      // Sends without end: the answer must not wait for the end of the body.
      const sending = setInterval(() => stream.writable && stream.write(Buffer.alloc(16 * 1024)), 1);
      const answer = await readAnswer(stream).finally(() => clearInterval(sending));
      expect([answer.headers[":status"], answer.headers["grpc-status"]]).toSatisfy(
        ([status, grpc]) => status === 401 || grpc === "16" || answer.body.includes("unauthenticated"),
      );
      await closed;
      // The connection serves further calls.
      const next = openStream(session, inferencePath("Complete"), { authorization: "Bearer search-key" });
      next.end(frame(Buffer.from([10, 1, 109])));
      expect((await readAnswer(next)).trailers["grpc-status"]).toBe("0");
    },
  );

  it("take no memory of requests and no place of a call, however many there are", async () => {
    const keys = [accessKey("a", ["a-key"])];
    const access = new AccessControl({ current: () => keys });
    const server = await servers.start(
      { complete: async (call) => textResponse(call, "x") },
      { access, limits: { maxCalls: 1, maxRequestMemoryBytes: 1 } },
    );
    const session = http2.connect(server.url);
    servers.onEnd(() => session.destroy());
    const refuse = async () => {
      const headers = { authorization: "Bearer wrong", "content-length": String(30 * 1024 * 1024) };
      const stream = openStream(session, inferencePath("Complete"), headers);
      stream.write(frame(Buffer.alloc(0), 0, 30 * 1024 * 1024));
      return (await readAnswer(stream)).trailers["grpc-status"];
    };
    const statuses = await Promise.all(Array.from({ length: 500 }, refuse));
    expect(new Set(statuses)).toEqual(new Set([String(Code.Unauthenticated)]));
    const transport = createGrpcTransport({ baseUrl: server.url, interceptors: [withKey("a-key")] });
    await CALLS.Complete?.(transport);
  });

  it("may have a header of nearly 64 KiB, which is not hashed", async () => {
    const server = await start();
    const authorization = `Bearer ${"x".repeat(60 * 1024)}`;
    const { trailers } = await exchange(server.url, inferencePath("Complete"), { authorization }, "");
    expect(trailers["grpc-status"]).toBe(String(Code.Unauthenticated));
    const status = await new Promise((resolve, reject) => {
      const request = http.request(`${server.url}/x`, { headers: { authorization } }, (response) => {
        response.resume();
        resolve(response.statusCode);
      });
      request.on("error", reject);
      request.end();
    });
    expect(status).toBe(401);
  });

  it("sent twice in one request are not joined to a right one", async () => {
    const server = await start();
    const status = await new Promise((resolve, reject) => {
      const headers = { authorization: ["Bearer wrong", "Bearer search-key"] as unknown as string };
      const request = http.request(`${server.url}/x`, { headers }, (response) => {
        response.resume();
        resolve(response.statusCode);
      });
      request.on("error", reject);
      request.end();
    });
    expect(status).toBe(401);
  });
});

describe("AccessControl.admit()", () => {
  it("refuses by one error for all wrong keys, and by a RateLimitError for a rate", () => {
    const keys = [accessKey("a", ["a-key"], { rateLimit: { requestsPerMinute: 1, burst: 1 } })];
    const access = new AccessControl({ current: () => keys });
    expect(access.admit({ authorization: "Bearer 1" })).toBe(access.admit({ authorization: "Bearer 2" }));
    access.admit({ authorization: "Bearer a-key" });
    expect(access.admit({ authorization: "Bearer a-key" })).toMatchObject({
      refusal: expect.any(RateLimitError),
    });
  });
});
