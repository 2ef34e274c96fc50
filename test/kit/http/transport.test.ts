import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { text } from "node:stream/consumers";
import { TLSSocket } from "node:tls";
import { describe, expect, it } from "vitest";
import { ConfigurationError, NetworkError, StreamError } from "../../../src/core/errors.ts";
import { createHttpTransport } from "../../../src/kit/http/transport.ts";
import { certificate } from "./certificate.ts";
import { getError, openTransport, pause, serveHttp, serveTcp, waitUntil } from "./servers.ts";

async function collect(body: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

describe("post()", () => {
  it("sends path, headers and body, and gives status, headers and body of the answer", async () => {
    let seen: { request: IncomingMessage; body: string } | undefined;
    const { port } = await serveHttp(async (request, response) => {
      seen = { request, body: await text(request) };
      response.writeHead(201, { "X-Request-Id": "req_1", "X-Twice": ["a", "b"] }).end("hälló");
    });
    const transport = openTransport({ baseUrl: `http://127.0.0.1:${port}/v1/` });
    const answer = await transport.post("/responses?x=1", {
      headers: { authorization: "Bearer key", "Content-Type": "application/json" },
      body: '{"text":"ü"}',
    });
    expect(answer.status).toBe(201);
    expect(answer.headers.get("x-request-ID")).toBe("req_1");
    expect(answer.headers.get("x-twice")).toBe("a, b");
    expect(answer.headers.get("absent")).toBeUndefined();
    expect(Object.fromEntries(answer.headers)).toMatchObject({ "x-request-id": "req_1" });
    expect(await collect(answer.body)).toBe("hälló");
    expect(seen?.body).toBe('{"text":"ü"}');
    expect(seen?.request).toMatchObject({ method: "POST", url: "/v1/responses?x=1", httpVersion: "1.1" });
    expect(seen?.request.headers).toMatchObject({
      authorization: "Bearer key",
      "content-type": "application/json",
      "content-length": "13",
      "user-agent": "outrigger",
      "accept-encoding": "identity",
      connection: "keep-alive",
    });
  });

  it("sends bytes as they are and lets a header of the request replace a default", async () => {
    const bodies: Buffer[] = [];
    const agents: unknown[] = [];
    const { port } = await serveHttp(async (request, response) => {
      agents.push(request.headers["user-agent"]);
      for await (const chunk of request) bodies.push(chunk);
      response.end();
    });
    const backing = Uint8Array.from([9, 9, 0, 255, 128, 9]);
    const transport = openTransport({ port, userAgent: "mine/1" });
    await transport.post("a", { headers: {}, body: backing.subarray(2, 5) });
    await transport.post("a", { headers: { "User-Agent": "theirs/2" }, body: "" });
    expect(Buffer.concat(bodies)).toEqual(Buffer.from([0, 255, 128]));
    expect(agents).toEqual(["mine/1", "theirs/2"]);
  });

  it("takes a redirect and an error status for answers like any other", async () => {
    let calls = 0;
    const { port } = await serveHttp((request, response) => {
      calls += 1;
      request.resume();
      response.writeHead(Number(request.url?.slice(1)), { location: "/elsewhere" }).end("said");
    });
    const transport = openTransport({ port });
    for (const status of [302, 307, 404, 503]) {
      const answer = await transport.post(`${status}`, { headers: {}, body: "x" });
      expect([answer.status, await answer.text(100)]).toEqual([status, "said"]);
    }
    expect(calls).toBe(4);
  });

  it("skips informational answers", async () => {
    const { port } = await serveTcp((socket) => {
      socket.once("data", () => {
        socket.write("HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n");
        socket.write("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok");
      });
    });
    const answer = await openTransport({ port }).post("a", { headers: {}, body: "x" });
    expect([answer.status, await answer.text(10)]).toEqual([200, "ok"]);
  });

  it("uses a connection again once its answer was read", async () => {
    const { port, sockets } = await serveHttp((request, response) => {
      request.resume();
      response.end("ok");
    });
    const transport = openTransport({ port });
    for (let call = 0; call < 5; call += 1) {
      const answer = await transport.post("a", { headers: {}, body: "x" });
      await answer.text(10);
      await new Promise(setImmediate);
    }
    expect(sockets).toHaveLength(1);
  });

  it("opens no more connections than allowed, and none for requests at once on one", async () => {
    let open = 0;
    let most = 0;
    const { port, sockets } = await serveHttp((request, response) => {
      request.resume();
      most = Math.max(most, ++open);
      setTimeout(() => {
        open -= 1;
        response.end("ok");
      }, 10);
    });
    const transport = openTransport({ port, maxConnections: 2 });
    const calls = Array.from({ length: 6 }, async () => {
      const answer = await transport.post("a", { headers: {}, body: "x" });
      return answer.text(10);
    });
    expect(await Promise.all(calls)).toEqual(["ok", "ok", "ok", "ok", "ok", "ok"]);
    expect([most, sockets.length]).toEqual([2, 2]);
  });
});

describe("get()", () => {
  it("sends no body", async () => {
    const { port } = await serveHttp(async (request, response) => {
      response.end(`${request.method} ${request.headers["content-length"]} ${await text(request)}`);
    });
    const answer = await openTransport({ port }).get("a", { headers: {} });
    expect(await answer.text(100)).toBe("GET undefined ");
  });
});

describe("the body", () => {
  it("arrives whole however the bytes are cut", async () => {
    const payload = Buffer.from("data: a😀é\n\n".repeat(300));
    const { port } = await serveTcp((socket) => {
      socket.setNoDelay(true);
      socket.once("data", async () => {
        socket.write("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n");
        for (let at = 0, size = 1; at < payload.length; at += size, size = (size * 7) % 97) {
          const part = payload.subarray(at, at + size);
          const wire = Buffer.concat([
            Buffer.from(`${part.length.toString(16)}\r\n`),
            part,
            Buffer.from("\r\n"),
          ]);
          const cut = Math.floor(wire.length / 2);
          socket.write(wire.subarray(0, cut));
          await new Promise(setImmediate);
          socket.write(wire.subarray(cut));
        }
        socket.write("0\r\n\r\n");
      });
    });
    const answer = await openTransport({ port }).post("a", { headers: {}, body: "x" });
    expect(await collect(answer.body)).toBe(payload.toString());
  });

  it("joins the data of one read of the socket", async () => {
    const { port } = await serveTcp((socket) => {
      socket.once("data", () => {
        const chunks = Array.from({ length: 50 }, () => "4\r\nabcd\r\n").join("");
        socket.write(`HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${chunks}0\r\n\r\n`);
      });
    });
    const answer = await openTransport({ port }).post("a", { headers: {}, body: "x" });
    const chunks: string[] = [];
    for await (const chunk of answer.body) chunks.push(Buffer.from(chunk).toString());
    expect(chunks).toEqual(["abcd".repeat(50)]);
  });

  it("yields the data that had arrived, then throws NetworkError, if the connection is cut", async () => {
    const { port } = await serveTcp((socket) => {
      socket.once("data", () => {
        socket.write("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nabcd\r\n");
        setTimeout(() => socket.destroy(), 20);
      });
    });
    const answer = await openTransport({ port }).post("a", { headers: {}, body: "x" });
    const chunks: string[] = [];
    const reading = (async () => {
      for await (const chunk of answer.body) chunks.push(Buffer.from(chunk).toString());
    })();
    const error = await getError(reading);
    expect(chunks).toEqual(["abcd"]);
    expect(error).toBeInstanceOf(NetworkError);
    expect(error.message).toBe(
      `the connection to 127.0.0.1:${port} was lost in the middle of the answer (closed by the other side)`,
    );
  });

  it("gives bytes that were not read when the connection was cut, then NetworkError", async () => {
    const { port, sockets } = await serveTcp((socket) => {
      socket.once("data", () => {
        socket.write("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nabcd\r\n");
        socket.end();
      });
    });
    const answer = await openTransport({ port }).post("a", { headers: {}, body: "x" });
    await waitUntil(() => sockets.every((socket) => socket.destroyed));
    await new Promise(setImmediate);
    const reader = answer.body[Symbol.asyncIterator]();
    expect(Buffer.from((await reader.next()).value ?? []).toString()).toBe("abcd");
    expect(await getError(Promise.resolve(reader.next()))).toBeInstanceOf(NetworkError);
  });

  it.each([
    ["shorter than its content-length", "content-length: 10\r\n\r\nabcd"],
    [
      "cut inside a chunk with connection: close",
      "connection: close\r\ntransfer-encoding: chunked\r\n\r\n8\r\nabcd",
    ],
  ])("is not taken for whole when it is %s", async (_name, rest) => {
    const { port } = await serveTcp((socket) => {
      socket.once("data", () => socket.end(`HTTP/1.1 200 OK\r\n${rest}`));
    });
    const answer = await openTransport({ port }).post("a", { headers: {}, body: "x" });
    const error = await getError(collect(answer.body));
    expect(error).toBeInstanceOf(NetworkError);
    expect(error.message).toContain("lost in the middle of the answer (closed by the other side)");
  });

  it("refuses a second reader at the same time", async () => {
    const { port } = await serveHttp((request, response) => {
      request.resume();
      response.write("a");
    });
    const answer = await openTransport({ port }).post("a", { headers: {}, body: "x" });
    const [first, second] = [answer.body, answer.body].map((body) => body[Symbol.asyncIterator]());
    expect(Buffer.from((await first?.next())?.value ?? [])).toEqual(Buffer.from("a"));
    const waiting = getError(Promise.resolve(first?.next()));
    await expect(second?.next()).rejects.toThrow("read twice");
    answer.destroy();
    await waiting;
  });
});

describe("text()", () => {
  it("reads UTF-8 without a byte order mark", async () => {
    const { port } = await serveHttp((request, response) => {
      request.resume();
      response.end('\uFEFF{"a":"é😀"}');
    });
    const answer = await openTransport({ port }).post("a", { headers: {}, body: "x" });
    expect(await answer.text(100)).toBe('{"a":"é😀"}');
  });

  /** Serves a body of the number of bytes in the path. Its second half, from the middle of a character, can wait. */
  async function serveHalves(isAnnounced: boolean, secondHalf: Promise<void>) {
    const { port } = await serveHttp(async (request, response) => {
      request.resume();
      const body = toBody(Number(request.url?.slice(1)));
      response.writeHead(200, isAnnounced ? { "content-length": body.length } : {});
      response.write(body.subarray(0, 500));
      await secondHalf;
      response.end(body.subarray(500));
    });
    return openTransport({ port });
  }

  function toBody(bytes: number): Buffer {
    return Buffer.from(`a${"é".repeat((bytes - 1) / 2)}`);
  }

  it.each([
    ["announced and there before they are read", true, false],
    ["announced and come in pieces", true, true],
    ["not announced and there before they are read", false, false],
    ["not announced and come in pieces", false, true],
  ])("refuses bytes over the limit that are %s, and takes exactly the limit", async (_name, ...parts) => {
    const [isAnnounced, isCut] = parts;
    const read = async (bytes: number) => {
      const rest = Promise.withResolvers<void>();
      const transport = await serveHalves(isAnnounced, rest.promise);
      const answer = await transport.post(String(bytes), { headers: {}, body: "x" });
      if (!isCut) rest.resolve();
      await pause(20);
      const reading = answer.text(1001);
      reading.catch(() => {});
      await pause(20);
      rest.resolve();
      return reading;
    };
    expect(await read(1001)).toBe(toBody(1001).toString());
    const error = await getError(read(1003));
    expect(error).toBeInstanceOf(StreamError);
    expect(error).toMatchObject({
      retryable: false,
      message: expect.stringMatching(
        /^the answer of 127\.0\.0\.1:\d+ is larger than 1001 bytes, the limit max_answer_bytes$/,
      ),
    });
  });

  it.each([
    ["there before they are read", false],
    ["come in pieces", true],
  ])("waits for memory for bytes that are %s", async (_name, isCut) => {
    const [rest, room] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const transport = await serveHalves(false, rest.promise);
    const answer = await transport.post("1001", { headers: {}, body: "x" });
    if (!isCut) rest.resolve();
    await pause(20);
    let held = 0;
    const grow = (bytes: number) => {
      held = bytes;
      return room.promise;
    };
    let isRead = false;
    const reading = answer.text(2000, { grow }).finally(() => {
      isRead = true;
    });
    rest.resolve();
    await pause(20);
    expect(isRead).toBe(false);
    room.resolve();
    expect(await reading).toBe(toBody(1001).toString());
    expect(held).toBe(1001);
  });

  it("refuses by the announced length, without waiting for the bytes", async () => {
    const { port, sockets } = await serveHttp((request, response) => {
      request.resume();
      response.writeHead(200, { "content-length": 1_000_000_000 }).write("a");
    });
    const answer = await openTransport({ port }).post("a", { headers: {}, body: "x" });
    await expect(answer.text(1000)).rejects.toThrow("larger than 1000 bytes");
    await waitUntil(() => sockets.every((socket) => socket.destroyed));
  });

  it("stops reading if an endless body passes the limit", async () => {
    let sent = 0;
    const { port, sockets } = await serveHttp((request, response) => {
      request.resume();
      const chunk = Buffer.alloc(64 * 1024);
      const write = () => {
        sent += chunk.length;
        if (response.destroyed) return;
        if (response.write(chunk)) setImmediate(write);
        else response.once("drain", write);
      };
      write();
    });
    const answer = await openTransport({ port }).post("a", { headers: {}, body: "x" });
    await expect(answer.text(100_000)).rejects.toThrow("larger than 100000 bytes");
    await waitUntil(() => sockets.every((socket) => socket.destroyed));
    expect(sent).toBeLessThan(32 * 1024 * 1024);
  });
});

describe("what is refused", () => {
  it("an answer with a larger head than the limit", async () => {
    const { port } = await serveTcp((socket) => {
      socket.once("data", () => socket.write(`HTTP/1.1 200 OK\r\nx-big: ${"a".repeat(70_000)}\r\n\r\n`));
    });
    const error = await getError(openTransport({ port }).post("a", { headers: {}, body: "x" }));
    expect(error).toBeInstanceOf(NetworkError);
    expect(error.message).toContain("over 65536 bytes");
  });

  it.each([
    ["two lengths", "200 X\r\ncontent-length: 1\r\ncontent-length: 2"],
    ["a length and chunks", "200 X\r\ncontent-length: 1\r\ntransfer-encoding: chunked"],
    ["another protocol", "101 X\r\nconnection: upgrade\r\nupgrade: websocket"],
  ])("an answer with %s, without blaming the connection", async (_name, head) => {
    const { port } = await serveTcp((socket) => {
      socket.once("data", () => socket.write(`HTTP/1.1 ${head}\r\n\r\n`));
    });
    const error = await getError(openTransport({ port }).post("a", { headers: {}, body: "x" }));
    expect(error).toBeInstanceOf(NetworkError);
    expect(error.message).toBe(`the answer of 127.0.0.1:${port} breaks HTTP/1.1`);
  });

  it("an answer that is not HTTP, without showing it", async () => {
    const { port } = await serveTcp((socket) => {
      socket.once("data", () => socket.write("secret words of an answer\r\n\r\n"));
    });
    const error = await getError(openTransport({ port }).post("a", { headers: {}, body: "x" }));
    expect(error).toBeInstanceOf(NetworkError);
    expect(error.message).toBe(`the answer of 127.0.0.1:${port} breaks HTTP/1.1`);
    expect(JSON.stringify(error, Object.getOwnPropertyNames(error))).not.toContain("secret");
  });

  it("an answer in an encoding that cannot be read", async () => {
    const { port, sockets } = await serveHttp((request, response) => {
      request.resume();
      response.writeHead(200, { "content-encoding": "zstd" }).write("x");
    });
    const error = await getError(openTransport({ port }).post("a", { headers: {}, body: "x" }));
    expect(error).toBeInstanceOf(NetworkError);
    expect(error.message).toContain("content encoding zstd");
    await waitUntil(() => sockets.every((socket) => socket.destroyed));
  });

  it("a header that cannot be sent, without its value", async () => {
    const { port } = await serveHttp((_request, response) => response.end());
    const transport = openTransport({ port });
    const error = await getError(
      transport.post("a", { headers: { authorization: "Bearer sk-1\n" }, body: "x" }),
    );
    expect(error).toBeInstanceOf(ConfigurationError);
    expect(error.message).toContain("invalid authorization header");
    expect(`${error.stack}${error.cause}`).not.toContain("sk-1");
  });

  it.each([
    [{ timeouts: { requestMs: -1 } }, "requestMs is -1"],
    [{ timeouts: { connectMs: Number.NaN } }, "connectMs is NaN"],
    [{ maxConnections: 0 }, "maxConnections is 0"],
    [{ keepAliveMs: 0 }, "keepAliveMs is 0"],
    [{ baseUrl: "nowhere" }, "base URL"],
    [{ environment: { HTTPS_PROXY: "http//user:secret@proxy" } }, "HTTPS_PROXY is not a proxy URL"],
  ])("options like %j", (options, want) => {
    const make = () => createHttpTransport({ baseUrl: "http://127.0.0.1", environment: {}, ...options });
    expect(make).toThrow(ConfigurationError);
    expect(make).toThrow(want);
    expect(make).not.toThrow("secret");
  });
});

describe("a lost connection", () => {
  it("names host, port and reason if nothing listens", async () => {
    const server = await serveTcp((socket) => socket.destroy());
    const closed = await new Promise<number>((resolve) => {
      import("node:net").then(({ createServer }) => {
        const probe = createServer().listen(0, "127.0.0.1", () => {
          const { port } = probe.address() as { port: number };
          probe.close(() => resolve(port));
        });
      });
    });
    expect(closed).not.toBe(server.port);
    const transport = openTransport({ baseUrl: `http://127.0.0.1:${closed}/v1?key=secret` });
    const error = await getError(
      transport.post("a?token=secret", { headers: { authorization: "secret" }, body: "x" }),
    );
    expect(error).toBeInstanceOf(NetworkError);
    expect(error).toMatchObject({
      retryable: true,
      message: `cannot connect to 127.0.0.1:${closed} (ECONNREFUSED)`,
    });
    expect(`${error.stack}${error.cause}`).not.toContain("secret");
  });

  it("before the head is NetworkError, and the request is not sent again", async () => {
    let requests = 0;
    const { port } = await serveTcp((socket) => {
      socket.once("data", () => {
        requests += 1;
        socket.destroy();
      });
    });
    const error = await getError(openTransport({ port }).post("a", { headers: {}, body: "x" }));
    expect(error).toBeInstanceOf(NetworkError);
    expect(error.message).toMatch(/was lost before the answer \((closed by the other side|ECONNRESET)\)/);
    expect(requests).toBe(1);
  });

  it("of a connection that was used before is NetworkError, and the request is not sent again", async () => {
    let requests = 0;
    const { port, sockets } = await serveTcp((socket) => {
      socket.on("data", () => {
        requests += 1;
        if (requests === 1) socket.write("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok");
        else socket.resetAndDestroy();
      });
    });
    const transport = openTransport({ port });
    const answer = await transport.post("a", { headers: {}, body: "first" });
    await answer.text(10);
    await new Promise(setImmediate);
    const error = await getError(transport.post("a", { headers: {}, body: "second" }));
    expect(error).toBeInstanceOf(NetworkError);
    expect(error.message).toContain("was lost before the answer (ECONNRESET)");
    expect([requests, sockets.length]).toEqual([2, 1]);
  });

  it("in a TLS handshake names the reason", async () => {
    const { port } = await serveTcp((socket) => socket.end("this is no TLS"));
    const transport = openTransport({ baseUrl: `https://127.0.0.1:${port}` });
    const error = await getError(transport.post("a", { headers: {}, body: "x" }));
    expect(error).toBeInstanceOf(NetworkError);
    expect(error.message).toMatch(/^cannot connect to 127\.0\.0\.1:\d+ \([A-Z_]+\)$/);
  });

  it("by a failure of TLS after the handshake names the reason", async () => {
    const { port } = await serveTcp((socket) => {
      const secured = new TLSSocket(socket, { isServer: true, ...certificate });
      secured.on("error", () => {}).once("data", () => socket.end("this is no TLS"));
    });
    const transport = openTransport({
      baseUrl: `https://localhost:${port}`,
      tls: () => ({ ca: certificate.cert }),
    });
    const error = await getError(transport.post("a", { headers: {}, body: "x" }));
    expect(error).toBeInstanceOf(NetworkError);
    expect(error.message).toMatch(/was lost before the answer \(ERR_SSL_[A-Z_]+\)$/);
  });

  it("while idle costs nothing: the next request opens a new one", async () => {
    const { port, sockets } = await serveHttp((request, response) => {
      request.resume();
      response.end("ok");
    });
    const transport = openTransport({ port });
    const first = await transport.post("a", { headers: {}, body: "x" });
    await first.text(10);
    sockets[0]?.destroy();
    if (sockets[0] !== undefined && !sockets[0].closed) await once(sockets[0], "close");
    await new Promise(setImmediate);
    const second = await transport.post("a", { headers: {}, body: "x" });
    expect(await second.text(10)).toBe("ok");
    expect(sockets).toHaveLength(2);
  });
});
