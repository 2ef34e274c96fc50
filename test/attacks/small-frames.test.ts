/** Connections full of the smallest units of their protocol, of which a read holds ten thousand. */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { describe, it } from "vitest";
import { FRAME, FrameConnection, writeAll } from "../server/support/raw-frames.ts";
import { inferencePath } from "../server/support/raw-http2.ts";
import { openRawSocket } from "./support/raw-web-socket.ts";
import { expectWithstood, useSidecars } from "./support/sidecar.ts";

const attacks = useSidecars();

const CONNECTIONS = 100;
const DURATION_MS = 4000;
const UNITS = 8000;

/** RFC 9113 §6.9 */
const WINDOW_UPDATE = 8;

/** Bytes that can be repeated, and a function that opens a connection for them. */
interface Attack {
  readonly unit: Buffer;
  readonly open: (url: string) => Promise<(bytes: Buffer) => Promise<void>>;
}

/** A frame of the first stream. */
function toFrame(type: number, payload: Buffer): Buffer {
  const head = Buffer.from([0, 0, payload.byteLength, type, 0, 0, 0, 0, 1]);
  return Buffer.concat([head, payload]);
}

/** Begins a call whose message is of 16 MiB. */
async function openStream(url: string) {
  const peer = new FrameConnection(url);
  peer.call(1, inferencePath("Complete"));
  peer.send(FRAME.data, 0, 1, Buffer.from([0, 1, 0, 0, 0]));
  return (bytes: Buffer) => peer.sendRaw(bytes);
}

async function openWebSocket(url: string) {
  const socket = await openRawSocket(url);
  socket.resume();
  return (bytes: Buffer) => writeAll(socket, bytes);
}

async function openBody(url: string) {
  const socket: Socket = connect(Number(new URL(url).port), "127.0.0.1").on("error", () => {});
  await once(socket, "connect");
  socket.resume();
  const headers = "host: localhost\r\ncontent-type: application/json\r\ntransfer-encoding: chunked";
  socket.write(`POST /v1/responses HTTP/1.1\r\n${headers}\r\n\r\n`);
  return (bytes: Buffer) => writeAll(socket, bytes);
}

const ATTACKS: readonly [name: string, attack: Attack][] = [
  ["DATA frames of a byte", { unit: toFrame(FRAME.data, Buffer.alloc(1)), open: openStream }],
  ["window updates", { unit: toFrame(WINDOW_UPDATE, Buffer.from([0, 0, 0, 1])), open: openStream }],
  ["pongs of WebSockets", { unit: Buffer.from([0x8a, 0x80, 0, 0, 0, 0]), open: openWebSocket }],
  ["messages of WebSockets", { unit: Buffer.from([0x81, 0x81, 0, 0, 0, 0, 0x61]), open: openWebSocket }],
  ["chunks of HTTP/1.1", { unit: Buffer.from("1\r\na\r\n"), open: openBody }],
];

describe("connections full of", () => {
  it.each(ATTACKS)("%s do not block the event loop for long", async (_name, { unit, open }) => {
    const sidecar = await attacks.start({ heapMiB: 128 });
    const bytes = Buffer.concat(Array.from({ length: UNITS }, () => unit));
    const report = await sidecar.withstand(async () => {
      const end = performance.now() + DURATION_MS;
      const flood = async () => {
        const write = await open(sidecar.url);
        while (performance.now() < end) await Promise.race([write(bytes), timeUntil(end)]);
      };
      await Promise.all(Array.from({ length: CONNECTIONS }, flood));
    });
    expectWithstood(report, 256);
    await sidecar.expectRecovered();
  });
});

function timeUntil(end: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, Math.max(1, end - performance.now())).unref());
}
