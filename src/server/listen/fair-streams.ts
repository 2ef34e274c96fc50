import type { Http2Session, IncomingHttpHeaders, ServerHttp2Session, ServerHttp2Stream } from "node:http2";
import { readOnInNextTurn } from "../internals/node-http.ts";

/** Streams that a connection may open in one turn of the event loop before the others have their turn. */
const MAX_READ_PER_TURN = 100;

/** Streams of a connection that are served in one turn. The beginning of a call takes about a millisecond. */
const MAX_SERVED_PER_TURN = 20;

/**
 * Prevents a connection that opens streams as fast as it can from delaying all others: its bytes are then read in
 * portions, one for each turn of the event loop.
 */
export function readFairly(session: ServerHttp2Session): void {
  let streams = 0;
  const beginTurn = () => {
    streams = 0;
  };
  session.on("stream", () => {
    streams += 1;
    if (streams === 1) setImmediate(beginTurn);
    if (streams === MAX_READ_PER_TURN) readOnInNextTurn(session);
  });
}

/** Serves a stream, with the further arguments of the server's event. */
type Serve = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders, ...rest: unknown[]) => void;

/**
 * Also serves the streams of each connection in portions, in their order. A single read can hold a thousand streams.
 * Streams that were reset before their turn are not served, so that opening and resetting streams costs little.
 */
export function serveFairly(serve: Serve): Serve {
  const queues = new WeakMap<Http2Session, StreamQueue>();
  return (stream, headers, ...rest) => {
    // Without a listener, the error of an unserved stream would end the process.
    stream.on("error", ignore);
    const { session } = stream;
    // The stream is gone with its connection.
    if (session === undefined) return;
    const queue = queues.get(session) ?? new StreamQueue();
    queues.set(session, queue);
    queue.add({ stream, serve: () => serve(stream, headers, ...rest) });
  };
}

interface Waiting {
  readonly stream: ServerHttp2Stream;
  serve(): void;
}

/** The streams of one connection that wait to be served. */
class StreamQueue {
  #waiting: Waiting[] = [];
  #served = 0;
  #isTurnScheduled = false;

  add(entry: Waiting): void {
    this.#waiting.push(entry);
    this.#serve();
  }

  #serve(): void {
    let next = 0;
    for (; next < this.#waiting.length && this.#served < MAX_SERVED_PER_TURN; next += 1) {
      const entry = this.#waiting[next];
      if (entry === undefined || entry.stream.closed) continue;
      this.#served += 1;
      entry.serve();
    }
    this.#waiting = this.#waiting.slice(next);
    if (this.#served > 0 && !this.#isTurnScheduled) this.#scheduleTurn();
  }

  #scheduleTurn(): void {
    this.#isTurnScheduled = true;
    setImmediate(() => {
      this.#isTurnScheduled = false;
      this.#served = 0;
      this.#serve();
    });
  }
}

function ignore(): void {
  // Empty: see the comment at the use.
}
