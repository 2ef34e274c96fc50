import type { Socket } from "node:net";
import { Duplex } from "node:stream";
import { TurnReader } from "./turn-reader.ts";

/**
 * A connection whose bytes are read in turns of the event loop, for a protocol that takes all bytes that a socket has:
 * WebSockets.
 */
export class TurnStream extends Duplex {
  readonly #socket: Socket;

  constructor(socket: Socket) {
    super({ allowHalfOpen: false });
    this.#socket = socket;
    const reader = new TurnReader(socket, (bytes) => {
      if (!this.push(bytes)) socket.pause();
    });
    socket
      .on("data", (bytes: Buffer) => reader.read(bytes))
      .once("end", () => this.push(null))
      .once("error", (error) => this.destroy(error))
      .once("close", () => this.destroy());
  }

  override _read(): void {
    this.#socket.resume();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, callback: (error?: Error | null) => void): void {
    this.#socket.write(chunk, callback);
  }

  override _writev(chunks: { chunk: Buffer }[], callback: (error?: Error | null) => void): void {
    this.#socket.cork();
    chunks.forEach(({ chunk }, index) => {
      this.#socket.write(chunk, index === chunks.length - 1 ? callback : undefined);
    });
    this.#socket.uncork();
  }

  override _final(callback: () => void): void {
    this.#socket.end(callback);
  }

  override _destroy(error: Error | null, callback: (error: Error | null) => void): void {
    this.#socket.destroy();
    callback(error);
  }
}
