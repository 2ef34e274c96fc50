/** The answers of runs whose request went unchanged to their provider: as the provider wrote them. */
import type { Batches } from "../../core/batches.ts";
import { AbortError, errorFromProto, type SDKError } from "../../core/errors.ts";
import type { Warning } from "../../gen/outrigger/v1/response_pb.ts";
import { type Run, type RunEvent, RunStatus } from "../../gen/outrigger/v1/run_pb.ts";
import type { StreamEvent } from "../../gen/outrigger/v1/stream_event_pb.ts";
import type { EndpointRequest, EndpointResponse } from "../../http/endpoint.ts";
import { type EventWriter, streamSource } from "../../http/event-body.ts";
import { toWarningsHeader } from "../openai/warnings-header.ts";
import type { RelayedCall } from "../relay/relayed-call.ts";
import type { RelayingClient } from "./relayed-run.ts";
import type { RequestedRun } from "./start-run.ts";
import { writeFailure } from "./write-events.ts";

/**
 * Returns the whole answer of a run that has ended, or the failed answer of its provider. Undefined if it is not relayed.
 */
export function takeRelayed(
  { call }: RelayingClient,
  run: Run,
  request: Pick<EndpointRequest, "noteFailure">,
): EndpointResponse | undefined {
  if (run.error !== undefined) return call && takeFailure(call, errorFromProto(run.error), request);
  const answer = call?.takeAnswer();
  const warnings = run.steps.flatMap(({ response }) => response?.warnings ?? []);
  return answer && { ...answer, headers: { ...answer.headers, ...writeWarnings(warnings) } };
}

function takeFailure(
  call: RelayedCall,
  error: SDKError,
  { noteFailure }: Pick<EndpointRequest, "noteFailure">,
): EndpointResponse | undefined {
  const failure = call.takeFailure(error);
  if (failure !== undefined) noteFailure(error);
  return failure;
}

/**
 * Waits until the provider of a stream has accepted the request. Returns the stream, or the failed answer of the
 * provider; if the answer is not relayed, the events of the run.
 */
export async function openRelayed(
  { started: { events }, relaying }: RequestedRun,
  request: EndpointRequest,
  keepAliveMs: number,
): Promise<EndpointResponse | { readonly events: Batches<RunEvent> }> {
  if (relaying === undefined) return { events };
  const rest = events[Symbol.asyncIterator]();
  const first = await readOpening(rest);
  const all = readAgain(first, rest);
  const { call } = relaying;
  const begin = first.find(({ event }) => event.case === "modelEvent");
  if (begin === undefined) return (call && findFailure(call, first, request)) ?? { events: all };
  const relay = call?.source.relay;
  if (call === undefined || relay?.head === undefined) return { events: all };
  const { signal, noteFailure } = request;
  const source = {
    first: [],
    events: toModelEvents(all),
    writer: FAILURE_WRITER,
    relay,
    signal,
    noteFailure,
  };
  const headers = { ...call.answerHeaders, ...writeWarnings(warningsIn(begin)) };
  return streamSource(source, headers, keepAliveMs);
}

/** Returns the failed answer of the provider with which a run ended. */
function findFailure(
  call: RelayedCall,
  events: readonly RunEvent[],
  request: EndpointRequest,
): EndpointResponse | undefined {
  const error = events.map(({ event }) => getEnd(event)?.error).find((each) => each !== undefined);
  return error && takeFailure(call, errorFromProto(error), request);
}

/** Reads until there is an event of the model, or the run has ended. */
async function readOpening(events: AsyncIterator<readonly RunEvent[]>): Promise<readonly RunEvent[]> {
  const opening: RunEvent[] = [];
  for (;;) {
    const { done, value } = await events.next();
    if (done === true) return opening;
    opening.push(...value);
    if (value.some(({ event }) => event.case === "modelEvent" || getEnd(event) !== undefined)) return opening;
  }
}

function warningsIn({ event }: RunEvent): readonly Warning[] {
  const start = event.case === "modelEvent" ? event.value.event : undefined;
  return start?.case === "streamStart" ? start.value.warnings : [];
}

/** The run if it has ended without an answer. */
function getEnd(event: RunEvent["event"]): Run | undefined {
  return event.case === "run" && FAILED.includes(event.value.status) ? event.value : undefined;
}

const FAILED: readonly RunStatus[] = [RunStatus.FAILED, RunStatus.CANCELLED];

/** Returns batches that show when there are bytes to take. Throws the failure of the run: its stream must not look complete. */
function toModelEvents(batches: Batches<RunEvent>): AsyncIterator<readonly StreamEvent[]> {
  const events = batches[Symbol.asyncIterator]();
  return {
    async next() {
      const { done, value } = await events.next();
      if (done === true) return { done, value: undefined };
      for (const { event } of value) {
        const end = getEnd(event);
        if (end !== undefined) throw toFailure(end);
      }
      return { done: false, value: [] };
    },
    async return() {
      await events.return?.();
      return { done: true, value: undefined };
    },
  };
}

function toFailure({ error }: Run): SDKError {
  return error === undefined ? new AbortError("the response was cancelled") : errorFromProto(error);
}

/** The provider writes all events but the failure of the sidecar. */
const FAILURE_WRITER: EventWriter = { write: () => "", fail: writeFailure };

function writeWarnings(warnings: readonly Warning[]): Readonly<Record<string, string>> {
  return toWarningsHeader(warnings.map(({ code, field, message }) => ({ code, param: field, message })));
}

/** Returns events that were read ahead, and then the others. */
function readAgain(first: readonly RunEvent[], rest: AsyncIterator<readonly RunEvent[]>): Batches<RunEvent> {
  let isFirst = true;
  const iterator: AsyncIterator<readonly RunEvent[], undefined> = {
    async next() {
      if (!isFirst) return rest.next();
      isFirst = false;
      return { done: false, value: first };
    },
    async return() {
      await rest.return?.();
      return { done: true, value: undefined };
    },
  };
  return { [Symbol.asyncIterator]: () => iterator };
}
