import type { Socket } from "node:net";
import type { Dispatcher } from "undici";
import { describe, expect, it } from "vitest";
import { Exchange, type HttpAnswer } from "../../../src/kit/http/exchange.ts";
import { DEFAULT_HTTP_TIMEOUTS } from "../../../src/kit/http/timeouts.ts";
import { openTransport, pause, serveTcp } from "./servers.ts";

const MIB = 1024 * 1024;
const TOTAL = 200 * MIB;

/** Writes 200 MiB of body as fast as the socket takes them. */
function flood(socket: Socket): void {
  pour(socket, `content-length: ${TOTAL}`, Buffer.alloc(MIB, 97));
}

/** The same in chunks of 256 bytes, as providers send events. */
function floodInChunks(socket: Socket): void {
  pour(socket, "transfer-encoding: chunked", Buffer.from(`100\r\n${"a".repeat(256)}\r\n`.repeat(4096)));
}

function pour(socket: Socket, header: string, chunk: Buffer): void {
  let left = TOTAL;
  const write = () => {
    while (left > 0) {
      left -= chunk.length;
      if (!socket.write(chunk)) {
        socket.once("drain", write);
        return;
      }
    }
  };
  socket.once("data", () => {
    socket.write(`HTTP/1.1 200 OK\r\n${header}\r\n\r\n`);
    write();
  });
}

/** Returns the value once it has not changed for some time and several turns of the event loop. */
async function settled(value: () => number): Promise<number> {
  let last = Number.NaN;
  for (let unchanged = 0; unchanged < 10; unchanged += 1) {
    const now = value();
    if (now !== last) unchanged = 0;
    last = now;
    await pause(20);
  }
  return last;
}

describe("a reader who stops", () => {
  it("stalls the server, costs no heap, and gets every byte once it continues", {
    timeout: 60_000,
  }, async () => {
    const { port, sockets } = await serveTcp(flood);
    const answer = await openTransport({ port }).post("a", { headers: {}, body: "x" });
    const reader = answer.body[Symbol.asyncIterator]();
    let bytes = (await reader.next()).value?.byteLength ?? 0;
    const written = () => (sockets[0]?.bytesWritten ?? 0) - (sockets[0]?.writableLength ?? 0);
    const stalledAt = await settled(written);
    const { arrayBuffers } = process.memoryUsage();
    await pause(200);
    expect(written()).toBe(stalledAt);
    // The kernel's buffers of both ends take this, and no more.
    expect(stalledAt).toBeLessThan(32 * MIB);
    expect(process.memoryUsage().arrayBuffers - arrayBuffers).toBeLessThan(MIB);
    for (let next = await reader.next(); !next.done; next = await reader.next())
      bytes += next.value.byteLength;
    expect(bytes).toBe(TOTAL);
  });

  it("and reads from time to time receives no more from the server than it reads", {
    timeout: 60_000,
  }, async () => {
    const { port, sockets } = await serveTcp(floodInChunks);
    const answer = await openTransport({ port }).post("a", { headers: {}, body: "x" });
    const reader = answer.body[Symbol.asyncIterator]();
    let bytes = (await reader.next()).value?.byteLength ?? 0;
    const ahead = () => (sockets[0]?.bytesWritten ?? 0) - (sockets[0]?.writableLength ?? 0) - bytes;
    const before = await settled(ahead);
    for (let take = 0; take < 500; take++) {
      bytes += (await reader.next()).value?.byteLength ?? 0;
      await pause(1);
    }
    // At each read undici alone would take another 64 KiB, although it has room for 16: 24 MiB in all.
    expect((await settled(ahead)) - before).toBeLessThan(8 * MIB);
    answer.destroy();
  });

  it("holds less than a quarter of a megabyte for each of many streams", { timeout: 60_000 }, async () => {
    const { port } = await serveTcp(flood);
    const transport = openTransport({ port });
    const before = process.memoryUsage().arrayBuffers;
    const answers = await Promise.all(
      Array.from({ length: 50 }, () => transport.post("a", { headers: {}, body: "x" })),
    );
    await pause(300);
    // The server's chunks count here too: one MiB for each connection.
    const held = process.memoryUsage().arrayBuffers - before - 50 * MIB;
    expect(held / 50).toBeLessThan(256 * 1024);
    for (const answer of answers) answer.destroy();
  });
});

/** An exchange whose answer has begun, and what it asked of its connection. */
class BegunAnswer {
  readonly calls: string[] = [];
  readonly exchange = new Exchange({ peer: "a:1", timeouts: DEFAULT_HTTP_TIMEOUTS });
  readonly controller: Dispatcher.DispatchController = {
    paused: false,
    aborted: false,
    reason: null,
    pause: () => this.#setPaused(true),
    resume: () => this.#setPaused(false),
    abort: () => {},
  };
  readonly answer: Promise<HttpAnswer>;

  constructor() {
    const dispatcher = { dispatch: () => true } as unknown as Dispatcher;
    this.answer = this.exchange.run(dispatcher, { origin: "http://a", path: "/", method: "GET" });
    this.exchange.onRequestStart(this.controller);
    this.exchange.onResponseStart(this.controller, 200, {});
  }

  async read(): Promise<AsyncIterator<Uint8Array>> {
    return (await this.answer).body[Symbol.asyncIterator]();
  }

  receive(bytes: number): void {
    this.exchange.onResponseData(this.controller, Buffer.alloc(bytes));
  }

  #setPaused(paused: boolean): void {
    Object.assign(this.controller, { paused });
    this.calls.push(paused ? "pause" : "resume");
  }
}

describe("Exchange", () => {
  it("pauses the answer above 16 KiB and resumes it when the reader has taken all", async () => {
    const begun = new BegunAnswer();
    const reader = await begun.read();
    begun.receive(1);
    await reader.next();
    begun.receive(16 * 1024);
    expect(begun.calls).toEqual([]);
    begun.receive(1);
    expect(begun.calls).toEqual(["pause"]);
    expect((await reader.next()).value?.byteLength).toBe(16 * 1024 + 1);
    expect(begun.calls).toEqual(["pause", "resume"]);
    begun.receive(3);
    begun.exchange.onResponseEnd();
    expect((await reader.next()).value?.byteLength).toBe(3);
    expect((await reader.next()).done).toBe(true);
    expect(begun.calls).toEqual(["pause", "resume"]);
  });

  it("does not pause before the first read, which takes all bytes that arrived with the head", async () => {
    const begun = new BegunAnswer();
    const reader = await begun.read();
    begun.receive(16 * 1024);
    begun.receive(16 * 1024);
    expect(begun.calls).toEqual([]);
    expect((await reader.next()).value?.byteLength).toBe(32 * 1024);
    begun.receive(16 * 1024 + 1);
    expect(begun.calls).toEqual(["pause"]);
    begun.exchange.destroy();
  });

  it("does not pause while a reader waits, which takes the chunks of a read together", async () => {
    const begun = new BegunAnswer();
    const reader = await begun.read();
    const read = reader.next();
    begun.receive(16 * 1024);
    begun.receive(16 * 1024);
    expect((await read).value?.byteLength).toBe(32 * 1024);
    expect(begun.calls).toEqual([]);
    begun.receive(16 * 1024 + 1);
    expect(begun.calls).toEqual(["pause"]);
    begun.exchange.destroy();
  });
});
