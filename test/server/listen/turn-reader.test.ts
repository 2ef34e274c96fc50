import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, it, onTestFinished } from "vitest";
import { TurnReader } from "../../../src/server/listen/turn-reader.ts";
import { TurnStream } from "../../../src/server/listen/turn-stream.ts";

/** Returns both ends of a connection. */
async function openConnection(): Promise<{ near: Socket; far: Socket }> {
  const server = createServer({ allowHalfOpen: true }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("a TCP server has no port");
  const far = connect(address.port, "127.0.0.1").on("error", () => {});
  const [near] = await once(server, "connection");
  onTestFinished(() => {
    far.destroy();
    near.destroy();
    server.close();
  });
  return { near, far };
}

/** Bytes of which each one shows its place. */
function createBytes(length: number): Buffer {
  return Buffer.from(Array.from({ length }, (_, index) => (index * 31 + (index >> 8)) & 0xff));
}

function compute(ms: number): void {
  for (const end = performance.now() + ms; performance.now() < end; );
}

describe("TurnReader", () => {
  it("delivers all bytes in their order, in pieces of at most 16 KiB", async () => {
    const { near, far } = await openConnection();
    const pieces: Buffer[] = [];
    const reader = new TurnReader(near, (piece) => pieces.push(Buffer.from(piece)));
    near.on("data", (bytes) => reader.read(bytes));
    const sent = createBytes(1_000_000);
    far.write(sent);
    await expect.poll(() => Buffer.concat(pieces).length).toBe(sent.length);
    expect(Buffer.concat(pieces).equals(sent)).toBe(true);
    expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThanOrEqual(16 * 1024);
  });

  it("delivers bytes whose work takes long in small pieces, between which the event loop turns", async () => {
    const { near, far } = await openConnection();
    let turn = 0;
    const pieces: { length: number; turn: number }[] = [];
    const reader = new TurnReader(near, ({ length }) => {
      compute(5);
      pieces.push({ length, turn });
    });
    near.on("data", (bytes) => reader.read(bytes));
    far.write(createBytes(32 * 1024));
    for (; pieces.reduce((sum, { length }) => sum + length, 0) < 32 * 1024; turn += 1) await nextTurn();
    expect(pieces.at(-2)?.length).toBe(512);
    const mostInTurn = Math.max(
      ...Object.values(Object.groupBy(pieces, (p) => p.turn)).map((p = []) => p.length),
    );
    expect(mostInTurn).toBeLessThanOrEqual(4);
  });

  it("lets connections whose bytes cost little go ahead of those whose bytes cost much", async () => {
    const costly = await openConnection();
    const cheap = await openConnection();
    let isServed = false;
    let costlyMeanwhile = 0;
    const reader = new TurnReader(costly.near, () => {
      compute(5);
      if (!isServed) costlyMeanwhile += 1;
    });
    costly.near.on("data", (bytes) => reader.read(bytes));
    costly.far.write(createBytes(256 * 1024));
    await expect.poll(() => costlyMeanwhile).toBeGreaterThan(10);
    const cheapReader = new TurnReader(cheap.near, () => (isServed = true));
    cheap.near.on("data", (bytes) => cheapReader.read(bytes));
    costlyMeanwhile = 0;
    cheap.far.write("x");
    await expect.poll(() => isServed, { interval: 1 }).toBe(true);
    // It needs a few turns to be sent and read; each has two pieces at most.
    expect(costlyMeanwhile).toBeLessThan(30);
  });

  it("leaves bytes that wait in the socket when it is stopped", async () => {
    const { near, far } = await openConnection();
    const sent = createBytes(20_000);
    const taken: Buffer[] = [];
    const read = (bytes: Buffer) => reader.read(bytes);
    const reader = new TurnReader(near, (piece) => {
      taken.push(piece);
      reader.stop();
      near.off("data", read);
    });
    near.on("data", read);
    far.end(sent);
    await expect.poll(() => taken.length).toBe(1);
    for (let turns = 0; turns < 20; turns += 1) await nextTurn();
    near.on("data", (bytes: Buffer) => taken.push(bytes)).resume();
    await once(near, "end");
    expect(Buffer.concat(taken).equals(sent)).toBe(true);
  });
});

describe("TurnStream", () => {
  it("carries bytes both ways, and the ends of both sides", async () => {
    const { near, far } = await openConnection();
    const stream = new TurnStream(near);
    const sent = createBytes(300_000);
    far.end(sent);
    const received: Buffer[] = [];
    stream.on("data", (bytes: Buffer) => received.push(bytes));
    const written: string[] = [];
    stream.cork();
    stream.write(Buffer.from("one "), () => written.push("one"));
    stream.write(Buffer.from("two"), () => written.push("two"));
    stream.uncork();
    const answer: Buffer[] = [];
    far.on("data", (bytes) => answer.push(bytes));
    await Promise.all([once(stream, "close"), once(far, "end")]);
    expect(Buffer.concat(received).equals(sent)).toBe(true);
    expect(Buffer.concat(answer).toString()).toBe("one two");
    expect(written).toEqual(["one", "two"]);
    expect(near.destroyed).toBe(true);
  });

  it("reads no more than its buffer holds while nobody reads from it", async () => {
    const { near, far } = await openConnection();
    const stream = new TurnStream(near);
    far.write(Buffer.alloc(8_000_000));
    await expect.poll(() => stream.readableLength).toBeGreaterThan(10_000);
    for (let turns = 0; turns < 50; turns += 1) await nextTurn();
    expect(stream.readableLength).toBeLessThan(100_000);
    expect(near.readableLength).toBeLessThan(200_000);
  });

  it("is destroyed with its connection, and its connection with it", async () => {
    const first = await openConnection();
    const stream = new TurnStream(first.near).on("error", () => {});
    const closed = new Promise((resolve) => stream.once("close", resolve));
    first.near.destroy(new Error("broken"));
    await closed;
    const second = await openConnection();
    new TurnStream(second.near).destroy();
    await once(second.near, "close");
  });
});
