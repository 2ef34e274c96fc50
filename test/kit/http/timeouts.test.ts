import { describe, expect, it } from "vitest";
import { ConfigurationError, NetworkError, RequestTimeoutError } from "../../../src/core/errors.ts";
import { DEFAULT_HTTP_TIMEOUTS, mergeTimeouts } from "../../../src/kit/http/timeouts.ts";
import { getError, hangingPort, openTransport, pause, serveHttp, serveTcp, waitUntil } from "./servers.ts";

const request = { headers: {}, body: "x" };

describe("the connect limit", () => {
  it("ends an attempt that gets no answer", async () => {
    const port = await hangingPort();
    const error = await getError(openTransport({ port, timeouts: { connectMs: 50 } }).post("a", request));
    expect(error).toBeInstanceOf(NetworkError);
    expect(error).toMatchObject({
      message: `no connection to 127.0.0.1:${port} within 0.05 seconds`,
      retryable: true,
    });
  });

  it("covers the TLS handshake, may be set by the request, and closes the socket", async () => {
    const { port, sockets } = await serveTcp((socket) => void socket.resume());
    const transport = openTransport({ baseUrl: `https://127.0.0.1:${port}` });
    const error = await getError(transport.post("a", { ...request, timeouts: { connectMs: 40 } }));
    expect(error.message).toBe(`no connection to 127.0.0.1:${port} within 0.04 seconds`);
    await waitUntil(() => sockets.every((socket) => socket.destroyed));
  });

  it("does not count once there is a connection", async () => {
    const { port } = await serveHttp((incoming, response) => {
      incoming.resume();
      setTimeout(() => response.end("ok"), 1800);
    });
    const answer = await openTransport({ port, timeouts: { connectMs: 1500 } }).post("a", request);
    expect(await answer.text(10)).toBe("ok");
  });
});

describe("the request limit", () => {
  it("ends an exchange whose head does not come, although the limit between bytes is shorter", async () => {
    const { port, sockets } = await serveHttp((incoming) => void incoming.resume());
    const transport = openTransport({ port, timeouts: { requestMs: 200, betweenBytesMs: 20 } });
    const error = await getError(transport.post("a", request));
    expect(error).toBeInstanceOf(RequestTimeoutError);
    expect(error.message).toBe(
      `no complete answer from 127.0.0.1:${port} within 0.2 seconds, the limit of a request`,
    );
    await waitUntil(() => sockets.every((socket) => socket.destroyed));
  });

  it("ends a body that keeps coming, after what has arrived", async () => {
    const { port, sockets } = await serveHttp((incoming, response) => {
      incoming.resume();
      const timer = setInterval(() => response.write("x"), 10);
      response.on("close", () => clearInterval(timer));
    });
    const answer = await openTransport({ port }).post("a", { ...request, timeouts: { requestMs: 1500 } });
    let bytes = 0;
    const reading = (async () => {
      for await (const chunk of answer.body) bytes += chunk.byteLength;
    })();
    expect(await getError(reading)).toBeInstanceOf(RequestTimeoutError);
    expect(bytes).toBeGreaterThan(0);
    await waitUntil(() => sockets.every((socket) => socket.destroyed));
  });

  it("counts the wait for a free connection", async () => {
    const { port } = await serveHttp((incoming) => void incoming.resume());
    const transport = openTransport({ port, maxConnections: 1 });
    const holder = getError(transport.post("a", request));
    const error = await getError(transport.post("b", { ...request, timeouts: { requestMs: 50 } }));
    expect(error).toBeInstanceOf(RequestTimeoutError);
    await transport.close();
    await holder;
  });
});

describe("the limit between bytes", () => {
  it("ends a body that falls silent", async () => {
    const { port, sockets } = await serveHttp((incoming, response) => {
      incoming.resume();
      response.write("first");
    });
    const answer = await openTransport({ port, timeouts: { betweenBytesMs: 500 } }).post("a", request);
    const reader = answer.body[Symbol.asyncIterator]();
    expect((await reader.next()).done).toBe(false);
    const error = await getError(Promise.resolve(reader.next()));
    expect(error).toBeInstanceOf(RequestTimeoutError);
    expect(error.message).toBe(`127.0.0.1:${port} sent nothing for 0.5 seconds, the limit between bytes`);
    await waitUntil(() => sockets.every((socket) => socket.destroyed));
  });

  it("restarts with every byte", async () => {
    const { port } = await serveHttp(async (incoming, response) => {
      incoming.resume();
      for (let write = 0; write < 7; write += 1) {
        response.write("x");
        await pause(300);
      }
      response.end();
    });
    const answer = await openTransport({ port, timeouts: { betweenBytesMs: 1500 } }).post("a", request);
    expect(await answer.text(100)).toBe("xxxxxxx");
  });

  it("does not count while the reader keeps the answer waiting", async () => {
    const size = 8 * 1024 * 1024;
    const { port } = await serveHttp((incoming, response) => {
      incoming.resume();
      response.end(Buffer.alloc(size));
    });
    const answer = await openTransport({ port, timeouts: { betweenBytesMs: 1000 } }).post("a", request);
    let bytes = 0;
    for await (const chunk of answer.body) {
      if (bytes === 0) await pause(1500);
      bytes += chunk.byteLength;
    }
    expect(bytes).toBe(size);
  });

  it("restarts after a reader who kept the answer waiting for longer", async () => {
    const { port } = await serveHttp((incoming, response) => {
      incoming.resume();
      response.write(Buffer.alloc(32 * 1024));
    });
    const answer = await openTransport({ port, timeouts: { betweenBytesMs: 500 } }).post("a", request);
    await pause(1000);
    let bytes = 0;
    const reading = (async () => {
      for await (const chunk of answer.body) bytes += chunk.byteLength;
    })();
    expect(await getError(reading)).toBeInstanceOf(RequestTimeoutError);
    expect(bytes).toBe(32 * 1024);
  });
});

describe("mergeTimeouts()", () => {
  it("keeps unset limits, takes 0 for off, and clamps what no timer can wait", () => {
    const limits = mergeTimeouts({ connectMs: 0, requestMs: 1e15 }, DEFAULT_HTTP_TIMEOUTS);
    expect(limits).toEqual({ connectMs: 0, requestMs: 2_147_483_647, betweenBytesMs: 300_000 });
    expect(mergeTimeouts(undefined, limits)).toBe(limits);
    expect(() => mergeTimeouts({ betweenBytesMs: -5 }, limits)).toThrow(ConfigurationError);
    expect(() => mergeTimeouts({ betweenBytesMs: -5 }, limits)).toThrow(
      "betweenBytesMs is -5; expected 0 (off)",
    );
  });

  it("off means off", async () => {
    const { port } = await serveHttp((incoming, response) => {
      incoming.resume();
      response.flushHeaders();
      setTimeout(() => response.end("ok"), 100);
    });
    const timeouts = { connectMs: 0, requestMs: 0, betweenBytesMs: 0 };
    const answer = await openTransport({ port, timeouts }).post("a", request);
    expect(await answer.text(10)).toBe("ok");
  });
});
