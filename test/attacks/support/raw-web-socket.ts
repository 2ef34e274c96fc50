/** A client of WebSockets that sends one buffer over many sockets without a copy, and reads only on demand. */
import { once } from "node:events";
import { connect, type Socket } from "node:net";

const OPCODE_TEXT = 0x81;
const LENGTH_64 = 0xff;

/** A text message as one frame. Its mask is zero, so that the payload needs no copy with the mask. */
export function textFrame(payload: Buffer): readonly [head: Buffer, payload: Buffer] {
  const head = Buffer.alloc(14);
  head.set([OPCODE_TEXT, LENGTH_64]);
  head.writeBigUInt64BE(BigInt(payload.byteLength), 2);
  return [head, payload];
}

/** Opens a socket of `/v1/responses`. It is paused: nothing is read after the handshake. */
export async function openRawSocket(url: string, key?: string): Promise<Socket> {
  const socket = connect(Number(new URL(url).port), "127.0.0.1").on("error", () => {});
  socket.write(
    "GET /v1/responses HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade\r\nupgrade: websocket\r\n" +
      "sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n" +
      `${key === undefined ? "" : `authorization: Bearer ${key}\r\n`}\r\n`,
  );
  await once(socket, "readable");
  const head: Buffer | null = socket.read();
  if (!head?.toString("latin1").startsWith("HTTP/1.1 101")) throw new Error(`no handshake: ${head}`);
  return socket;
}
