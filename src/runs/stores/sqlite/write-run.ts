/** Changes of runs. */
import { type StepResult, StepResultSchema } from "../../../gen/outrigger/v1/generation_pb.ts";
import { type Run, RunSchema } from "../../../gen/outrigger/v1/run_pb.ts";
import type { RunWrite } from "../../store.ts";
import { blob, integer } from "./columns.ts";
import type { HeldRun } from "./leases.ts";
import { addMessages } from "./messages.ts";
import { findRunNumber, insertEvents, overTimeOf, runPlace, stepPlace, type Tables } from "./run-rows.ts";
import { findThread } from "./threads.ts";

const UPDATE_RUN = `UPDATE runs
  SET status = ?, over_ms = ?, cancel_requested = max(cancel_requested, ?), body = ? WHERE number = ?`;
const USE_THREAD = "UPDATE threads SET used_ms = max(used_ms, ?) WHERE id = ?";
const SELECT_THREAD_ID = "SELECT thread_id FROM runs WHERE number = ?";
const SET_END = "UPDATE runs SET end_position = ? WHERE number = ?";
const SELECT_STEPS = "SELECT position, body FROM steps WHERE run = ? ORDER BY position";
const SELECT_LAST_STEP = "SELECT position FROM steps WHERE run = ? ORDER BY position DESC LIMIT 1";
const WRITE_STEP = "INSERT OR REPLACE INTO steps (run, position, body) VALUES (?, ?, ?)";

/** Whether a write has events and nothing else. */
export function hasOnlyEvents({ run, latestStep, steps = [], messages = [] }: RunWrite): boolean {
  return run === undefined && latestStep === undefined && steps.length === 0 && messages.length === 0;
}

/** Writes all of a change, in a transaction. */
export function writeRun(tables: Tables, held: HeldRun, write: RunWrite): void {
  insertEvents(tables, held, write.events ?? []);
  writeSteps(tables, held, write);
  if (write.messages !== undefined && write.messages.length > 0) appendToThread(tables, held, write.messages);
  if (write.run !== undefined) updateRun(tables, held.number, write.run);
}

/** Writes the state of a run. */
export function updateRun({ database, codec }: Tables, number: number, run: Run): void {
  const body = codec.write(RunSchema, run, runPlace(run.id));
  const overTime = overTimeOf(run);
  database.change(UPDATE_RUN, run.status, overTime, run.cancelRequested ? 1 : 0, body, number);
  if (overTime !== null) database.change(USE_THREAD, overTime, run.threadId);
}

/** The steps of a run. */
export function readSteps(tables: Tables, runId: string): StepResult[] {
  const { database, codec } = tables;
  const number = findRunNumber(tables, runId);
  if (number === undefined) return [];
  return database
    .all(SELECT_STEPS, number)
    .map((row) => codec.read(StepResultSchema, blob(row.body), stepPlace(runId, integer(row.position))));
}

function writeSteps({ database, codec }: Tables, { number, runId }: HeldRun, write: RunWrite): void {
  const { latestStep, steps = [] } = write;
  if (latestStep === undefined && steps.length === 0) return;
  const last = database.first(SELECT_LAST_STEP, number);
  const next = last === undefined ? 0 : integer(last.position) + 1;
  const writeStep = (position: number, step: StepResult) => {
    const body = codec.write(StepResultSchema, step, stepPlace(runId, position));
    database.change(WRITE_STEP, number, position, body);
  };
  if (latestStep !== undefined) writeStep(Math.max(0, next - 1), latestStep);
  const first = latestStep === undefined ? next : Math.max(1, next);
  for (const [index, step] of steps.entries()) writeStep(first + index, step);
}

/** Appends to the thread of a run, unless the thread was deleted. */
function appendToThread(
  tables: Tables,
  { number }: HeldRun,
  messages: NonNullable<RunWrite["messages"]>,
): void {
  const { database } = tables;
  const threadId = database.first(SELECT_THREAD_ID, number)?.thread_id;
  const thread = typeof threadId === "string" ? findThread(tables, threadId) : undefined;
  if (thread === undefined) return;
  database.change(SET_END, addMessages(tables, thread, messages), number);
}
