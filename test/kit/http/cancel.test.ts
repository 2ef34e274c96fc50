import { getEventListeners } from "node:events";
import type { Socket } from "node:net";
import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { AbortError, RequestTimeoutError } from "../../../src/core/errors.ts";
import { getError, hangingPort, openTransport, pause, serveHttp, serveTcp, waitUntil } from "./servers.ts";

const request = { headers: {}, body: "x" };

/** Resolves when a socket of the server is closed. Whatever else ends the calls of these tests comes later. */
function closed(socket: Socket | undefined): Promise<void> {
  return waitUntil(() => socket?.destroyed ?? false);
}

function toListeners(signal: AbortSignal): number {
  return getEventListeners(signal, "abort").length;
}

/** Sockets of this process that are connecting. */
function connecting(): number {
  return process.getActiveResourcesInfo().filter((name) => name === "ConnectWrap").length;
}

describe("an aborted signal", () => {
  it("sends nothing if it was aborted before", async () => {
    const { port, sockets } = await serveHttp((_request, response) => response.end());
    const error = await getError(
      openTransport({ port }).post("a", { ...request, signal: AbortSignal.abort() }),
    );
    expect(error).toBeInstanceOf(AbortError);
    await pause(20);
    expect(sockets).toHaveLength(0);
  });

  it("leaves the queue for a free connection, and its request is never sent", async () => {
    const urls: (string | undefined)[] = [];
    const gate = Promise.withResolvers<void>();
    const { port, sockets } = await serveHttp(async (incoming, response) => {
      urls.push(incoming.url);
      incoming.resume();
      await gate.promise;
      response.end("ok");
    });
    const transport = openTransport({ port, maxConnections: 1 });
    const first = transport.post("first", request);
    const controller = new AbortController();
    const queued = getError(transport.post("queued", { ...request, signal: controller.signal }));
    const third = transport.post("third", request);
    await waitUntil(() => urls.length > 0);
    controller.abort();
    expect(await queued).toBeInstanceOf(AbortError);
    expect(urls).toEqual(["/first"]);
    gate.resolve();
    expect(await (await first).text(10)).toBe("ok");
    expect(await (await third).text(10)).toBe("ok");
    expect([urls, sockets.length]).toEqual([["/first", "/third"], 1]);
    expect(toListeners(controller.signal)).toBe(0);
  });

  it("prevents a request on a reused connection that is about to be sent", async () => {
    const urls: (string | undefined)[] = [];
    const { port } = await serveHttp((incoming, response) => {
      urls.push(incoming.url);
      incoming.resume();
      response.end("ok");
    });
    const transport = openTransport({ port });
    await (await transport.post("first", request)).text(10);
    await pause(10);
    const controller = new AbortController();
    const call = getError(transport.post("second", { ...request, signal: controller.signal }));
    controller.abort();
    expect(await call).toBeInstanceOf(AbortError);
    await (await transport.post("third", request)).text(10);
    expect(urls).toEqual(["/first", "/third"]);
  });

  it("gives up connecting", async () => {
    const port = await hangingPort();
    const before = connecting();
    const controller = new AbortController();
    const call = getError(openTransport({ port }).post("a", { ...request, signal: controller.signal }));
    await waitUntil(() => connecting() === before + 1);
    controller.abort();
    expect(await call).toBeInstanceOf(AbortError);
    await waitUntil(() => connecting() === before);
    expect(toListeners(controller.signal)).toBe(0);
  });

  it("closes the socket during the TLS handshake", async () => {
    const { port, sockets } = await serveTcp((socket) => void socket.resume());
    const controller = new AbortController();
    const transport = openTransport({ baseUrl: `https://127.0.0.1:${port}` });
    const call = getError(transport.post("a", { ...request, signal: controller.signal }));
    await waitUntil(() => (sockets[0]?.bytesRead ?? 0) > 0);
    controller.abort();
    expect(await call).toBeInstanceOf(AbortError);
    await closed(sockets[0]);
  });

  it("closes the socket before the head of the answer", async () => {
    const { port, sockets } = await serveHttp((incoming) => void incoming.resume());
    const controller = new AbortController();
    const call = getError(openTransport({ port }).post("a", { ...request, signal: controller.signal }));
    await waitUntil(() => (sockets[0]?.bytesRead ?? 0) > 0);
    controller.abort();
    expect(await call).toBeInstanceOf(AbortError);
    await closed(sockets[0]);
    expect(toListeners(controller.signal)).toBe(0);
  });

  it("closes the socket in the middle of the body, and the reader sees nothing more", async () => {
    const { port, sockets } = await serveHttp((incoming, response) => {
      incoming.resume();
      response.write("first");
    });
    const controller = new AbortController();
    const answer = await openTransport({ port }).post("a", { ...request, signal: controller.signal });
    const reader = answer.body[Symbol.asyncIterator]();
    expect((await reader.next()).done).toBe(false);
    const waiting = getError(reader.next());
    controller.abort();
    expect(await waiting).toBeInstanceOf(AbortError);
    await closed(sockets[0]);
    expect(toListeners(controller.signal)).toBe(0);
  });

  it("drops bytes that have arrived and were not read", async () => {
    const { port, sockets } = await serveHttp((incoming, response) => {
      incoming.resume();
      response.write("first");
    });
    const controller = new AbortController();
    const answer = await openTransport({ port }).post("a", { ...request, signal: controller.signal });
    await waitUntil(() => (sockets[0]?.bytesWritten ?? 0) > 0);
    await pause(20);
    controller.abort();
    expect(await getError(answer.body[Symbol.asyncIterator]().next())).toBeInstanceOf(AbortError);
  });

  it("throws the signal's reason if that is one of our errors, else AbortError with the reason as cause", async () => {
    const { port } = await serveHttp((incoming) => void incoming.resume());
    const transport = openTransport({ port });
    const deadline = new RequestTimeoutError("the caller's deadline was exceeded");
    const [ours, theirs] = [new AbortController(), new AbortController()];
    const calls = [ours, theirs].map(({ signal }) => getError(transport.post("a", { ...request, signal })));
    ours.abort(deadline);
    theirs.abort("whatever");
    expect(await calls[0]).toBe(deadline);
    const error = await calls[1];
    expect(error).toBeInstanceOf(AbortError);
    expect(error).toMatchObject({ message: "the call was cancelled", cause: "whatever", retryable: false });
  });

  it("has no listener left after an answer that was read to its end, nor after a failure", async () => {
    const { port } = await serveHttp((incoming, response) => {
      incoming.resume();
      if (incoming.url === "/cut") response.destroy();
      else response.end("ok");
    });
    const { signal } = new AbortController();
    const transport = openTransport({ port });
    const answer = await transport.post("a", { ...request, signal });
    expect(toListeners(signal)).toBeLessThanOrEqual(1);
    await answer.text(10);
    expect(toListeners(signal)).toBe(0);
    await getError(transport.post("cut", { ...request, signal }));
    expect(toListeners(signal)).toBe(0);
  });
});

