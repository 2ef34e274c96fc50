/** Callers with tokens (JWT) on each API: a token that is not known yet is verified while its request waits. */
import { once } from "node:events";
import http2 from "node:http2";
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { createClient, type Transport } from "@connectrpc/connect";
import {
  createConnectTransport,
  createGrpcTransport,
  createGrpcWebTransport,
} from "@connectrpc/connect-node";
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { WebSocket } from "ws";
import { parseCallerPattern } from "../../../src/config/claims.ts";
import { InferenceService } from "../../../src/gen/outrigger/v1/inference_service_pb.ts";
import { AccessControl } from "../../../src/server/access/access-control.ts";
import { TokenVerifier } from "../../../src/server/access/token-verifier.ts";
import { startApi } from "../../endpoints/support/api-server.ts";
import {
  AUDIENCE,
  createKey,
  ISSUER,
  type KeyServer,
  nowSeconds,
  signToken,
  startKeyServer,
} from "../../support/issuer.ts";
import { END_STREAM, FRAME, FrameConnection } from "../support/raw-frames.ts";
import { frame, inferencePath, openStream } from "../support/raw-http2.ts";
import { oneByOne, textEvents, textResponse } from "../support/scripted-inference.ts";
import { useTestServers } from "../support/test-server.ts";

const servers = useTestServers();
const key = await createKey("k");
const log = { info() {}, warn() {} };

let keyServer: KeyServer;

beforeEach(async () => {
  keyServer = await startKeyServer(key);
});

afterEach(() => keyServer.close());

/** Access by the tokens of the issuer. Verified at each start anew. */
function createAccess(clockToleranceMs = 0): AccessControl {
  const caller = parseCallerPattern("{sub}") ?? { texts: [], claims: [] };
  const keys = { kind: "url", url: new URL(keyServer.url), tokenFile: undefined, tls: undefined } as const;
  const issuer = { issuer: ISSUER, audiences: [AUDIENCE], caller, rules: undefined, clockToleranceMs, keys };
  const tokens = new TokenVerifier([issuer], log);
  servers.onEnd(() => tokens.close());
  return new AccessControl({ current: () => [] }, { tokens });
}

const script = {
  complete: async (call: Parameters<typeof textResponse>[0]) => textResponse(call, "x"),
  stream: (call: Parameters<typeof textEvents>[0]) => oneByOne(textEvents(call, ["x"])),
};

const TRANSPORTS: readonly [string, (baseUrl: string, token: string) => Transport][] = [
  ["gRPC", (baseUrl, token) => createGrpcTransport({ baseUrl, interceptors: [withToken(token)] })],
  [
    "gRPC-Web over HTTP/1.1",
    (baseUrl, token) =>
      createGrpcWebTransport({ baseUrl, httpVersion: "1.1", interceptors: [withToken(token)] }),
  ],
  [
    "Connect over HTTP/2",
    (baseUrl, token) =>
      createConnectTransport({ baseUrl, httpVersion: "2", interceptors: [withToken(token)] }),
  ],
  [
    "Connect over HTTP/1.1",
    (baseUrl, token) =>
      createConnectTransport({ baseUrl, httpVersion: "1.1", interceptors: [withToken(token)] }),
  ],
];

function withToken(token: string): NonNullable<Parameters<typeof createGrpcTransport>[0]["interceptors"]>[0] {
  return (next) => (request) => {
    request.header.set("authorization", `Bearer ${token}`);
    return next(request);
  };
}

describe.each(TRANSPORTS)("a token over %s", (_name, toTransport) => {
  it("identifies its caller, at the first call and at later ones", async () => {
    const server = await servers.start(script, { access: createAccess() });
    const token = await signToken(key);
    for (let count = 0; count < 2; count += 1) {
      const client = createClient(InferenceService, toTransport(server.url, token));
      expect((await client.complete({ model: "m" })).model).toBe("m");
      for await (const _ of client.stream({ model: "m" }));
    }
    const callers = server.log
      .filter(({ rpc }) => String(rpc).includes("Inference"))
      .map(({ caller }) => caller);
    expect(callers).toEqual(Array.from({ length: 4 }, () => "alice"));
    expect(JSON.stringify(server.log)).not.toContain(token.slice(-20));
  });

  it("is refused with the reason", async () => {
    const server = await servers.start(script, { access: createAccess() });
    const token = await signToken(key, { claims: { exp: nowSeconds() - 1 } });
    const client = createClient(InferenceService, toTransport(server.url, token));
    await expect(client.complete({ model: "m" })).rejects.toThrow(
      /^\[unauthenticated\] the token expired at 20/,
    );
    await expect(client.stream({ model: "m" })[Symbol.asyncIterator]().next()).rejects.toThrow(
      /^\[unauthenticated\] the token expired at 20/,
    );
  });

  it("of an issuer whose keys cannot be read is refused as unavailable, so that the call is retried", async () => {
    keyServer.answer = (_, response) => void response.writeHead(500).end();
    const server = await servers.start(script, { access: createAccess() });
    const client = createClient(InferenceService, toTransport(server.url, await signToken(key)));
    await expect(client.complete({ model: "m" })).rejects.toThrow(
      /^\[unavailable\] the token cannot be verified/,
    );
  });
});

