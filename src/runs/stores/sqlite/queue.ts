/** Deliveries of queued runs within one process. */

type Handler = (runId: string) => Promise<void>;

/** How long a run that was delivered and not taken waits for its next delivery, in milliseconds. */
const REDELIVERY_MS = 1_000;

/** Where the ids of queued runs come from. */
export interface QueueSource {
  /** The first queued run that nobody holds and that is not in the set. */
  nextQueued(exclude: ReadonlySet<string>): string | undefined;
  /** Whether the run is still queued, and nobody holds it. */
  isQueued(runId: string): boolean;
}

interface Consumer {
  readonly handle: Handler;
  readonly concurrency: number;
  readonly underWay: Set<Promise<void>>;
}

/** Gives each queued run to one of its consumers. */
export class Queue {
  readonly #source: QueueSource;
  readonly #consumers = new Set<Consumer>();
  /** Runs that are being delivered, or that wait for their next delivery. */
  readonly #given = new Set<string>();
  readonly #timers = new Set<NodeJS.Timeout>();
  #next: NodeJS.Immediate | undefined;

  constructor(source: QueueSource) {
    this.#source = source;
  }

  /** Adds a consumer. Returns what ends it, after its deliveries under way. */
  deliver(handle: Handler, concurrency: number): () => Promise<void> {
    const consumer: Consumer = { handle, concurrency, underWay: new Set() };
    this.#consumers.add(consumer);
    this.wake();
    return async () => {
      this.#consumers.delete(consumer);
      await Promise.all(consumer.underWay);
    };
  }

  /** Looks for runs to deliver, a moment later: who has just queued one first gets its answer. */
  wake(): void {
    if (this.#consumers.size === 0) return;
    this.#next ??= setImmediate(() => {
      this.#next = undefined;
      this.#pump();
    });
  }

  close(): void {
    this.#consumers.clear();
    clearImmediate(this.#next);
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
  }

  #pump(): void {
    try {
      for (const consumer of this.#consumers) {
        while (consumer.underWay.size < consumer.concurrency) {
          const runId = this.#source.nextQueued(this.#given);
          if (runId === undefined) return;
          this.#give(runId, consumer);
        }
      }
    } catch {
      // The store says what is wrong with it at each call; here it is only asked again.
      this.#later(() => this.wake());
    }
  }

  #give(runId: string, { handle, underWay }: Consumer): void {
    this.#given.add(runId);
    const delivery = handle(runId)
      .catch(() => undefined)
      .then(() => {
        underWay.delete(delivery);
        this.#settle(runId);
      });
    underWay.add(delivery);
  }

  #settle(runId: string): void {
    if (this.#isQueued(runId)) {
      this.#later(() => {
        this.#given.delete(runId);
        this.wake();
      });
    } else {
      this.#given.delete(runId);
    }
    this.wake();
  }

  #isQueued(runId: string): boolean {
    try {
      return this.#source.isQueued(runId);
    } catch {
      return true;
    }
  }

  #later(run: () => void): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      run();
    }, REDELIVERY_MS);
    timer.unref();
    this.#timers.add(timer);
  }
}
