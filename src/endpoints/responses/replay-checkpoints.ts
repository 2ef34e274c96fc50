/**
 * Checkpoints of the events of stored responses. The number of an event is known only by counting from the first one,
 * so resuming a stream would replay the whole run. A checkpoint is a copy of the writer's state after an event of the
 * run. A replay starts at the nearest one.
 */
import type { Run, RunEvent } from "../../gen/outrigger/v1/run_pb.ts";
import type { EventOptions, EventSink } from "./event-output.ts";
import { carriesState, type ResponseSettings } from "./settings.ts";
import type { ResponseEvents } from "./write-events.ts";

/** Minimum number of a run's events between two checkpoints. Fewer are replayed in a few milliseconds. */
const INTERVAL = 512;

/** Maximum number of checkpoints of one run. */
const MAX_CHECKPOINTS = 32;

/** Memory for the checkpoints of one run. Text that checkpoints share is counted for each. */
const MAX_RUN_BYTES = 4 * 1024 * 1024;

/** Memory for the checkpoints of all runs. */
const MAX_BYTES = 64 * 1024 * 1024;

const BYTES_PER_UNIT = 2;

/** Checkpoints write nothing: a replay continues a copy with its own sink. */
const DISCARD: EventSink = { write: () => undefined };

const WITHOUT_OUTPUT: EventOptions = { startingAfter: Number.POSITIVE_INFINITY, pads: false };

/** The state of a writer after an event of its run. */
export interface Checkpoint {
  /** Sequence number of the event. */
  readonly sequence: number;
  /** Must be copied before use. */
  readonly writer: ResponseEvents;
  readonly bytes: number;
}

/**
 * The checkpoints of all runs. If their memory exceeds the limit, the ones of the least recently read runs are dropped.
 */
export class ReplayCheckpoints {
  /** By the keys of their readers, the most recent one last. */
  readonly #checkpoints = new Map<string, readonly Checkpoint[]>();
  readonly #maxBytes: number;
  #bytes = 0;

  constructor(maxBytes = MAX_BYTES) {
    this.#maxBytes = maxBytes;
  }

  /** Memory of all checkpoints. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Opens the checkpoints of a run for readers with these settings. */
  open(run: Run, settings: ResponseSettings): RunCheckpoints {
    return new RunCheckpoints(this, createKey(run.id, carriesState(settings)));
  }

  /** Drops the checkpoints of a run that was deleted. */
  forget(runId: string): void {
    for (const carries of [true, false]) this.#remove(createKey(runId, carries));
  }

  /** Used by RunCheckpoints. */
  read(key: string): readonly Checkpoint[] {
    const checkpoints = this.#remove(key);
    if (checkpoints.length > 0) this.#insert(key, checkpoints);
    return checkpoints;
  }

  /** Used by RunCheckpoints. */
  replace(key: string, checkpoints: readonly Checkpoint[]): void {
    this.#remove(key);
    this.#insert(key, checkpoints);
    for (const oldest of this.#checkpoints.keys()) {
      if (this.#bytes <= this.#maxBytes) return;
      this.#remove(oldest);
    }
  }

  #insert(key: string, checkpoints: readonly Checkpoint[]): void {
    this.#checkpoints.set(key, checkpoints);
    this.#bytes += sumBytes(checkpoints);
  }

  #remove(key: string): readonly Checkpoint[] {
    const checkpoints = this.#checkpoints.get(key) ?? [];
    this.#checkpoints.delete(key);
    this.#bytes -= sumBytes(checkpoints);
    return checkpoints;
  }
}

/** The checkpoints of one run. */
export class RunCheckpoints {
  readonly #all: ReplayCheckpoints;
  readonly #key: string;
  /** Sequence number of the latest known checkpoint. */
  #latest = 0;

  constructor(all: ReplayCheckpoints, key: string) {
    this.#all = all;
    this.#key = key;
  }

  /**
   * Returns the latest checkpoint from which a replay finds all events after a number.
   * @param startingAfter Number of the last event that the reader has.
   */
  find(startingAfter: number): Checkpoint | undefined {
    return this.#all.read(this.#key).findLast(({ writer }) => writer.nextNumber <= startingAfter + 1);
  }

  /** Adds a checkpoint if the last one is `INTERVAL` or more events ago. @param batch The writer's latest batch. */
  record(writer: ResponseEvents, batch: readonly RunEvent[]): void {
    const sequence = batch.at(-1)?.sequence ?? 0;
    if (sequence < this.#latest + INTERVAL) return;
    const checkpoints = this.#all.read(this.#key);
    this.#latest = checkpoints.at(-1)?.sequence ?? 0;
    const bytes = writer.units * BYTES_PER_UNIT;
    if (sequence < this.#latest + INTERVAL || bytes > MAX_RUN_BYTES) return;
    this.#latest = sequence;
    this.#all.replace(
      this.#key,
      thin([...checkpoints, { sequence, writer: writer.copy(DISCARD, WITHOUT_OUTPUT), bytes }]),
    );
  }
}

/** Drops every second checkpoint of the older half: most readers resume near the end. */
function thin(checkpoints: readonly Checkpoint[]): readonly Checkpoint[] {
  let left = checkpoints;
  while (left.length > MAX_CHECKPOINTS || sumBytes(left) > MAX_RUN_BYTES) {
    const half = left.length / 2;
    left = left.filter((_, index) => index >= half || index % 2 === 1);
  }
  return left;
}

function sumBytes(checkpoints: readonly Checkpoint[]): number {
  return checkpoints.reduce((sum, { bytes }) => sum + bytes, 0);
}

/** Readers that get provider state have more events than others. */
function createKey(runId: string, carries: boolean): string {
  return `${runId} ${carries}`;
}
