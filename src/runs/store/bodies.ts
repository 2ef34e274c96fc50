/**
 * Converts runs, threads and messages to rows and back. Encryption authenticates the id of each body, so ids never
 * change.
 */
import { create } from "@bufbuild/protobuf";
import { timestampMs } from "@bufbuild/protobuf/wkt";
import { InternalError } from "../../core/errors.ts";
import { readTraceContext } from "../../core/trace-context.ts";
import { MessageBodySchema, RequestBodySchema } from "../../gen/outrigger/storage/v1/bodies_pb.ts";
import { type StepResult, StepResultSchema } from "../../gen/outrigger/v1/generation_pb.ts";
import type { Message } from "../../gen/outrigger/v1/message_pb.ts";
import { type Run, type RunEvent, RunSchema, RunStatus } from "../../gen/outrigger/v1/run_pb.ts";
import { CreateRunRequestSchema } from "../../gen/outrigger/v1/run_service_pb.ts";
import { type Thread, ThreadMessageSchema, ThreadSchema } from "../../gen/outrigger/v1/thread_pb.ts";
import { acceptsCancel, isQueuedOrRunning } from "../status.ts";
import type { StoredMessage, StoredRun } from "../store.ts";
import type { BodyCodec } from "./body-codec.ts";
import type { BodyRow } from "./driver.ts";

/** Maximum number of events in one row, since readers read whole rows. */
const MAX_EVENTS_PER_ROW = 64;

/** Longest id that is indexed: an entry of an index must fit into a page, also in PostgreSQL (2704 bytes). */
const MAX_ID_LENGTH = 512;

/** The columns of a RunRow. Most writes append events only, so the last sequence number is in the events. */
export const RUN_COLUMNS = `runs.number, runs.id, runs.owner, runs.thread_id, runs.status, runs.cancel_requested,
  runs.start_position, runs.end_position, runs.body,
  (SELECT max(last_sequence) FROM :schema.events WHERE run = runs.number) AS last_sequence`;

/** The columns of a StoredRunRow. */
export const STORED_RUN_COLUMNS = `${RUN_COLUMNS},
  (SELECT requests.body FROM :schema.requests WHERE requests.run = runs.number) AS request`;

/** A row with RUN_COLUMNS. */
export interface RunRow extends BodyRow {
  readonly number: number;
  readonly id: string;
  readonly owner: string;
  readonly thread_id: string;
  readonly status: RunStatus;
  readonly cancel_requested: number;
  readonly start_position: number;
  readonly end_position: number;
  readonly last_sequence: number | null;
}

/** A row with STORED_RUN_COLUMNS. */
export interface StoredRunRow extends RunRow {
  readonly request: Uint8Array;
}

/** A row with a message. */
export interface MessageRow extends BodyRow {
  readonly id: string;
}

/** Events in one row. */
export interface EventRow extends BodyRow {
  readonly last_sequence: number;
}

/** Writes and reads bodies. */
export class Bodies {
  readonly #codec: BodyCodec;

  constructor(codec: BodyCodec) {
    this.#codec = codec;
  }

  /** Writes a run without its steps, which have separate bodies. */
  writeRun(run: Run): Uint8Array {
    const plain = run.steps.length === 0 ? run : { ...run, steps: [] };
    return this.#codec.write(RunSchema, plain, `run ${run.id}`);
  }

  /** Returns the run of a row. Columns that change without the body take precedence. */
  readRun(row: RunRow): Run {
    const run = this.#codec.read(RunSchema, row.body, `run ${row.id}`);
    run.lastSequence = row.last_sequence ?? run.lastSequence;
    run.cancelRequested ||= row.cancel_requested === 1 && acceptsCancel(run.status);
    return run;
  }

  readStoredRun(row: StoredRunRow): StoredRun {
    const body = this.#codec.read(RequestBodySchema, row.request, `request ${row.id}`);
    const { request = create(CreateRunRequestSchema), origin, trace } = body;
    return {
      run: this.readRun(row),
      owner: row.owner,
      request,
      origin,
      trace: trace && readTraceContext({ traceparent: trace.traceparent, tracestate: trace.tracestate }),
    };
  }

  writeRequest(runId: string, { request, origin, trace }: Omit<StoredRun, "run" | "owner">): Uint8Array {
    const body = create(RequestBodySchema, { request, ...(origin && { origin }), ...(trace && { trace }) });
    return this.#codec.write(RequestBodySchema, body, `request ${runId}`);
  }

