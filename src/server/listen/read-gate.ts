import type { ServerHttp2Session } from "node:http2";
import { setReading } from "../internals/node-http.ts";

/**
 * Reads the HTTP/2 connections of a server in turns. Node reads them past JavaScript, up to 2 MiB of each in one turn of
 * the event loop, and 64 KiB can hold 60,000 header fields, which take 80 ms. A connection that has brought much ends the
 * reading of all for its turn. The next turn reads the others, and each turn after it one more of those that brought
 * much, even if others bring much in every turn.
 */
export class ReadGate {
  readonly #sessions = new Set<ServerHttp2Session>();
  /** Connections that sent much data and wait to be read again, in their order. */
  readonly #heavy = new Set<ServerHttp2Session>();
  #isClosed = false;
  #isOpening = false;
  /** Whether the last turn was for the others, and for none of those that brought much. */
  #wasForOthers = false;

  /** Adds a connection, until it is closed. */
  add(session: ServerHttp2Session): void {
    this.#sessions.add(session);
    session.once("close", () => {
      this.#sessions.delete(session);
      this.#heavy.delete(session);
    });
  }

  /** Ends the reading of this turn. @param heavy The connection that has sent much data. */
  close(heavy: ServerHttp2Session): void {
    this.#heavy.add(heavy);
    // It may have been added when the others were closed already.
    if (this.#isClosed) setReading(heavy, false);
    else for (const session of this.#sessions) setReading(session, false);
    this.#isClosed = true;
    this.#openLater();
  }

  #openLater(): void {
    if (this.#isOpening) return;
    this.#isOpening = true;
    setImmediate(this.#open);
  }

  readonly #open = (): void => {
    this.#isOpening = false;
    const isForOthers = this.#isClosed && !this.#wasForOthers;
    if (this.#isClosed) this.#openOthers();
    if (!isForOthers) this.#openNextHeavy();
    this.#wasForOthers = isForOthers;
    if (this.#heavy.size > 0) this.#openLater();
  };

  #openOthers(): void {
    this.#isClosed = false;
    for (const session of this.#sessions) if (!this.#heavy.has(session)) setReading(session, true);
  }

  #openNextHeavy(): void {
    for (const session of this.#heavy) {
      this.#heavy.delete(session);
      return setReading(session, true);
    }
  }
}