describe("a reader who leaves", () => {
  it("by break closes the socket", async () => {
    const { port, sockets } = await serveHttp((incoming, response) => {
      incoming.resume();
      response.write("first");
    });
    const { signal } = new AbortController();
    const answer = await openTransport({ port }).post("a", { ...request, signal });
    for await (const chunk of answer.body) {
      expect(Buffer.from(chunk).toString()).toBe("first");
      break;
    }
    await closed(sockets[0]);
    expect(toListeners(signal)).toBe(0);
  });

  it("by destroy() closes the socket, and a read in progress rejects with AbortError", async () => {
    const { port, sockets } = await serveHttp((incoming, response) => {
      incoming.resume();
      response.flushHeaders();
    });
    const answer = await openTransport({ port }).post("a", request);
    const reading = getError(answer.text(100));
    answer.destroy();
    answer.destroy();
    expect(await reading).toBeInstanceOf(AbortError);
    await closed(sockets[0]);
  });

  it("after the last byte leaves the connection for the next request", async () => {
    const { port, sockets } = await serveHttp((incoming, response) => {
      incoming.resume();
      response.end("ok");
    });
    const transport = openTransport({ port });
    for (let call = 0; call < 3; call += 1) {
      const answer = await transport.post("a", request);
      await pause(10);
      answer.destroy();
    }
    expect(sockets).toHaveLength(1);
  });
});