describe("a gRPC call whose empty body ends while its token is verified", () => {
  it.each(["InferenceService/Complete", "GenerationService/RunTools"])(
    "is answered by %s",
    async (method) => {
      const { answer } = keyServer;
      keyServer.answer = async (request, response) => {
        await sleep(100);
        answer(request, response);
      };
      const server = await servers.start(script, { access: createAccess() });
      const peer = new FrameConnection(server.url);
      servers.onEnd(() => peer.destroy());
      peer.call(1, `/outrigger.v1.${method}`, { authorization: `Bearer ${await signToken(key)}` });
      peer.send(FRAME.data, END_STREAM, 1, Buffer.alloc(0));
      const isAnswered = () =>
        peer.frames.some(({ type, flags }) => type === FRAME.headers && (flags & END_STREAM) !== 0);
      await expect.poll(isAnswered, { timeout: 2000 }).toBe(true);
    },
  );
});

describe("a refused token over the HTTP APIs", () => {
  it.each<[path: string, body: object, refusal: object]>([
    ["/v1/responses", { model: "sim-text", input: "x" }, { error: { type: "invalid_request_error" } }],
    [
      "/v1/chat/completions",
      { model: "sim-text", messages: [] },
      { error: { type: "invalid_request_error" } },
    ],
    [
      "/v1/messages",
      { model: "sim-text", messages: [] },
      { type: "error", error: { type: "authentication_error" } },
    ],
    [
      "/v1beta/models/sim-text:generateContent",
      { contents: [] },
      { error: { code: 401, status: "UNAUTHENTICATED" } },
    ],
  ])("has the form of %s, with the status 401", async (path, body, refusal) => {
    const { fetch } = await startApi(servers, { access: createAccess() });
    const token = await signToken(key, { claims: { aud: "billing" } });
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    const response = await fetch(path, { method: "POST", headers, body: JSON.stringify(body) });
    expect([response.status, response.headers.get("www-authenticate")]).toEqual([401, "Bearer"]);
    const text = await response.text();
    expect(JSON.parse(text)).toMatchObject(refusal);
    expect(text).toContain("the token is for another audience; expected a configured audience");
  });
});

describe("a token on a WebSocket", () => {
  const open = async (url: string, token: string) => {
    const headers = { authorization: `Bearer ${token}` };
    const socket = new WebSocket(`${url.replace(/^http/, "ws")}/v1/responses`, { headers });
    servers.onEnd(() => socket.terminate());
    socket.on("error", () => {});
    return socket;
  };

  const ask = (socket: WebSocket) =>
    new Promise((resolve) => {
      socket.on("message", (data) => {
        const { type, error } = JSON.parse(String(data));
        if (type === "response.completed" || type === "error") resolve(error?.message ?? type);
      });
      const request = { type: "response.create", model: "openai/sim-text", input: "Hi", store: false };
      socket.send(JSON.stringify(request));
    });

  it("is verified at the handshake, and refused for messages after its expiry; calls in progress continue", async () => {
    const { server } = await startApi(servers, { access: createAccess() });
    const socket = await open(server.url, await signToken(key, { claims: { exp: nowSeconds() + 3 } }));
    await once(socket, "open");
    expect(await ask(socket)).toBe("response.completed");
    await sleep(3100);
    expect(await ask(socket)).toBe("the token of the connection has expired");
    const late = await open(server.url, await signToken(key, { claims: { exp: nowSeconds() - 3 } }));
    const [, response] = await once(late, "unexpected-response");
    expect(response.statusCode).toBe(401);
    response.destroy();
  });
});

describe("a peer that leaves while its token is verified", () => {
  it.each(["gRPC", "HTTP/2", "HTTP/1.1", "WebSocket"])("over %s leaves nothing behind", async (protocol) => {
    const { answer } = keyServer;
    const asked = Promise.withResolvers<() => void>();
    const verify = vi.spyOn(TokenVerifier.prototype, "verify");
    onTestFinished(() => verify.mockRestore());
    keyServer.answer = (request, response) => asked.resolve(() => answer(request, response));
    const { server } = await startApi(servers, { access: createAccess() });
    await leave(protocol, server.url, await signToken(key), () =>
      expect.poll(() => verify).toHaveBeenCalled(),
    );
    await sleep(50);
    const calls = () => server.log.filter(({ code }) => code !== undefined);
    expect(calls()).toEqual([]);
    (await asked.promise)();
    await expect.poll(calls).toMatchObject([{ caller: "alice", code: "CANCELLED" }]);
  });

  async function leave(
    protocol: string,
    url: string,
    token: string,
    begun: () => Promise<void>,
  ): Promise<void> {
    const authorization = `Bearer ${token}`;
    const { hostname, port } = new URL(url);
    if (protocol === "gRPC" || protocol === "HTTP/2") {
      const session = http2.connect(url).on("error", () => {});
      const type = protocol === "gRPC" ? "application/grpc" : "application/proto";
      const stream = openStream(session, inferencePath("Complete"), { authorization, "content-type": type });
      stream.on("error", () => {}).write(frame(Buffer.from([10, 1, 109])));
      await begun();
      session.destroy();
      return;
    }
    const socket = connect(Number(port), hostname).on("error", () => {});
    const upgrade =
      "upgrade: websocket\r\nconnection: upgrade\r\nsec-websocket-version: 13\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n";
    socket.write(
      `GET /v1/responses HTTP/1.1\r\nhost: localhost\r\nauthorization: ${authorization}\r\n${protocol === "WebSocket" ? upgrade : ""}\r\n`,
    );
    await begun();
    socket.destroy();
  }
});
