import { Client } from "pg";
import { createConnectionSettings } from "./postgres-connections.ts";

/** How often the connection is tried, in milliseconds. */
const CHECK_INTERVAL_MS = 10_000;

/** Pauses before a new connection, in milliseconds: doubled from the first to the last. */
const FIRST_PAUSE_MS = 100;
const LAST_PAUSE_MS = 5_000;

/** Callbacks of a listener. */
export interface ListenerEvents {
  /** Called with each payload of the channel. */
  readonly onPayload: (payload: string) => void;
  /** Called when the connection is back. Payloads that were sent meanwhile are lost. */
  readonly onReconnect: () => void;
}

/** One connection that listens to a channel, and is replaced when it breaks. */
export class Listener {
  readonly #url: string;
  readonly #channel: string;
  readonly #events: ListenerEvents;
  #client: Client | undefined;
  #timer: NodeJS.Timeout | undefined;
  #pauseMs = FIRST_PAUSE_MS;
  #isClosed = false;

  constructor(url: string, channel: string, events: ListenerEvents) {
    this.#url = url;
    this.#channel = channel;
    this.#events = events;
  }

  /** Whether it is connected, as far as it knows. */
  get isListening(): boolean {
    return this.#client !== undefined;
  }

  /** Connects, and again whenever the connection breaks. Throws if the first attempt fails. */
  async open(): Promise<void> {
    await this.#connect();
  }

  /** Ends the connection. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    const client = this.#client;
    this.#client = undefined;
    await client?.end().catch(ignore);
  }

  async #connect(): Promise<void> {
    const client = new Client(createConnectionSettings(this.#url));
    client.on("error", () => this.#replace(client));
    client.on("end", () => this.#replace(client));
    client.on("notification", ({ payload }) => this.#events.onPayload(payload ?? ""));
    try {
      await client.connect();
      await client.query(`LISTEN "${this.#channel}"`);
    } catch (thrown) {
      client.end().catch(ignore);
      throw thrown;
    }
    if (this.#isClosed) {
      await client.end().catch(ignore);
      return;
    }
    this.#client = client;
    this.#pauseMs = FIRST_PAUSE_MS;
    this.#checkLater(client);
  }

  /** A network can lose a connection silently: a statement without an answer ends it. */
  #checkLater(client: Client): void {
    this.#timer = setTimeout(() => {
      client.query("SELECT 1").then(
        () => {
          if (this.#client === client) this.#checkLater(client);
        },
        () => this.#replace(client),
      );
    }, CHECK_INTERVAL_MS);
    this.#timer.unref();
  }

  #replace(client: Client): void {
    if (this.#client !== client || this.#isClosed) return;
    this.#client = undefined;
    clearTimeout(this.#timer);
    client.end().catch(ignore);
    this.#reconnectLater();
  }

  #reconnectLater(): void {
    this.#timer = setTimeout(() => {
      this.#connect().then(
        () => this.#events.onReconnect(),
        () => {
          if (!this.#isClosed) this.#reconnectLater();
        },
      );
    }, this.#pauseMs);
    this.#timer.unref();
    this.#pauseMs = Math.min(LAST_PAUSE_MS, this.#pauseMs * 2);
  }
}

function ignore(): void {}