describe("release()", () => {
  it("discards the rest, so that the connection serves the next request", async () => {
    // The time in which a released answer has to end does not pass.
    vi.useFakeTimers({ toFake: ["setTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    let end = () => {};
    const { port, sockets } = await serveHttp((incoming, response) => {
      incoming.resume();
      response.write("wanted");
      end = () => response.end("not wanted".repeat(10_000));
    });
    const { signal } = new AbortController();
    // The next request waits until the connection is free, or opens another one if it was closed.
    const transport = openTransport({ port, maxConnections: 1 });
    for (let call = 0; call < 3; call += 1) {
      const answer = await transport.post("a", { ...request, signal });
      for await (const chunk of answer.body) {
        expect(Buffer.from(chunk).toString()).toBe("wanted");
        answer.release();
        break;
      }
      expect(toListeners(signal)).toBe(0);
      end();
    }
    expect(sockets).toHaveLength(1);
  });

  it("lets a paused answer continue", async () => {
    // The time in which a released answer has to end does not pass.
    vi.useFakeTimers({ toFake: ["setTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    // More than the buffers of the kernel hold.
    const large = Buffer.alloc(32 * 1024 * 1024);
    let sent = 0;
    const { port, sockets } = await serveHttp((incoming, response) => {
      incoming.resume();
      response.on("finish", () => (sent += 1)).end(large);
    });
    const transport = openTransport({ port, maxConnections: 1 });
    for (let call = 0; call < 3; call += 1) {
      const answer = await transport.post("a", request);
      for (let turn = 0; turn < 1000; turn += 1) await nextTurn();
      expect(sent).toBe(call);
      answer.release();
    }
    await transport.post("a", request);
    expect([sent, sockets.length]).toEqual([3, 1]);
  });

  it("closes the socket of a provider that does not end its answer soon", async () => {
    const { port, sockets } = await serveHttp((incoming, response) => {
      incoming.resume();
      const timer = setInterval(() => response.write("more"), 20);
      response.on("close", () => clearInterval(timer));
    });
    const answer = await openTransport({ port }).post("a", request);
    const since = performance.now();
    answer.release();
    await closed(sockets[0]);
    expect(performance.now() - since).toBeGreaterThan(200);
  });
});

describe("close()", () => {
  it("ends calls in every phase with AbortError and closes their sockets", async () => {
    const { port, sockets } = await serveHttp((incoming, response) => {
      incoming.resume();
      if (incoming.url === "/body") response.write("first");
    });
    const transport = openTransport({ port, maxConnections: 2 });
    const answer = await transport.post("body", request);
    const reading = getError(answer.text(100));
    const waiting = getError(transport.post("waiting", request));
    const queued = getError(transport.post("queued", request));
    await waitUntil(() => (sockets[1]?.bytesRead ?? 0) > 0);
    await transport.close();
    for (const error of [await reading, await waiting, await queued])
      expect(error).toBeInstanceOf(AbortError);
    await waitUntil(() => sockets.every((socket) => socket.destroyed));
    expect(await getError(transport.post("late", request))).toBeInstanceOf(AbortError);
    await transport.close();
  });

  it("gives up connecting", async () => {
    const port = await hangingPort();
    const before = connecting();
    const transport = openTransport({ port });
    const call = getError(transport.post("a", request));
    await waitUntil(() => connecting() === before + 1);
    await transport.close();
    expect(await call).toBeInstanceOf(AbortError);
    await waitUntil(() => connecting() === before);
  });
});
