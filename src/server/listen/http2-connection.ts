import {
  constants,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import { hasShare, runAfterOthers, runInTurn } from "../../core/loop-turns.ts";
import { LONGEST_TIMER_MS } from "../../kit/http/timeouts.ts";
import type { Limits } from "../base/limits.ts";
import { joinData } from "./join-data.ts";
import type { ReadScheduler } from "./read-scheduler.ts";

/** Limits of the lifetime of an HTTP/2 connection; see Limits. */
export type ConnectionLimits = Pick<
  Limits,
  "maxConnectionIdleMs" | "maxConnectionAgeMs" | "maxConnectionAgeGraceMs"
>;

/** Serves a stream. The last two arguments come from Node's event. Must not throw. */
export type ServeStream = (
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  flags: number,
  rawHeaders: readonly string[],
) => void;

/**
 * Cost after which a connection is not read any further in a turn of the event loop, so that others have their turn:
 * about a hundred ordinary streams, or DATA frames for five milliseconds.
 */
const MAX_READ_PER_TURN = 2000;

/** Header fields of a stream that every caller may send. A call of gRPC has about ten. */
const ORDINARY_FIELDS = 64;

/** A connection that brings this many fields beyond the ordinary ones in one turn is closed: they take 5 ms. */
const MAX_EXTRA_FIELDS = 4000;

/** Maximum number of DATA frames of a connection that are passed on one by one in a turn. */
const MAX_SINGLE_FRAMES = 100;

/**
 * Cost after which no further streams of a connection are served in a turn: about five ordinary streams. The beginning
 * of a call takes about a millisecond.
 */
const MAX_SERVED_PER_TURN = 100;

/**
 * Time for a peer to act on the first GOAWAY, before new streams are refused. Peers are on the same machine or near it.
 * Some (such as Node's client) no longer answer pings after a GOAWAY.
 */
const GRACE_MS = 200;

/** A stream that is not served yet. An empty body may have ended before, so that its `end` is no longer emitted. */
type WaitingStream = Readonly<Parameters<ServeStream>>;

/** Cost of a stream without its header fields. The unit is one field, which is also the cost of a DATA frame. */
const STREAM_COST = 10;

// No stream id is larger: all streams so far, and those still on their way, are served.
const MAX_STREAM_ID = 2 ** 31 - 1;

/**
 * The streams that wait for their turn, of all connections of a server. Each holds its headers, which may be thousands
 * of fields, and nothing else counts them yet.
 */
export class StreamBacklog {
  readonly #maxCost: number;
  #cost = 0;

  /** @param maxCost In header fields, of which each takes up to 300 bytes. */
  constructor(maxCost: number) {
    this.#maxCost = maxCost;
  }

  /** Adds a stream. Returns false if there is no room for it. */
  add(cost: number): boolean {
    if (this.#cost + cost > this.#maxCost) return false;
    this.#cost += cost;
    return true;
  }

  /** Releases the room of a stream. */
  remove(cost: number): void {
    this.#cost -= cost;
  }
}

/**
 * An HTTP/2 connection. It cannot delay the others by opening streams as fast as it can: in each turn of the event loop
 * a part of its bytes is read and a part of its streams is served, in their order, since a single read can hold a
 * thousand streams. It is closed when it has had no stream for too long or is too old, the two rules of gRPC's proposal
 * A9; peers reconnect without losing a call.
 */
export class Http2Connection {
  readonly #session: ServerHttp2Session;
  readonly #limits: ConnectionLimits;
  readonly #serve: ServeStream;
  readonly #backlog: StreamBacklog;
  readonly #scheduler: ReadScheduler;
  /** When it last had a stream, or was opened, by `performance.now()`; undefined while it has one. */
  idleSince: number | undefined = performance.now();
  #waiting: WaitingStream[] = [];
  #openStreams = 0;
  /** Cost of what was read in this turn. */
  #readInTurn = 0;
  /** Header fields beyond the ordinary ones that were read in this turn. */
  #extraInTurn = 0;
  #framesInTurn = 0;
  /** Cost of the streams that were served in this turn. */
  #servedInTurn = 0;
  #isTurnEnding = false;
  #isPingPending = false;
  #idleTimer: NodeJS.Timeout | undefined;
  #ageTimer: NodeJS.Timeout | undefined;

  constructor(
    session: ServerHttp2Session,
    limits: ConnectionLimits,
    serve: ServeStream,
    backlog: StreamBacklog,
    scheduler: ReadScheduler,
  ) {
    this.#session = session;
    this.#limits = limits;
    this.#serve = serve;
    this.#backlog = backlog;
    this.#scheduler = scheduler;
    scheduler.add(session);
    session.on("stream", this.#onStream);
    this.#startTimers();
  }

  /**
   * Closes the connection once its streams have finished, in the two steps of a graceful shutdown (RFC 9113 §6.8): a
   * first GOAWAY announces the end, and after a round trip a second one names the last stream, so that no stream on its
   * way is lost.
   */
  closeGracefully(): void {
    const session = this.#session;
    if (session.destroyed || session.closed) return;
    session.goaway(0, MAX_STREAM_ID);
    const finish = () => {
      clearTimeout(timer);
      if (!session.destroyed) session.close();
    };
    const timer = setTimeout(finish, GRACE_MS);
    // Also called, with an error, when the session is destroyed first.
    session.ping(finish);
  }

  /** Aborts the connection. */
  destroy(): void {
    this.#session.destroy();
  }

  /** Sends a ping. Destroys the connection if its peer has not answered the previous one: the peer has vanished. */
  checkPeer(): void {
    if (this.#isPingPending) return this.destroy();
    if (this.#session.destroyed) return;
    this.#isPingPending = true;
    this.#session.ping((error) => {
      if (error === null) this.#isPingPending = false;
    });
  }

  readonly #onStream: ServeStream = (stream, headers, flags, rawHeaders) => {
    // Without a listener, the error of a stream would end the process. `close` follows it.
    stream.on("error", ignore);
    stream.on("close", this.#onStreamClose);
    stream.on("trailers", this.#countTrailers);
    this.#openStreams += 1;
    this.idleSince = undefined;
    const cost = getCost(rawHeaders);
    if (!this.#countFields(cost)) return this.#refuse();
    joinData(stream, this.#countFrame);
    if (this.#waiting.length > 0 || this.#servedInTurn >= MAX_SERVED_PER_TURN || !hasShare())
      return this.#postpone([stream, headers, flags, rawHeaders], cost);
    this.#servedInTurn += cost;
    this.#serve(stream, headers, flags, rawHeaders);
  };

  /**
   * Counts trailers: gRPC clients send none and nothing reads them, but Node still creates an object for each field.
   */
  readonly #countTrailers = (_trailers: unknown, _flags: number, rawTrailers: readonly string[]): void => {
    if (!this.#countFields(getCost(rawTrailers))) this.#refuse();
  };

  /** Counts the cost of a block of header fields. Returns false if the connection brings too many. */
  #countFields(cost: number): boolean {
    this.#countRead(cost);
    this.#extraInTurn += Math.max(0, cost - STREAM_COST - ORDINARY_FIELDS);
    return this.#extraInTurn <= MAX_EXTRA_FIELDS;
  }

  /** Aborts the connection of a peer that misuses it. Bytes that have arrived may still open streams. */
  #refuse(): void {
    if (!this.#session.destroyed) this.#session.goaway(constants.NGHTTP2_ENHANCE_YOUR_CALM);
    this.destroy();
  }

  /** Counts a DATA frame. Returns whether it can be passed on separately. */
  readonly #countFrame = (): boolean => {
    this.#countRead(1);
    this.#framesInTurn += 1;
    return this.#framesInTurn <= MAX_SINGLE_FRAMES;
  };

  #countRead(cost: number): void {
    const hadRead = this.#readInTurn;
    this.#readInTurn += cost;
    if (hadRead < MAX_READ_PER_TURN && this.#readInTurn >= MAX_READ_PER_TURN)
      this.#scheduler.pause(this.#session);
    if (this.#isTurnEnding) return;
    this.#isTurnEnding = true;
    setImmediate(this.#endTurn);
  }

  readonly #endTurn = (): void => {
    this.#isTurnEnding = false;
    this.#readInTurn = 0;
    this.#extraInTurn = 0;
    this.#framesInTurn = 0;
    this.#servedInTurn = 0;
  };

  #postpone(waiting: WaitingStream, cost: number): void {
    // A refused stream may be sent again (RFC 9113 §8.7).
    if (!this.#backlog.add(cost)) return waiting[0].close(constants.NGHTTP2_REFUSED_STREAM);
    this.#waiting.push(waiting);
    if (this.#waiting.length > 1) return;
    if (this.#servedInTurn < MAX_SERVED_PER_TURN) runInTurn(this.#serveWaiting);
    else runAfterOthers(this.#serveWaiting);
  }

  /** Streams that were reset before their turn are not served, so that opening and resetting streams costs little. */
  readonly #serveWaiting = (): void => {
    let next = 0;
    for (let served = 0; next < this.#waiting.length && served < MAX_SERVED_PER_TURN; next += 1) {
      const waiting = this.#waiting[next];
      if (waiting === undefined) continue;
      const [stream, , , rawHeaders] = waiting;
      const cost = getCost(rawHeaders);
      this.#backlog.remove(cost);
      if (stream.closed || stream.destroyed) continue;
      served += cost;
      this.#serve(...waiting);
    }
    this.#waiting = this.#waiting.slice(next);
    if (this.#waiting.length > 0) runAfterOthers(this.#serveWaiting);
  };

  readonly #onStreamClose = (): void => {
    this.#openStreams -= 1;
    if (this.#openStreams > 0) return;
    this.idleSince = performance.now();
    // Restarts the timer even if it has fired meanwhile.
    if (!this.#session.destroyed) this.#idleTimer?.refresh();
  };

  #startTimers(): void {
    const { maxConnectionIdleMs: idleMs, maxConnectionAgeMs: ageMs, maxConnectionAgeGraceMs } = this.#limits;
    if (idleMs <= LONGEST_TIMER_MS)
      this.#idleTimer = setTimeout(() => {
        if (this.#openStreams === 0) this.closeGracefully();
      }, idleMs);
    if (ageMs <= LONGEST_TIMER_MS)
      this.#ageTimer = setTimeout(() => {
        this.closeGracefully();
        if (maxConnectionAgeGraceMs <= LONGEST_TIMER_MS)
          this.#ageTimer = setTimeout(() => this.destroy(), maxConnectionAgeGraceMs);
      }, spread(ageMs));
    this.#session.once("close", () => {
      clearTimeout(this.#idleTimer);
      clearTimeout(this.#ageTimer);
    });
  }
}

/** Returns the cost of a stream. @param rawHeaders Names and values in turn. */
function getCost(rawHeaders: readonly string[]): number {
  return STREAM_COST + rawHeaders.length / 2;
}

/** Varies a time by up to a tenth, so that connections that were opened together are not all closed together. */
function spread(ms: number): number {
  return ms * (0.9 + 0.2 * Math.random());
}

function ignore(): void {
  // Empty: see the comment at the use.
}
