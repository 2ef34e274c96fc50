import type { ServerHttp2Session } from "node:http2";
import { setReading } from "../internals/node-http.ts";

/**
 * Schedules the reading of a server's HTTP/2 connections. Node reads them outside JavaScript, up to 2 MiB of each in
 * one turn of the event loop, and 64 KiB can hold 60,000 header fields, which take 80 ms. Therefore a connection that
 * has sent much data pauses all of them until the next turn. That turn reads the others. Each later turn reads one more
 * of the heavy connections, even if further ones send much data in every turn.
 */
export class ReadScheduler {
  readonly #sessions = new Set<ServerHttp2Session>();
  /** Paused connections that sent much data, in order. */
  readonly #heavy = new Set<ServerHttp2Session>();
  #isPaused = false;
  #isScheduled = false;
  /** Whether the last turn read no heavy connection. */
  #wasForOthers = false;

  /** Adds a connection, until it is closed. */
  add(session: ServerHttp2Session): void {
    this.#sessions.add(session);
    session.once("close", () => {
      this.#sessions.delete(session);
      this.#heavy.delete(session);
    });
  }

  /** Pauses all connections for this turn. @param heavy The connection that has sent much data. */
  pause(heavy: ServerHttp2Session): void {
    this.#heavy.add(heavy);
    // It may have been added after the others were paused.
    if (this.#isPaused) setReading(heavy, false);
    else for (const session of this.#sessions) setReading(session, false);
    this.#isPaused = true;
    this.#resumeLater();
  }

  #resumeLater(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(this.#resume);
  }

  readonly #resume = (): void => {
    this.#isScheduled = false;
    const isForOthers = this.#isPaused && !this.#wasForOthers;
    if (this.#isPaused) this.#resumeOthers();
    if (!isForOthers) this.#resumeNextHeavy();
    this.#wasForOthers = isForOthers;
    if (this.#heavy.size > 0) this.#resumeLater();
  };

  #resumeOthers(): void {
    this.#isPaused = false;
    for (const session of this.#sessions) if (!this.#heavy.has(session)) setReading(session, true);
  }

  #resumeNextHeavy(): void {
    for (const session of this.#heavy) {
      this.#heavy.delete(session);
      return setReading(session, true);
    }
  }
}
