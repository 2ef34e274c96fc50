/** The bodies in the tables. The place of each is part of it where bodies are encrypted: it never changes. */
import { type StepResult, StepResultSchema } from "../../../gen/outrigger/v1/generation_pb.ts";
import { type Run, type RunEvent, RunSchema } from "../../../gen/outrigger/v1/run_pb.ts";
import { type CreateRunRequest, CreateRunRequestSchema } from "../../../gen/outrigger/v1/run_service_pb.ts";
import {
  type Thread,
  type ThreadMessage,
  ThreadMessageSchema,
  ThreadSchema,
} from "../../../gen/outrigger/v1/thread_pb.ts";
import type { BodyCodec } from "../body-codec.ts";

/** Largest part of the events of a write that goes into one row, in events: a reader takes whole rows. */
const MAX_EVENTS_OF_ROW = 64;

/** Events in one row. */
export interface EventRow {
  readonly lastSequence: number;
  readonly body: Uint8Array;
}

/** Writes and reads bodies. */
export class Bodies {
  readonly #codec: BodyCodec;

  constructor(codec: BodyCodec) {
    this.#codec = codec;
  }

  /** Without the steps, which have bodies of their own. */
  writeRun(run: Run): Uint8Array {
    return this.#codec.write(RunSchema, { ...run, steps: [] }, `run ${run.id}`);
  }

  readRun(id: string, body: Uint8Array): Run {
    return this.#codec.read(RunSchema, body, `run ${id}`);
  }

  writeRequest(runId: string, request: CreateRunRequest): Uint8Array {
    return this.#codec.write(CreateRunRequestSchema, request, `request ${runId}`);
  }

  readRequest(runId: string, body: Uint8Array): CreateRunRequest {
    return this.#codec.read(CreateRunRequestSchema, body, `request ${runId}`);
  }

  /** @param number Number of the step in the run, from 1. */
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

  writeMessage(message: ThreadMessage): Uint8Array {
    return this.#codec.write(ThreadMessageSchema, message, `message ${message.id}`);
  }

  readMessage(id: string, body: Uint8Array): ThreadMessage {
    return this.#codec.read(ThreadMessageSchema, body, `message ${id}`);
  }

  /** The rows of the events of one write. */
  writeEvents(runId: string, events: readonly RunEvent[]): EventRow[] {
    const rows: EventRow[] = [];
    for (let at = 0; at < events.length; at += MAX_EVENTS_OF_ROW) {
      const part = events.slice(at, at + MAX_EVENTS_OF_ROW);
      const lastSequence = part.at(-1)?.sequence ?? 0;
      rows.push({ lastSequence, body: this.#codec.writeEvents(part, eventsPlace(runId, lastSequence)) });
    }
    return rows;
  }

  readEvents(runId: string, { lastSequence, body }: EventRow): RunEvent[] {
    return this.#codec.readEvents(body, eventsPlace(runId, lastSequence));
  }
}

function eventsPlace(runId: string, lastSequence: number): string {
  return `events ${runId} ${lastSequence}`;
}
