/** The stream of a response: of a run that its request started, or of a stored run. */

import type { Batches } from "../../core/batches.ts";
import type { SDKError } from "../../core/errors.ts";
import type { Run, RunEvent } from "../../gen/outrigger/v1/run_pb.ts";
import type { EndpointResponse } from "../../http/endpoint.ts";
import { EVENT_STREAM_HEADERS } from "../../http/event-body.ts";
import { isQueuedOrRunning } from "../../runs/status.ts";
import { type EventOptions, SseSink } from "./event-output.ts";
import type { Checkpoint, RunCheckpoints } from "./replay-checkpoints.ts";
import type { ResponseSettings } from "./settings.ts";
import { StreamBody } from "./stream-body.ts";
import { ResponseEvents } from "./write-events.ts";

/** Options of a stream. */
export interface StreamSource extends EventOptions {
  readonly run: Run;
  readonly events: Batches<RunEvent>;
  readonly settings: ResponseSettings;
  /** Takes checkpoints of the run. Undefined if it is not stored. */
  readonly checkpoints: RunCheckpoints | undefined;
  /** The checkpoint after which the events begin. Undefined if they are all events of the run. */
  readonly checkpoint?: Checkpoint | undefined;
  readonly keepAliveMs: number;
  /** Aborted when the caller disconnects. */
  readonly signal: AbortSignal;
  /** Whether the request started the run, so that a failure of the run fails the request. */
  readonly startedRun: boolean;
  /** Receives the error of a failed request. */
  readonly onFailure: (error: SDKError) => void;
}

/** Returns the stream as a response, at once. */
export function streamResponse(source: StreamSource): EndpointResponse {
  return new OpenStream(source).response();
}

/**
 * Returns the stream of a foreground run as a response, once the provider has accepted its request. Earlier failures
 * are thrown, so that the response has the HTTP status of the error: clients decide by it whether to retry.
 * @throws SDKError with which the run failed.
 */
export async function acceptedStreamResponse(source: StreamSource): Promise<EndpointResponse> {
  const stream = new OpenStream(source);
  const failure = await stream.untilAccepted();
  if (failure !== undefined) throw failure;
  return stream.response();
}

class OpenStream {
  readonly #source: StreamSource;
  readonly #events: AsyncIterator<readonly RunEvent[]>;
  readonly #sink = new SseSink();
  readonly #writer: ResponseEvents;
  #isOver = false;

  constructor(source: StreamSource) {
    const { run, settings, checkpoint } = source;
    this.#source = source;
    this.#events = source.events[Symbol.asyncIterator]();
    this.#writer =
      checkpoint?.writer.copy(this.#sink, source) ?? ResponseEvents.create(run, this.#sink, source, settings);
  }

  /** Reads until there is an event after the start of the run. Returns the error if the run fails before that. */
  async untilAccepted(): Promise<SDKError | undefined> {
    for (let hasBegun = false; !hasBegun; ) {
      const { done, value } = await this.#events.next();
      this.#isOver = done === true;
      if (value === undefined) return undefined;
      this.#writer.push(value);
      if (value.every(isBeginning)) continue;
      hasBegun = true;
      if (value.every(isRunEvent)) return this.#failure();
    }
    return undefined;
  }

  async #failure(): Promise<SDKError | undefined> {
    const { failure } = this.#writer;
    if (failure !== undefined) await this.#events.return?.();
    return failure;
  }

  response(): EndpointResponse {
    const { keepAliveMs, signal, startedRun, onFailure, checkpoints } = this.#source;
    const [events, writer, sink, isOver] = [this.#events, this.#writer, this.#sink, this.#isOver];
    const reading = { events, writer, sink, isOver, checkpoints };
    const body = new StreamBody({ ...reading, keepAliveMs, signal, startedRun, onFailure });
    return { status: 200, headers: EVENT_STREAM_HEADERS, body };
  }
}

function isRunEvent({ event }: RunEvent): boolean {
  return event.case === "run";
}

function isBeginning({ event }: RunEvent): boolean {
  return event.case === "run" && isQueuedOrRunning(event.value.status);
}