  /** @param number The number of the step in the run, from 1. */
  writeStep(runId: string, number: number, step: StepResult): Uint8Array {
    return this.#codec.write(StepResultSchema, step, `step ${runId} ${number}`);
  }

  readStep(runId: string, number: number, body: Uint8Array): StepResult {
    return this.#codec.read(StepResultSchema, body, `step ${runId} ${number}`);
  }

  writeThread(thread: Thread): Uint8Array {
    return this.#codec.write(ThreadSchema, thread, `thread ${thread.id}`);
  }

  readThread(id: string, body: Uint8Array): Thread {
    return this.#codec.read(ThreadSchema, body, `thread ${id}`);
  }

  writeMessage(message: StoredMessage): Uint8Array {
    const body = create(MessageBodySchema, { message, originJson: message.originJson ?? "" });
    return this.#codec.write(MessageBodySchema, body, `message ${message.id}`);
  }

  readMessage({ id, body }: MessageRow): StoredMessage {
    const stored = this.#codec.read(MessageBodySchema, body, `message ${id}`);
    const { message = create(ThreadMessageSchema, { id }), originJson } = stored;
    return originJson === "" ? message : { ...message, originJson };
  }

  readHistory(rows: readonly MessageRow[]): Message[] {
    return rows.flatMap((row) => this.readMessage(row).message ?? []);
  }

  /**
   * Returns the rows of the events of one write. @throws InternalError if their sequence numbers are not consecutive.
   */
  writeEvents(runId: string, events: readonly RunEvent[]): EventRow[] {
    const first = events[0]?.sequence ?? 0;
    let expected = first;
    for (const { sequence } of events) {
      if (sequence !== expected) throw outOfSequence(expected, sequence);
      expected += 1;
    }
    const rows: EventRow[] = [];
    for (let at = 0; at < events.length; at += MAX_EVENTS_PER_ROW) {
      const part = events.slice(at, at + MAX_EVENTS_PER_ROW);
      const last = part.at(-1)?.sequence ?? 0;
      rows.push({ last_sequence: last, body: this.#codec.writeEvents(part, toEventsBodyId(runId, last)) });
    }
    return rows;
  }

  readEvents(runId: string, { last_sequence, body }: EventRow): RunEvent[] {
    return this.#codec.readEvents(body, toEventsBodyId(runId, last_sequence));
  }
}

function toEventsBodyId(runId: string, lastSequence: number): string {
  return `events ${runId} ${lastSequence}`;
}

/** Returns the time from which the age of a run counts, in milliseconds. Null while it is in progress. */
export function getOverTime(run: Run): number | null {
  if (isQueuedOrRunning(run.status)) return null;
  const { endedAt } = run;
  const countsFromCreation = run.status === RunStatus.REQUIRES_ACTION || endedAt === undefined;
  return countsFromCreation ? getCreationTime(run) : timestampMs(endedAt);
}

/** When something was created, in milliseconds. */
export function getCreationTime({ createdAt }: Pick<Run, "createdAt">): number {
  return createdAt === undefined ? 0 : timestampMs(createdAt);
}

/** Returns the latest time at which one of the messages was created, in milliseconds. 0 if there is none. */
export function getLatestTime(messages: readonly StoredMessage[]): number {
  let latest = 0;
  for (const message of messages) latest = Math.max(latest, getCreationTime(message));
  return latest;
}

/** Returns the error of a write whose events do not follow the stored ones. */
export function outOfSequence(expected: number, found: number): InternalError {
  return new InternalError(`expected the event ${expected} of a run, found the event ${found}`);
}

/** Id of the first tool call of a model's message, by which the message is found again. Undefined: it has none. */
export function getFirstCallId({ output, message }: Partial<StoredMessage>): string | undefined {
  for (const { part } of (output && message?.content) || [])
    if (part.case === "toolCall") return isIndexedId(part.value.id) ? part.value.id : undefined;
  return undefined;
}

/** Reports whether messages are found by this id of a call. PostgreSQL has no texts with U+0000. */
export function isIndexedId(id: string): boolean {
  return id !== "" && id.length <= MAX_ID_LENGTH && !id.includes("\0");
}
