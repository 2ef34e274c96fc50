import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { anyCaller } from "../../../src/core/caller.ts";
import { AccessDeniedError, RateLimitError, type SDKError } from "../../../src/core/errors.ts";
import type { MemoryShare } from "../../../src/core/memory-pool.ts";
import { RequestSchema } from "../../../src/gen/outrigger/v1/request_pb.ts";
import type { EndpointRequest, EndpointSocket, HttpApi, SocketMessage } from "../../../src/http/endpoint.ts";
import { AccessControl } from "../../../src/server/access/access-control.ts";
import { accessKey } from "../support/access-keys.ts";
import { type Script, textResponse } from "../support/scripted-inference.ts";
import { type TestServerOptions, useTestServers } from "../support/test-server.ts";

const servers = useTestServers();

type Serve = (socket: EndpointSocket, request: EndpointRequest) => Promise<void>;

/** Echoes each message. */
const echo: Serve = async (socket) => {
  for await (const message of socket.messages) {
    message.admit();
    await socket.send(`echo ${Buffer.from(message.content)}`);
    message.release();
  }
  socket.close(1000, "");
};

/** An API with one path that takes WebSockets, and one that does not. */
function createHttpApi(serve: Serve): HttpApi {
  const answer = (status: number, text: string) => ({
    status,
    headers: { "content-type": "text/plain" },
    body: Buffer.from(text),
  });
  const fail = (error: SDKError) => answer(error instanceof AccessDeniedError ? 403 : 400, error.message);
  const plain = { name: "GET /plain", serve: async () => answer(200, "plain"), fail };
  const socket = { name: "GET /socket", serve: async () => answer(405, "no socket"), connect: serve, fail };
  return { find: (path) => (path === "/socket" ? socket : path === "/plain" ? plain : undefined) };
}

function serverWith(serve: Serve, options: TestServerOptions = {}) {
  return servers.start({}, { ...options, apis: [createHttpApi(serve)] });
}

/** A client, closed at the end of the test. */
async function open(url: string, headers: Record<string, string> = {}, path = "/socket"): Promise<WebSocket> {
  const socket = dial(url, headers, path);
  await once(socket, "open");
  return socket;
}

function dial(url: string, headers: Record<string, string> = {}, path = "/socket"): WebSocket {
  const socket = new WebSocket(url.replace(/^http/, "ws") + path, { headers, perMessageDeflate: true });
  servers.onEnd(() => socket.terminate());
  socket.on("error", () => {});
  return socket;
}

async function nextText(socket: WebSocket): Promise<string> {
  const [data] = await once(socket, "message");
  return String(data);
}

async function closing(socket: WebSocket): Promise<{ code: number; reason: string }> {
  const [code, reason] = await once(socket, "close");
  return { code, reason: String(reason) };
}

/** The status and the body of a refused handshake. */
async function refusal(socket: WebSocket): Promise<{ status: number | undefined; text: string }> {
  const [, response] = await once(socket, "unexpected-response");
  let text = "";
  for await (const chunk of response) text += chunk;
  return { status: response.statusCode, text };
}

/** A server-side promise that settles when the signal of a request is aborted. */
function waitForAbort({ signal }: EndpointRequest): Promise<void> {
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}

