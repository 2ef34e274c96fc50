import type { Socket } from "node:net";
import { hasShare, runAfterOthers, runInLaterTurn, runInTurn } from "../../core/loop-turns.ts";

/** Time in milliseconds that the work for a piece of bytes should take. */
const PIECE_MS = 1;

/** A read has up to 64 KiB; a piece of 16 KiB can hold 16,000 header fields, for which Node takes 20 ms. */
const MAX_PIECE_BYTES = 16 * 1024;
const MIN_PIECE_BYTES = 512;
const FIRST_PIECE_BYTES = 4 * 1024;

/** Time beyond its share after which a connection yields to others, in milliseconds. */
const MAX_EXCESS_MS = 10;

/** The share of time that a connection may use without yielding to others. */
const FREE_SHARE = 0.05;

/**
 * Reads a connection in pieces, in turns of the event loop. The cost of one read varies by a factor of a thousand:
 * 64 KiB are a part of an image, or ten thousand frames. Expensive connections yield to the others, so that they do not
 * delay them by much, however many expensive ones there are.
 */
export class TurnReader {
  readonly #socket: Socket;
  readonly #deliver: (bytes: Buffer) => void;
  #isWaiting = false;
  #isStopped = false;
  /** Whether the bytes that are held may be delivered in this turn of the event loop. */
  #hasTurn = false;
  #pieceBytes = FIRST_PIECE_BYTES;
  #excessMs = 0;
  #countedAt = performance.now();

  /**
   * @param socket Bytes that wait are put back into it, and it is paused.
   * @param deliver Takes bytes. It may pause the socket, and put some of them back.
   */
  constructor(socket: Socket, deliver: (bytes: Buffer) => void) {
    this.#socket = socket;
    this.#deliver = deliver;
  }

  /** Takes the bytes of one read: delivers a first piece now if it can, and the rest in later turns. */
  read(bytes: Buffer): void {
    const isHeavy = this.#excessMs > MAX_EXCESS_MS;
    if (!this.#hasTurn && (isHeavy || !hasShare()))
      return this.#wait(bytes, isHeavy ? runAfterOthers : runInTurn);
    this.#hasTurn = false;
    const piece = bytes.subarray(0, this.#pieceBytes);
    // The rest is put back first, since `deliver` may put some bytes back too.
    if (piece.length < bytes.length)
      this.#wait(bytes.subarray(piece.length), isHeavy ? runAfterOthers : runInLaterTurn);
    const startedAt = performance.now();
    this.#deliver(piece);
    this.#count(startedAt, performance.now());
  }

  /** Leaves the socket, with the bytes that wait in it, to others. */
  stop(): void {
    this.#isStopped = true;
  }

  #wait(bytes: Buffer, run: (work: () => void) => void): void {
    this.#socket.pause();
    this.#socket.unshift(bytes);
    if (this.#isWaiting) return;
    this.#isWaiting = true;
    run(() => {
      this.#isWaiting = false;
      if (this.#isStopped) return;
      this.#hasTurn = true;
      this.#socket.resume();
    });
  }

  #count(startedAt: number, endedAt: number): void {
    const ms = endedAt - startedAt;
    const free = (endedAt - this.#countedAt) * FREE_SHARE;
    this.#countedAt = endedAt;
    this.#excessMs = Math.max(0, this.#excessMs - free) + ms;
    if (ms > PIECE_MS) this.#pieceBytes = Math.max(MIN_PIECE_BYTES, this.#pieceBytes >> 1);
    else if (ms < PIECE_MS / 4) this.#pieceBytes = Math.min(MAX_PIECE_BYTES, this.#pieceBytes << 1);
  }
}
