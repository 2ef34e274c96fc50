import { setTimeout as sleep } from "node:timers/promises";
import { describe, it } from "vitest";
import {
  END_HEADERS,
  END_STREAM,
  FRAME,
  FrameConnection,
  literalField,
} from "../server/support/raw-frames.ts";
import { inferencePath } from "../server/support/raw-http2.ts";
import { expectWithstood, useSidecars } from "./support/sidecar.ts";

const attacks = useSidecars();

const CONNECTIONS = 8;
const STREAMS = 1200;
/** Of a write that floods a connection: about 64 KiB. */
const BLOCKS = 40;
/** HTTP/2 counts 32 bytes besides the name and value of each field, so that these fill the 64 KiB that are allowed. */
const FIELDS = 1500;

const BEGINNING = Object.entries({
  ":method": "POST",
  ":scheme": "http",
  ":path": inferencePath("Complete"),
  ":authority": "localhost",
  "content-type": "application/grpc",
  te: "trailers",
});

/** Fields with different names, as a block of headers (RFC 7541). */
const DIFFERENT = toBlock(Array.from({ length: FIELDS }, (_, index) => [`x${index}`, "1"]));

/** References to one field that the first block has added to the table of the connection: a byte each. */
const REFERENCES = Buffer.concat([toBlock([]), Buffer.alloc(FIELDS, 0x80 | 62)]);
const ADDED = Buffer.concat([toBlock([]), Buffer.from([0x40]), literalField(["x", "1"]).subarray(1)]);

function toBlock(fields: readonly [string, string][]): Buffer {
  return Buffer.concat([...BEGINNING, ...fields].map(literalField));
}

/** Opens as many streams as it can, and sends nothing else. */
async function openStreams(url: string, first: Buffer, others: Buffer, flags: number): Promise<void> {
  const peer = new FrameConnection(url);
  for (let index = 0; index < STREAMS; index += 1) {
    peer.send(FRAME.headers, END_HEADERS | flags, 2 * index + 1, index === 0 ? first : others);
    if (index % 20 === 0) await sleep(1);
  }
  await sleep(5000);
  peer.destroy();
}

/** Sends blocks of headers as fast as they are taken. */
async function flood(url: string, end: number): Promise<void> {
  const peer = new FrameConnection(url);
  let isClosed = false;
  void peer.closed.then(() => (isClosed = true));
  for (let stream = 1; performance.now() < end && !isClosed; ) {
    const frames: Buffer[] = [];
    for (; frames.length < BLOCKS; stream += 2)
      frames.push(toHeaders(stream, stream === 1 ? ADDED : REFERENCES));
    await Promise.race([peer.sendRaw(Buffer.concat(frames)), sleep(Math.max(1, end - performance.now()))]);
  }
  peer.destroy();
}

/** The frame of a block that ends its stream. */
function toHeaders(stream: number, block: Buffer): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(block.byteLength, 0, 3);
  head.writeUInt8(FRAME.headers, 3);
  head.writeUInt8(END_HEADERS | END_STREAM, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, block]);
}

describe("a hundred connections that send nothing but header fields by reference", () => {
  it("do not block the event loop for long", async () => {
    const sidecar = await attacks.start({ heapMiB: 128 });
    const report = await sidecar.withstand(async () => {
      const end = performance.now() + 5000;
      await Promise.all(Array.from({ length: 100 }, () => flood(sidecar.url, end)));
    });
    expectWithstood(report, 256);
    await sidecar.expectRecovered();
  });
});

describe("streams with as many header fields as are allowed", () => {
  it.each([
    ["of different names, in calls without a message", DIFFERENT, DIFFERENT, END_STREAM],
    ["of different names, in calls whose message does not come", DIFFERENT, DIFFERENT, 0],
    ["by reference, in calls without a message", ADDED, REFERENCES, END_STREAM],
    ["by reference, in calls whose message does not come", ADDED, REFERENCES, 0],
  ] as const)("%s, do not use up the memory", async (_name, first, others, flags) => {
    const sidecar = await attacks.start({ heapMiB: 128 });
    const report = await sidecar.withstand(() =>
      Promise.all(Array.from({ length: CONNECTIONS }, () => openStreams(sidecar.url, first, others, flags))),
    );
    expectWithstood(report, 256);
    await sidecar.expectRecovered();
  });
});
