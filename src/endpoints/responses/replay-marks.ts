/**
 * Marks in the events of stored responses. The number of an event is known only by counting from the first event, so
 * resuming a stream would replay the whole run. A mark is a copy of the writer's state after some event of the run: a
 * replay starts at the nearest mark.
 */
import type { Run, RunEvent } from "../../gen/outrigger/v1/run_pb.ts";
import type { EventOptions, EventSink } from "./event-output.ts";
import { carriesState, type ResponseSettings } from "./settings.ts";
import type { ResponseEvents } from "./write-events.ts";

/** Minimum number of a run's events between two marks. Fewer are replayed in a few milliseconds. */
const INTERVAL = 512;

/** Maximum number of marks of one run. */
const MAX_MARKS = 32;

/** Memory for the marks of one run. Text that marks share is counted for each. */
const MAX_BYTES_OF_RUN = 4 * 1024 * 1024;

/** Memory for the marks of all runs. */
const MAX_BYTES = 64 * 1024 * 1024;

const BYTES_PER_UNIT = 2;

/** Discards everything: marks are continued by copies with separate sinks. */
const NOWHERE: EventSink = { write: () => undefined };

const UNWRITTEN: EventOptions = { startingAfter: Number.POSITIVE_INFINITY, pads: false };

/** The state of a writer after an event of its run. */
export interface Mark {
  /** Sequence number of the event. */
  readonly sequence: number;
  /** Must be copied before use. */
  readonly writer: ResponseEvents;
  readonly bytes: number;
}

/** The marks of all runs, within a limit on memory: the marks of the least recently read runs are dropped. */
export class ReplayMarks {
  /** By the keys of their readers, the most recent one last. */
  readonly #marks = new Map<string, readonly Mark[]>();
  readonly #maxBytes: number;
  #bytes = 0;

  constructor(maxBytes = MAX_BYTES) {
    this.#maxBytes = maxBytes;
  }

  /** Memory of all marks. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Opens the marks of a run for readers with these settings. */
  open(run: Run, settings: ResponseSettings): RunMarks {
    return new RunMarks(this, createKey(run.id, carriesState(settings)));
  }

  /** Drops the marks of a run that was deleted. */
  forget(runId: string): void {
    for (const carries of [true, false]) this.#remove(createKey(runId, carries));
  }

  /** Used by RunMarks. */
  read(key: string): readonly Mark[] {
    const marks = this.#remove(key);
    if (marks.length > 0) this.#insert(key, marks);
    return marks;
  }

  /** Used by RunMarks. */
  replace(key: string, marks: readonly Mark[]): void {
    this.#remove(key);
    this.#insert(key, marks);
    for (const oldest of this.#marks.keys()) {
      if (this.#bytes <= this.#maxBytes) return;
      this.#remove(oldest);
    }
  }

  #insert(key: string, marks: readonly Mark[]): void {
    this.#marks.set(key, marks);
    this.#bytes += sumBytes(marks);
  }

  #remove(key: string): readonly Mark[] {
    const marks = this.#marks.get(key) ?? [];
    this.#marks.delete(key);
    this.#bytes -= sumBytes(marks);
    return marks;
  }
}

/** The marks of one run. */
export class RunMarks {
  readonly #all: ReplayMarks;
  readonly #key: string;
  /** Sequence number of the latest mark that this reader knows. */
  #latest = 0;

  constructor(all: ReplayMarks, key: string) {
    this.#all = all;
    this.#key = key;
  }

  /**
   * Returns the latest mark from which a replay finds all events after a number.
   * @param startingAfter Number of the last event that the reader has.
   */
  find(startingAfter: number): Mark | undefined {
    return this.#all.read(this.#key).findLast(({ writer }) => writer.nextNumber <= startingAfter + 1);
  }

  /** Adds a mark if the last one is far away. @param batch The batch that the writer processed last. */
  note(writer: ResponseEvents, batch: readonly RunEvent[]): void {
    const sequence = batch.at(-1)?.sequence ?? 0;
    if (sequence < this.#latest + INTERVAL) return;
    const marks = this.#all.read(this.#key);
    this.#latest = marks.at(-1)?.sequence ?? 0;
    const bytes = writer.units * BYTES_PER_UNIT;
    if (sequence < this.#latest + INTERVAL || bytes > MAX_BYTES_OF_RUN) return;
    this.#latest = sequence;
    this.#all.replace(
      this.#key,
      thinOut([...marks, { sequence, writer: writer.copy(NOWHERE, UNWRITTEN), bytes }]),
    );
  }
}

/** Drops every second mark of the older half: most readers resume near the end. */
function thinOut(marks: readonly Mark[]): readonly Mark[] {
  let left = marks;
  while (left.length > MAX_MARKS || sumBytes(left) > MAX_BYTES_OF_RUN) {
    const half = left.length / 2;
    left = left.filter((_, index) => index >= half || index % 2 === 1);
  }
  return left;
}

function sumBytes(marks: readonly Mark[]): number {
  return marks.reduce((sum, { bytes }) => sum + bytes, 0);
}

/** Readers that get provider state have more events than others. */
function createKey(runId: string, carries: boolean): string {
  return `${runId} ${carries}`;
}