describe("a WebSocket of an HTTP API", () => {
  it("carries messages in order, large ones too, and is one call in the log", async () => {
    const server = await serverWith(echo);
    const socket = await open(server.url);
    const large = "ä".repeat(1_000_000);
    const texts = ["one", "two", large];
    const received: string[] = [];
    socket.on("message", (data) => received.push(String(data)));
    for (const text of texts) socket.send(text);
    await expect.poll(() => received.length).toBe(3);
    expect(received.map((text, index) => text === `echo ${texts[index]}`)).toEqual([true, true, true]);
    socket.close(1000);
    expect(await closing(socket)).toEqual({ code: 1000, reason: "" });
    const lines = () => server.log.filter(({ rpc }) => rpc === "GET /socket");
    await expect.poll(lines).toHaveLength(1);
  });

  it("sends messages that are ready together in order, even in fragments", async () => {
    const texts = ["a".repeat(300_000), "b", "c".repeat(200_000)];
    const serve: Serve = async (socket) => {
      for await (const _ of socket.messages) await Promise.all(texts.map((text) => socket.send(text)));
    };
    const socket = await open((await serverWith(serve)).url);
    const received: string[] = [];
    socket.on("message", (data) => received.push(String(data)));
    socket.send("x");
    await expect.poll(() => received.length).toBe(texts.length);
    expect(received).toEqual(texts);
  });

  it("answers several messages at once, and closes after the last one when it drains", async () => {
    const ends = new Map<string, () => void>();
    const serve: Serve = async (socket) => {
      for await (const message of socket.messages) {
        const name = Buffer.from(message.content).toString();
        void new Promise<void>((resolve) => ends.set(name, resolve)).then(async () => {
          await socket.send(name);
          message.release();
        });
      }
    };
    const server = await serverWith(serve);
    const socket = await open(server.url);
    const closed = closing(socket);
    const received: string[] = [];
    socket.on("message", (data) => received.push(String(data)));
    for (const name of ["one", "two"]) socket.send(name);
    await expect.poll(() => ends.size).toBe(2);
    const drained = server.drain();
    ends.get("two")?.();
    await expect.poll(() => received).toEqual(["two"]);
    expect(socket.readyState).toBe(WebSocket.OPEN);
    ends.get("one")?.();
    expect(await closed).toEqual({ code: 1001, reason: "the sidecar is stopping" });
    expect(received).toEqual(["two", "one"]);
    await drained;
  });

  it("counts the answers to each message, until it is released", async () => {
    const shares: MemoryShare[] = [];
    const script: Script = {
      complete: async (call) => {
        await call.memory?.reserve(1000, call.signal);
        if (call.memory !== undefined) shares.push(call.memory);
        return textResponse(call, "a");
      },
    };
    const messages: SocketMessage[] = [];
    const serve: Serve = async (socket, { signal }) => {
      for await (const message of socket.messages) {
        await message.client.complete(create(RequestSchema, { model: "m" }), { signal });
        messages.push(message);
        await socket.send("answered");
      }
    };
    const server = await servers.start(script, { apis: [createHttpApi(serve)] });
    const socket = await open(server.url);
    for (const text of ["one", "two"]) {
      socket.send(text);
      await nextText(socket);
    }
    const counted = () => shares.map(({ bytes }) => bytes > 0);
    expect(counted()).toEqual([true, true]);
    messages[0]?.release();
    expect(counted()).toEqual([false, true]);
    messages[1]?.release();
    expect(counted()).toEqual([false, false]);
  });

  it("does not compress, even if the client offers it", async () => {
    const server = await serverWith(echo);
    const socket = await open(server.url);
    expect(socket.extensions).toBe("");
    socket.close();
    await closing(socket);
  });

  it("leaves other requests to upgrade to HTTP/1.1, on its path and elsewhere", async () => {
    const server = await serverWith(echo);
    const upgrade = { connection: "upgrade, http2-settings", upgrade: "h2c", "http2-settings": "AAMAAABk" };
    expect(await exchange(server.authority, "/plain", upgrade)).toMatch(/^HTTP\/1.1 200 [\s\S]*plain$/);
    expect(await exchange(server.authority, "/socket", upgrade)).toMatch(/^HTTP\/1.1 405 [\s\S]*no socket$/);
    const webSocket = { connection: "upgrade", upgrade: "websocket" };
    expect(await exchange(server.authority, "/plain", webSocket)).toMatch(/^HTTP\/1.1 200 /);
  });

  it("refuses a handshake without a key or with another version", async () => {
    const server = await serverWith(echo);
    const upgrade = { connection: "upgrade", upgrade: "websocket" };
    const expected =
      /^HTTP\/1.1 400 [\s\S]*Sec-WebSocket-Version: 13[\s\S]*this is not a WebSocket handshake/i;
    expect(await exchange(server.authority, "/socket", upgrade)).toMatch(expected);
    const old = { ...upgrade, "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==", "sec-websocket-version": "7" };
    expect(await exchange(server.authority, "/socket", old)).toMatch(expected);
  });

  it("refuses a page whose origin is not allowed, and a foreign name of the host", async () => {
    const server = await serverWith(echo, { cors: { allowedOrigins: ["https://app.example"] } });
    expect(await refusal(dial(server.url, { origin: "https://evil.example" }))).toEqual({
      status: 403,
      text: "the Origin of this request is not among cors.allowed_origins",
    });
    expect(await refusal(dial(server.url, { host: "evil.example" }))).toMatchObject({ status: 403 });
    const socket = await open(server.url, { origin: "https://app.example" });
    socket.send("hello");
    expect(await nextText(socket)).toBe("echo hello");
    socket.close();
    await closing(socket);
  });

  it.each([
    ["at once", (refusal?: RateLimitError) => refusal],
    ["with other sidecars", (refusal?: RateLimitError) => Promise.resolve(refusal)],
  ])(
    "asks for the caller before the handshake, and counts each message as a request, %s",
    async (_how, answer) => {
      let admitted = 0;
      const access = {
        admit: ({ authorization }: Record<string, string>) => {
          if (authorization !== "Bearer key")
            return { caller: anyCaller, refusal: new AccessDeniedError("no key") };
          admitted += 1;
          return { caller: anyCaller, refusal: admitted > 2 ? new RateLimitError("too many") : undefined };
        },
        admitAgain: () => {
          admitted += 1;
          return answer(admitted > 2 ? new RateLimitError("too many") : undefined);
        },
        callerNamed: () => anyCaller,
      } as unknown as AccessControl;
      const serve: Serve = async (socket) => {
        for await (const message of socket.messages) {
          try {
            await message.admit();
            await socket.send("ok");
          } catch (error) {
            await socket.send(String(error));
          }
          message.release();
        }
      };
      const server = await serverWith(serve, { access });
      expect(await refusal(dial(server.url))).toEqual({ status: 403, text: "no key" });
      const socket = await open(server.url, { authorization: "Bearer key" });
      const answers = [];
      for (const text of ["1", "2", "3"]) {
        socket.send(text);
        answers.push(await nextText(socket));
      }
      expect(answers).toEqual(["ok", "ok", "RateLimitError: too many"]);
      socket.close();
      await closing(socket);
    },
  );

  it("closes on messages that are not text, too large or too many", async () => {
    const blocked: Serve = async (socket, request) => {
      for await (const _ of socket.messages) await waitForAbort(request);
    };
    const server = await serverWith(blocked, { limits: { maxMessageBytes: 1000 } });
    const binary = await open(server.url);
    binary.send(Buffer.from("x"));
    expect(await closing(binary)).toEqual({ code: 1003, reason: "expected a text message, found binary" });
    const large = await open(server.url);
    large.send("x".repeat(1001));
    expect((await closing(large)).code).toBe(1009);
    const hasty = await open(server.url);
    for (let count = 0; count < 50; count += 1) hasty.send("x");
    expect(await closing(hasty)).toEqual({ code: 1008, reason: "more than 32 unanswered messages" });
  });

  it("refuses a message with too many JSON values before it is parsed", async () => {
    const serve: Serve = async (socket) => {
      for await (const message of socket.messages) {
        try {
          message.admit();
        } catch (error) {
          await socket.send(String(error));
        }
      }
    };
    const server = await serverWith(serve, { limits: { maxMessageElements: 100 } });
    const socket = await open(server.url);
    socket.send(JSON.stringify(Array.from({ length: 200 }, () => 0)));
    expect(await nextText(socket)).toMatch(/100/);
    socket.close();
    await closing(socket);
  });

  it("closes if there is no memory for a message, and releases memory with each answer", async () => {
    const server = await serverWith(echo, { limits: { maxRequestMemoryBytes: 1_000_000 } });
    const socket = await open(server.url);
    for (let count = 0; count < 5; count += 1) {
      socket.send("x".repeat(700_000));
      await nextText(socket);
    }
    socket.send("x".repeat(2_000_000));
    expect(await closing(socket)).toEqual({ code: 1013, reason: "not enough memory for the message" });
  });

  it("aborts the signal when the client disconnects, even while its messages are not read", async () => {
    const { promise: aborted, resolve } = Promise.withResolvers<void>();
    const serve: Serve = async (socket, request) => {
      for await (const _ of socket.messages) {
        await socket.send("began");
        await waitForAbort(request);
        resolve();
        await expect(socket.send("late")).rejects.toThrow();
      }
    };
    const server = await serverWith(serve);
    const socket = await open(server.url);
    socket.send("x");
    expect(await nextText(socket)).toBe("began");
    socket.terminate();
    await aborted;
  });

  it("aborts the signal if an answer can no longer be sent, although the connection is still open", async () => {
    const { promise: aborted, resolve } = Promise.withResolvers<boolean>();
    const serve: Serve = async (socket, { signal }) => {
      for await (const _ of socket.messages) {
        socket.close(1008, "enough");
        await expect(socket.send("late")).rejects.toThrow();
        resolve(signal.aborted);
      }
    };
    const socket = await open((await serverWith(serve)).url);
    socket.send("x");
    expect(await aborted).toBe(true);
  });

  it("waits for a client that does not read", async () => {
    let sent = 0;
    const serve: Serve = async (socket) => {
      for await (const _ of socket.messages) {
        for (; sent < 10_000; sent += 1) await socket.send("x".repeat(100_000));
      }
    };
    const server = await serverWith(serve);
    const socket = await open(server.url);
    socket.send("x");
    await nextText(socket);
    socket.pause();
    let before = -1;
    await expect
      .poll(
        () => {
          const stands = sent === before;
          before = sent;
          return stands;
        },
        { interval: 200 },
      )
      .toBe(true);
    expect(sent).toBeLessThan(1000);
    socket.terminate();
  });

  it("reserves connections for other access keys, regardless of how many sockets one key opens", async () => {
    const keys = [accessKey("greedy", ["greedy-key"]), accessKey("modest", ["modest-key"])];
    const access = new AccessControl({ current: () => keys });
    const server = await serverWith(echo, { access, limits: { maxConnections: 4 } });
    const greedy = { authorization: "Bearer greedy-key" };
    for (let count = 0; count < 3; count += 1) {
      const socket = await open(server.url, greedy);
      socket.send("1");
      expect(await nextText(socket)).toBe("echo 1");
    }
    const refused = await open(server.url, greedy);
    expect(await closing(refused)).toEqual({
      code: 1013,
      reason: "too many sockets of this caller are open",
    });
    const modest = await open(server.url, { authorization: "Bearer modest-key" });
    modest.send("1");
    expect(await nextText(modest)).toBe("echo 1");
  });

  it("discards further data of a caller when there is no memory for its message", async () => {
    const server = await serverWith(echo, { limits: { maxRequestMemoryBytes: 1_000_000 } });
    const socket = await open(server.url);
    const closed = closing(socket);
    const part = "x".repeat(500_000);
    for (let count = 0; count < 20; count += 1) socket.send(part, { fin: false });
    expect(await closed).toMatchObject({ code: 1013 });
  });

  it("closes when the server drains, after the answer in progress and without beginning another", async () => {
    const { promise: goOn, resolve } = Promise.withResolvers<void>();
    const answered: string[] = [];
    const serve: Serve = async (socket) => {
      for await (const message of socket.messages) {
        await socket.send("began");
        await goOn;
        answered.push(Buffer.from(message.content).toString());
        await socket.send("ended");
        message.release();
      }
      socket.close(1000, "");
    };
    const server = await serverWith(serve);
    const idle = await open(server.url);
    const busy = await open(server.url);
    busy.send("one");
    expect(await nextText(busy)).toBe("began");
    busy.send("two");
    const idleClosed = closing(idle);
    const drained = server.drain();
    expect(await idleClosed).toEqual({ code: 1001, reason: "the sidecar is stopping" });
    const [last, closed] = [nextText(busy), closing(busy)];
    resolve();
    expect(await last).toBe("ended");
    expect(await closed).toEqual({ code: 1001, reason: "the sidecar is stopping" });
    expect(answered).toEqual(["one"]);
    await drained;
  });

  it("is cut off when the drain runs out, after its signal said why and the endpoint has answered", async () => {
    const serve: Serve = async (socket, request) => {
      for await (const message of socket.messages) {
        await socket.send("began");
        await waitForAbort(request);
        await socket.send(String(request.signal.reason));
        message.release();
      }
    };
    const server = await serverWith(serve, { drainTimeoutMs: 50 });
    const socket = await open(server.url);
    socket.send("x");
    await nextText(socket);
    const [last, closed] = [nextText(socket), closing(socket)];
    await server.drain();
    expect(await last).toContain("the sidecar is stopping");
    expect((await closed).code).toBe(1012);
  });

  it("is closed when it is idle for too long, and when its peer does not answer pings", async () => {
    const limits = { keepaliveIntervalMs: 50, maxConnectionIdleMs: 200 };
    const server = await serverWith(echo, { limits });
    const idle = await open(server.url);
    expect(await closing(idle)).toEqual({ code: 1001, reason: "the connection was idle" });
    const silent = new WebSocket(`${server.url.replace(/^http/, "ws")}/socket`, { autoPong: false });
    servers.onEnd(() => silent.terminate());
    await once(silent, "open");
    expect((await closing(silent)).code).toBe(1006);
  });

  it("is closed with an error if the API fails, and the server continues", async () => {
    const serve: Serve = async () => {
      throw new TypeError("a bug of the test");
    };
    const server = await serverWith(serve);
    const socket = await open(server.url);
    expect(await closing(socket)).toEqual({ code: 1011, reason: "internal error" });
    expect(JSON.stringify(server.log)).not.toContain("a bug of the test");
  });

  it("counts as one of the connections and calls that a listener takes", async () => {
    const server = await serverWith(echo, { limits: { maxCalls: 1 } });
    const first = await open(server.url);
    const second = await open(server.url);
    expect(await closing(second)).toEqual({ code: 1013, reason: "too many calls are in progress" });
    first.close();
    await closing(first);
  });
});

/** The whole answer to a request over a connection that it closes. */
async function exchange(authority: string, path: string, headers: Record<string, string>): Promise<string> {
  const [host, port] = authority.split(":");
  const socket: Socket = connect(Number(port), host);
  servers.onEnd(() => void socket.destroy());
  const lines = Object.entries({ host: authority, ...headers }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  );
  const closesItself = headers.upgrade === "websocket" && path === "/socket";
  const closeHeader = closesItself ? "" : "x-none: 1\r\n";
  socket.write(`GET ${path} HTTP/1.1\r\n${lines.join("")}${closeHeader}\r\n`);
  let text = "";
  for await (const chunk of socket) {
    text += chunk;
    const [head = "", body = ""] = text.split("\r\n\r\n");
    const length = /content-length: (\d+)/i.exec(head)?.[1];
    if (length !== undefined && Buffer.byteLength(body) >= Number(length)) break;
  }
  return text;
}
