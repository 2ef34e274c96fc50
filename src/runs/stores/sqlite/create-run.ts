/** Creates runs: finds their threads, forks these where needed, and concludes the runs that they continue. */
import { create } from "@bufbuild/protobuf";
import { type Run, type RunEvent, RunSchema, RunStatus } from "../../../gen/outrigger/v1/run_pb.ts";
import { CreateRunRequestSchema } from "../../../gen/outrigger/v1/run_service_pb.ts";
import { ThreadSchema } from "../../../gen/outrigger/v1/thread_pb.ts";
import { isUnderWay } from "../../status.ts";
import type { RunCreation, RunCreationResult } from "../../store.ts";
import { addMessages, readHistory } from "./messages.ts";
import {
  createdTimeOf,
  findOwnedRun,
  insertEvents,
  lastOf,
  overTimeOf,
  type RunRow,
  requestPlace,
  runPlace,
  type Tables,
} from "./run-rows.ts";
import { findLatestRun, findOwnedThread, insertFork, insertThread, type ThreadRow } from "./threads.ts";
import { updateRun } from "./write-run.ts";

/** Where a run goes. */
interface Place {
  readonly case: "found";
  /** Undefined: a new thread. */
  readonly thread: ThreadRow | undefined;
  /** Set where the thread is forked before this position. */
  readonly forkEnd: number | undefined;
  /** The run that it continues. */
  readonly previous: RunRow | undefined;
}

type Refusal = Exclude<RunCreationResult, { case: "created" }>;

/** What became of a run to create, with the number of its row, and the run that it concluded. */
export type Created =
  | Refusal
  | {
      readonly case: "created";
      readonly run: Run;
      readonly forked: boolean;
      readonly number: number;
      readonly concluded: Run | undefined;
    };

const INSERT_RUN = `INSERT INTO runs
  (id, owner, thread_id, status, created_ms, over_ms, start_position, end_position, cancel_requested, body)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;
const INSERT_REQUEST = "INSERT INTO requests (run, body) VALUES (?, ?)";
const SET_END = "UPDATE runs SET end_position = ? WHERE number = ?";
const ADD_RUN = "UPDATE threads SET latest_run = ?, used_ms = max(used_ms, ?) WHERE number = ?";

/** Creates a run, in a transaction. @param isHeld Whether a process holds a run. */
export function createRun(
  tables: Tables,
  creation: RunCreation,
  isHeld: (runId: string) => boolean,
): Created {
  const place = findPlace(tables, creation, isHeld);
  if (place.case !== "found") return place;
  const forked = place.forkEnd !== undefined;
  const thread = threadAt(tables, creation, place);
  const threadId = place.thread === undefined || forked ? creation.run.threadId : threadIdOf(creation, place);
  const run = create(RunSchema, { ...creation.run, threadId });
  const input = creation.input(readHistory(tables, thread.number, thread.nextPosition));
  const concluded = conclude(tables, creation, place.previous);
  const number = insertRun(tables, creation, run, thread.nextPosition);
  const end = addMessages(tables, thread, input);
  tables.database.change(SET_END, end, number);
  tables.database.change(ADD_RUN, number, createdTimeOf(run), thread.number);
  return { case: "created", run, forked, number, concluded };
}

function findPlace(
  tables: Tables,
  creation: RunCreation,
  isHeld: (runId: string) => boolean,
): Place | Refusal {
  const { previousRunId, threadId } = creation.request;
  if (previousRunId !== "") return placeAfterRun(tables, creation.owner, previousRunId, isHeld);
  if (threadId !== "") return placeOnThread(tables, creation.owner, threadId, isHeld);
  return { case: "found", thread: undefined, forkEnd: undefined, previous: undefined };
}

function placeAfterRun(
  tables: Tables,
  owner: string,
  runId: string,
  isHeld: (runId: string) => boolean,
): Place | Refusal {
  const previous = findOwnedRun(tables, owner, runId);
  const thread = previous && findOwnedThread(tables, owner, previous.threadId);
  if (previous === undefined || thread === undefined) return { case: "missing", field: "previous_run_id" };
  const { status } = previous.run;
  if (isUnderWay(status) || isHeld(runId)) return { case: "unfinished", status };
  const isLast =
    thread.nextPosition === previous.endPosition &&
    findLatestRun(tables, previous.threadId)?.number === previous.number;
  return { case: "found", thread, forkEnd: isLast ? undefined : previous.endPosition, previous };
}

function placeOnThread(
  tables: Tables,
  owner: string,
  threadId: string,
  isHeld: (runId: string) => boolean,
): Place | Refusal {
  const thread = findOwnedThread(tables, owner, threadId);
  if (thread === undefined) return { case: "missing", field: "thread_id" };
  const previous = findLatestRun(tables, threadId);
  if (previous !== undefined && (isUnderWay(previous.run.status) || isHeld(previous.run.id))) {
    return { case: "busy", activeRunId: previous.run.id };
  }
  return { case: "found", thread, forkEnd: undefined, previous };
}

function threadAt(tables: Tables, { run, owner }: RunCreation, { thread, forkEnd }: Place): ThreadRow {
  if (thread !== undefined && forkEnd === undefined) return thread;
  const created = create(ThreadSchema, { id: run.threadId, ...pickCreatedAt(run) });
  return thread === undefined || forkEnd === undefined
    ? insertThread(tables, owner, created)
    : insertFork(tables, created, thread, forkEnd);
}

function pickCreatedAt({ createdAt }: Run): Partial<Pick<Run, "createdAt">> {
  return createdAt === undefined ? {} : { createdAt };
}

function threadIdOf({ request }: RunCreation, { previous }: Place): string {
  return request.threadId || (previous?.threadId ?? "");
}

/** Ends the run before, where it waits for an action that comes with this run. */
function conclude(tables: Tables, creation: RunCreation, previous: RunRow | undefined): Run | undefined {
  if (previous?.run.status !== RunStatus.REQUIRES_ACTION) return undefined;
  const { run = previous.run, events = [] } = creation.concludePrevious(previous.run);
  lastOf(events, previous.run.lastSequence);
  insertEvents(tables, { number: previous.number, runId: run.id }, events);
  updateRun(tables, previous.number, run);
  return run;
}

function insertRun(tables: Tables, creation: RunCreation, run: Run, position: number): number {
  const { database, codec } = tables;
  lastOf(creation.events, -1);
  const { inserted: number } = database.change(
    INSERT_RUN,
    run.id,
    creation.owner,
    run.threadId,
    run.status,
    createdTimeOf(run),
    overTimeOf(run),
    position,
    position,
    run.cancelRequested ? 1 : 0,
    codec.write(RunSchema, run, runPlace(run.id)),
  );
  const request = codec.write(CreateRunRequestSchema, creation.request, requestPlace(run.id));
  database.change(INSERT_REQUEST, number, request);
  const events = creation.events.map((event) => withThread(event, run.threadId));
  insertEvents(tables, { number, runId: run.id }, events);
  return number;
}

function withThread(event: RunEvent, threadId: string): RunEvent {
  if (event.event.case !== "run") return event;
  return { ...event, event: { case: "run", value: { ...event.event.value, threadId } } };
}
