/**
 * Notifies readers of runs, in this process and in others, of new events. Notices travel by LISTEN and NOTIFY, after
 * the transaction and not in it: PostgreSQL commits transactions with a NOTIFY one after the other, and would wait for
 * the disk in between. Notices are collected while one statement with notices is in progress, so that there are not as
 * many statements as events. Runs with subscribers are polled as well, in case a notice is lost.
 */
import { randomBytes } from "node:crypto";
import { Client } from "pg";
import type { RunNotice } from "../store.ts";
import { type Driver, LocalNotices } from "./driver.ts";
import { createConnectionSettings } from "./postgres-connections.ts";

/** How often the connection is tested, in milliseconds. */
const CHECK_INTERVAL_MS = 10_000;

/** Pauses before a new connection, in milliseconds: doubled from the first to the last. */
const FIRST_PAUSE_MS = 100;
const LAST_PAUSE_MS = 5_000;

const NOTIFY = "SELECT pg_notify($1, $2)";

const READ_STATES = `
  SELECT id, status, cancel_requested,
    (SELECT max(last_sequence) FROM :schema.events WHERE run = runs.number) AS last_sequence
  FROM :schema.runs WHERE id = :any_text($1)`;

/** Notices in one payload: an id has 36 characters and a mark, a payload fewer than 8,000. */
const MAX_JOINED = 200;

/** How often runs with subscribers are polled, in milliseconds: with and without a listening connection. */
const POLL_INTERVAL_MS = 5_000;
const POLL_INTERVAL_ALONE_MS = 500;

/** In a payload: runs were put into the queue. */
const QUEUED = "queued";

/** In a payload, after the id of a run: it is to be cancelled. */
const CANCEL_MARK = "!";

interface RunState {
  readonly id: string;
  readonly last_sequence: number | null;
  readonly status: number;
  readonly cancel_requested: number;
}

/** One connection that listens to a channel, and is replaced when it breaks. */
class Listener {
  readonly #url: string;
  readonly #channel: string;
  readonly #onPayload: (payload: string) => void;
  readonly #onReconnect: () => void;
  #client: Client | undefined;
  #timer: NodeJS.Timeout | undefined;
  #pauseMs = FIRST_PAUSE_MS;
  #isClosed = false;

  /**
   * @param onPayload Called with each payload of the channel.
   * @param onReconnect Called after a reconnect. Payloads that were sent in the meantime are lost.
   */
  constructor(url: string, channel: string, onPayload: (payload: string) => void, onReconnect: () => void) {
    this.#url = url;
    this.#channel = channel;
    this.#onPayload = onPayload;
    this.#onReconnect = onReconnect;
  }

  /** Whether it is connected, as far as it knows. */
  get isListening(): boolean {
    return this.#client !== undefined;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    const client = this.#client;
    this.#client = undefined;
    await client?.end().catch(ignore);
  }

  /** Connects, and again whenever that connection breaks. Throws if this attempt fails. */
  async open(): Promise<void> {
    const client = new Client(createConnectionSettings(this.#url));
    client.on("error", () => this.#replace(client));
    client.on("end", () => this.#replace(client));
    client.on("notification", ({ payload }) => this.#onPayload(payload ?? ""));
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

  /**
   * A network can drop a connection silently, so a statement tests it: without an answer, the connection is replaced.
   */
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
      this.open().then(
        () => this.#onReconnect(),
        () => {
          if (!this.#isClosed) this.#reconnectLater();
        },
      );
    }, this.#pauseMs);
    this.#timer.unref();
    this.#pauseMs = Math.min(LAST_PAUSE_MS, this.#pauseMs * 2);
  }
}

/** The notices of one process. */
export class PostgresNotices extends LocalNotices {
  readonly #database: Pick<Driver, "read" | "batch">;
  readonly #channel: string;
  readonly #listener: Listener;
  #unsent = new Set<string>();
  #sending: Promise<void> | undefined;
  /** The state of each run at the last poll, by its id. */
  #states = new Map<string, RunState>();
  #pollTimer: NodeJS.Timeout | undefined;
  #isPolling = false;
  #polledAt = 0;
  /** The first word of this process's payloads, which it ignores: it notifies its readers directly. */
  readonly #sender = randomBytes(6).toString("base64url");

  /** @param listenUrl Connection string of the listening connection, which needs a separate session. */
  constructor(database: Pick<Driver, "read" | "batch">, listenUrl: string, channel: string) {
    super();
    this.#database = database;
    this.#channel = channel;
    const onReconnect = () => {
      for (const runId of this.runIds) super.announce(runId, "change");
      super.announceQueued();
      void this.#poll();
    };
    this.#listener = new Listener(listenUrl, channel, (payload) => this.#receive(payload), onReconnect);
  }

  async open(): Promise<void> {
    await this.#listener.open();
    this.#pollTimer = setInterval(() => {
      const interval = this.#listener.isListening ? POLL_INTERVAL_MS : POLL_INTERVAL_ALONE_MS;
      if (performance.now() - this.#polledAt >= interval) void this.#poll();
    }, POLL_INTERVAL_ALONE_MS);
    this.#pollTimer.unref();
  }

  /** Sends the unsent notices and disconnects. */
  async close(): Promise<void> {
    clearInterval(this.#pollTimer);
    await this.#sending;
    await this.#listener.close();
  }

  override announce(runId: string, notice: RunNotice): void {
    super.announce(runId, notice);
    this.#send(notice === "cancel" ? runId + CANCEL_MARK : runId);
  }

  override announceQueued(): void {
    super.announceQueued();
    this.#send(QUEUED);
  }

  #receive(payload: string): void {
    const [sender, ...parts] = payload.split(" ");
    if (sender === this.#sender) return;
    for (const part of parts) {
      if (part === QUEUED) super.announceQueued();
      else if (part.endsWith(CANCEL_MARK)) super.announce(part.slice(0, -CANCEL_MARK.length), "cancel");
      else super.announce(part, "change");
    }
  }

  #send(part: string): void {
    this.#unsent.add(part);
    this.#sending ??= this.#sendAll();
  }

  async #sendAll(): Promise<void> {
    while (this.#unsent.size > 0) {
      const parts = [...this.#unsent];
      this.#unsent = new Set();
      for (let at = 0; at < parts.length; at += MAX_JOINED) {
        const payload = [this.#sender, ...parts.slice(at, at + MAX_JOINED)].join(" ");
        // The runs are stored already, so waiting readers find the changes when they poll.
        await this.#database.read(NOTIFY, [this.#channel, payload], "run").catch(ignore);
      }
    }
    this.#sending = undefined;
  }

  /** Reads the state of the runs with subscribers, and announces those that have changed since the last poll. */
  async #poll(): Promise<void> {
    const ids = this.runIds;
    if (this.#isPolling || ids.length === 0) return;
    this.#isPolling = true;
    this.#polledAt = performance.now();
    try {
      const states = await this.#database.read<RunState>(READ_STATES, [ids]);
      const last = this.#states;
      this.#states = new Map(states.map((state) => [state.id, state]));
      for (const id of ids) {
        const [before, now] = [last.get(id), this.#states.get(id)];
        if (now?.cancel_requested === 1 && before?.cancel_requested !== 1) super.announce(id, "cancel");
        const isSame = before?.last_sequence === now?.last_sequence && before?.status === now?.status;
        if (now === undefined || !isSame) super.announce(id, "change");
      }
    } catch {
      // The database is unavailable. The next poll comes soon.
    } finally {
      this.#isPolling = false;
    }
  }
}

function ignore(): void {}
