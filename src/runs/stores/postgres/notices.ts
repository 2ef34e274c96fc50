/**
 * Tells readers of runs, in this process and in others, that there is something to read.
 *
 * Notices travel by LISTEN and NOTIFY, after the transaction that they are about and not in it: PostgreSQL commits
 * transactions with a NOTIFY one after the other, and would wait for the disk in between. While one statement with
 * notices is under way the next ones gather, so that their number does not grow with that of the events. A notice that is
 * lost with its sender, or on the way, is made up for by a look at the runs that somebody waits for.
 */
import { randomBytes } from "node:crypto";
import type { RunNotice } from "../../store.ts";
import type { Database, Statement } from "./database.ts";
import { Listener } from "./listener.ts";

const NOTIFY: Statement = { name: "notify", text: "SELECT pg_notify($1, $2)" };

const READ_STATES: Statement = {
  name: "read_run_states",
  text: `
    SELECT id, last_sequence, status, cancel_requested FROM :schema.runs WHERE id = ANY ($1::text[])`,
};

/** Notices in one payload: an id has 36 characters and a mark, a payload fewer than 8,000. */
const MAX_JOINED = 200;

/** How often the runs that somebody waits for are looked at, in milliseconds: with and without a listener. */
const LOOK_INTERVAL_MS = 5_000;
const LOOK_INTERVAL_ALONE_MS = 500;

/** Stands in a payload for runs that were put into the queue. */
const QUEUED = "queued";

/** Marks in a payload that a run is to be cancelled. */
const CANCEL_MARK = "!";

interface RunState {
  readonly id: string;
  readonly last_sequence: number;
  readonly status: number;
  readonly cancel_requested: boolean;
}

type OnNotice = (notice: RunNotice) => void;

/** The notices of one process. */
export class Notices {
  readonly #database: Database;
  readonly #channel: string;
  readonly #listener: Listener;
  readonly #subscribers = new Map<string, Set<OnNotice>>();
  readonly #queueSubscribers = new Set<() => void>();
  /** What is to be sent. */
  #waiting = new Set<string>();
  #sending: Promise<void> | undefined;
  #isSending = false;
  /** What runs were like at the last look, by their ids. */
  #states = new Map<string, RunState>();
  #lookTimer: NodeJS.Timeout | undefined;
  #isLooking = false;
  #lookedAt = 0;
  /** Begins the payloads of this process, whose own readers know already. */
  readonly #sender = randomBytes(6).toString("base64url");

  /** @param listenUrl Connection string of the listening connection, which has to be a session of its own. */
  constructor(database: Database, listenUrl: string) {
    this.#database = database;
    this.#channel = `${database.schema}_runs`;
    this.#listener = new Listener(listenUrl, this.#channel, {
      onPayload: (payload) => this.#receive(payload),
      onReconnect: () => this.#tellAll(),
    });
  }

  async open(): Promise<void> {
    await this.#listener.open();
    this.#lookTimer = setInterval(() => void this.#lookWhenDue(), LOOK_INTERVAL_ALONE_MS);
    this.#lookTimer.unref();
  }

  /** Sends what is waiting, and ends. */
  async close(): Promise<void> {
    clearInterval(this.#lookTimer);
    await this.#sending;
    await this.#listener.close();
  }

  /** Tells of a run what the transaction did that was committed. */
  announce(runId: string, notice: RunNotice = "change"): void {
    this.#tell(runId, notice);
    this.#send(notice === "cancel" ? runId + CANCEL_MARK : runId);
  }

  /** Tells that a run was put into the queue. */
  announceQueued(): void {
    for (const onQueued of this.#queueSubscribers) onQueued();
    this.#send(QUEUED);
  }

  /** Calls back on notices of a run. Returns what ends that. */
  subscribe(runId: string, onNotice: OnNotice): () => void {
    const subscribers = this.#subscribers.get(runId) ?? new Set();
    this.#subscribers.set(runId, subscribers);
    // A function of its own: the same callback may be subscribed twice.
    const subscriber: OnNotice = (notice) => onNotice(notice);
    subscribers.add(subscriber);
    return () => {
      subscribers.delete(subscriber);
      if (subscribers.size > 0 || this.#subscribers.get(runId) !== subscribers) return;
      this.#subscribers.delete(runId);
      this.#states.delete(runId);
    };
  }

  /** Calls back when runs were put into the queue. Returns what ends that. */
  subscribeToQueue(onQueued: () => void): () => void {
    this.#queueSubscribers.add(onQueued);
    return () => this.#queueSubscribers.delete(onQueued);
  }

  #tell(runId: string, notice: RunNotice): void {
    for (const onNotice of this.#subscribers.get(runId) ?? []) onNotice(notice);
  }

  #tellAll(): void {
    for (const runId of this.#subscribers.keys()) this.#tell(runId, "change");
    for (const onQueued of this.#queueSubscribers) onQueued();
    void this.#look();
  }

  #receive(payload: string): void {
    const [sender, ...parts] = payload.split(" ");
    if (sender === this.#sender) return;
    for (const part of parts) {
      if (part === QUEUED) for (const onQueued of this.#queueSubscribers) onQueued();
      else if (part.endsWith(CANCEL_MARK)) this.#tell(part.slice(0, -CANCEL_MARK.length), "cancel");
      else this.#tell(part, "change");
    }
  }

  #send(part: string): void {
    this.#waiting.add(part);
    if (!this.#isSending) this.#sending = this.#sendWaiting();
  }

  async #sendWaiting(): Promise<void> {
    this.#isSending = true;
    while (this.#waiting.size > 0) {
      const parts = [...this.#waiting];
      this.#waiting = new Set();
      for (let at = 0; at < parts.length; at += MAX_JOINED) {
        const payload = [this.#sender, ...parts.slice(at, at + MAX_JOINED)].join(" ");
        // The runs were written; whoever waits for them looks at them in a while.
        await this.#database.query(NOTIFY, [this.#channel, payload]).catch(ignore);
      }
    }
    this.#isSending = false;
  }

  async #lookWhenDue(): Promise<void> {
    const interval = this.#listener.isListening ? LOOK_INTERVAL_MS : LOOK_INTERVAL_ALONE_MS;
    if (performance.now() - this.#lookedAt >= interval) await this.#look();
  }

  /** Looks at the runs that somebody waits for, and tells of those that have changed since the last look. */
  async #look(): Promise<void> {
    if (this.#isLooking || this.#subscribers.size === 0) return;
    this.#isLooking = true;
    this.#lookedAt = performance.now();
    try {
      const ids = [...this.#subscribers.keys()];
      const states = await this.#database.query<RunState>(READ_STATES, [ids]);
      const found = new Map(states.map((state) => [state.id, state]));
      for (const id of ids) this.#compare(id, found.get(id));
    } catch {
      // The database is away; the next look is soon.
    } finally {
      this.#isLooking = false;
    }
  }

  #compare(id: string, state: RunState | undefined): void {
    if (!this.#subscribers.has(id)) return;
    const last = this.#states.get(id);
    if (state === undefined) this.#states.delete(id);
    else this.#states.set(id, state);
    if (state?.cancel_requested === true && last?.cancel_requested !== true) this.#tell(id, "cancel");
    const isSame = last?.last_sequence === state?.last_sequence && last?.status === state?.status;
    if (state === undefined || !isSame) this.#tell(id, "change");
  }
}

function ignore(): void {}
