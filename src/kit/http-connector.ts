import { Socket } from "node:net";
import { type buildConnector, errors } from "undici";

/** Gives up one attempt to connect: its socket closes at once and the attempt fails. */
type GiveUp = (error: Error) => void;

/** The attempts of a pool that are under way. */
export type Attempts = Set<GiveUp>;

/**
 * Makes the connections of one undici client. undici itself lets nobody give up an attempt to
 * connect, and has one time limit for all attempts.
 */
export class Connector {
  /** Limit of the next attempt in milliseconds; 0 for none. */
  limitMs = 0;
  readonly #connect: buildConnector.connector;
  readonly #attempts: Attempts;
  #giveUp: GiveUp | undefined;

  /**
   * @param connect Opens a connection.
   * @param attempts Holds what is under way, so that closing the pool can give it up.
   */
  constructor(connect: buildConnector.connector, attempts: Attempts) {
    this.#connect = connect;
    this.#attempts = attempts;
  }

  /** Gives up the attempt under way, if there is one. */
  giveUp(error: Error): void {
    this.#giveUp?.(error);
  }

  /** Opens a connection. For undici. */
  readonly connect: buildConnector.connector = (options, callback) => {
    const canceller = new AbortController();
    let socket: unknown;
    const giveUp: GiveUp = (error) => {
      settle(error, null);
      canceller.abort(error);
      if (socket instanceof Socket) socket.destroy(error);
    };
    const settle: buildConnector.Callback = (...outcome) => {
      if (!this.#attempts.delete(giveUp)) return closeLate(outcome[1]);
      clearTimeout(timer);
      this.#giveUp = undefined;
      callback(...outcome);
    };
    const timer = this.#startTimer(giveUp);
    this.#attempts.add(giveUp);
    this.#giveUp = giveUp;
    // A direct connector returns its socket; the one of a proxy's tunnel listens to the signal.
    const cancellable = { ...options, signal: canceller.signal };
    socket = this.#connect(cancellable, settle);
  };

  #startTimer(giveUp: GiveUp): NodeJS.Timeout | undefined {
    if (this.limitMs === 0) return undefined;
    return setTimeout(() => giveUp(new errors.ConnectTimeoutError("connect time-out")), this.limitMs);
  }
}

/** An attempt that was given up may yet succeed, where a proxy's tunnel was already past stopping. */
function closeLate(socket: Socket | null | undefined): void {
  socket?.on("error", () => undefined).destroy();
}
