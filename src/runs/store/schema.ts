/**
 * The schema as migrations, in order. They are never changed once released; a change of the schema is a new one at the
 * end. The drivers replace the types (`:identity`, `:id`, `:bytes`, `:long`) and `:table`, `:keyed_table`, the options
 * after a definition. Columns hold only the fields that queries need; everything else is in bodies, which the body
 * codec writes. Times are milliseconds since 1970, flags are 0 or 1. Indexes are few: each costs a page for every
 * change.
 */
import { RunStatus } from "../../gen/outrigger/v1/run_pb.ts";

/** The condition for a run that a process executes or is going to execute. */
export const IS_QUEUED_OR_RUNNING = `status IN (${RunStatus.QUEUED}, ${RunStatus.IN_PROGRESS})`;

/** The condition for a run in the queue. */
export const IS_QUEUED = `status = ${RunStatus.QUEUED}`;

/** The condition for a run that has not ended. */
export const IS_OPEN = `status IN (${RunStatus.QUEUED}, ${RunStatus.IN_PROGRESS}, ${RunStatus.REQUIRES_ACTION})`;

/**
 * The condition for a run whose holder is alive. Only processes have leases: one that gives up a run cannot renew its
 * claim.
 */
export const IS_ALIVE = `EXISTS (
  SELECT 1 FROM :schema.processes WHERE processes.id = runs.holder AND processes.alive_until >= :now)`;

/** 1 if a live process has claimed the run, otherwise 0. */
export const IS_CLAIMED = `CASE WHEN ${IS_ALIVE} THEN 1 ELSE 0 END`;

/** The condition for a run that no live process has claimed. */
export const IS_FREE = `(runs.holder IS NULL OR NOT ${IS_ALIVE})`;

export const migrations: readonly string[] = [
  `
  -- Ids of the keys that encrypt bodies, each with a body that only this key decrypts.
  CREATE TABLE :schema.key_checks (key_id TEXT PRIMARY KEY, body :bytes NOT NULL) :table;

  -- Processes that execute runs.
  CREATE TABLE :schema.processes (id :id PRIMARY KEY, alive_until :long NOT NULL) :table;

  CREATE TABLE :schema.threads (
    number :identity,
    id :id NOT NULL UNIQUE,
    owner TEXT NOT NULL,
    is_conversation INTEGER NOT NULL,
    -- Position of the next message. Positions grow and may have gaps.
    next_position INTEGER NOT NULL,
    -- When messages were last added.
    used_ms :long NOT NULL,
    body :bytes NOT NULL
  ) :table;
  CREATE INDEX threads_by_use ON :schema.threads (used_ms) WHERE is_conversation = 1;

  CREATE TABLE :schema.runs (
    -- The order of runs.
    number :identity,
    id :id NOT NULL UNIQUE,
    owner TEXT NOT NULL,
    -- No reference: runs outlive a thread that is deleted.
    thread_id :id NOT NULL,
    status INTEGER NOT NULL,
    created_ms :long NOT NULL,
    -- The time from which its age counts. NULL: it is queued or in progress.
    over_ms :long,
    cancel_requested INTEGER NOT NULL,
    -- The run reads the messages of its thread before start_position. Runs that continue it read those before
    -- end_position.
    start_position INTEGER NOT NULL,
    end_position INTEGER NOT NULL,
    -- The process that has claimed it, and the number of claims.
    holder TEXT,
    fence INTEGER NOT NULL,
    -- Marks the latest write of its holder, unless that had only events.
    revision :long,
    body :bytes NOT NULL
  ) :updated_table;
  CREATE INDEX runs_by_owner ON :schema.runs (owner, number);
  CREATE INDEX runs_by_status ON :schema.runs (owner, status, number);
  CREATE INDEX runs_by_thread ON :schema.runs (thread_id, owner, number);
  CREATE INDEX runs_by_age ON :schema.runs (over_ms) WHERE over_ms IS NOT NULL;
  CREATE INDEX runs_queued ON :schema.runs (number) WHERE ${IS_QUEUED};
  CREATE INDEX runs_in_progress ON :schema.runs (number) WHERE status = ${RunStatus.IN_PROGRESS};
  -- Nearly empty, so that most runs do not change them.
  CREATE INDEX runs_to_cancel ON :schema.runs (holder) WHERE holder IS NOT NULL AND cancel_requested = 1;
  CREATE INDEX runs_held_idle ON :schema.runs (holder)
    WHERE holder IS NOT NULL AND status <> ${RunStatus.IN_PROGRESS};
  -- At most one run of a thread is queued or in progress.
  CREATE UNIQUE INDEX runs_under_way ON :schema.runs (thread_id) WHERE ${IS_QUEUED_OR_RUNNING};

  -- The following tables have no references to runs: rows are inserted from a run that exists, and deleted with it by
  -- the same transaction. Checks of references would cost as much as the insertion of an event.

  -- Separate from the runs, so that a change of a run does not write its request again.
  CREATE TABLE :schema.requests (
    run :long PRIMARY KEY,
    body :bytes NOT NULL
  ) :table;

  CREATE TABLE :schema.steps (
    run :long NOT NULL,
    number INTEGER NOT NULL,
    body :bytes NOT NULL,
    PRIMARY KEY (run, number)
  ) :keyed_table;

  -- A row has the events of one write, or a part of them. In SQLite a row of a keyed table keeps only a quarter of a
  -- page beside its key; the rest of its body would take separate pages.
  CREATE TABLE :schema.events (
    run :long NOT NULL,
    last_sequence INTEGER NOT NULL,
    body :bytes NOT NULL,
    PRIMARY KEY (run, last_sequence)
  ) :table;

  CREATE TABLE :schema.messages (
    number :identity,
    id :id NOT NULL UNIQUE,
    owner TEXT NOT NULL,
    -- Empty: no run added it. The run may have been deleted.
    run_id :id NOT NULL,
    is_output INTEGER NOT NULL,
    -- Id of the first tool call of an output. NULL: there is none.
    call_id TEXT,
    body :bytes NOT NULL
  ) :table;
  CREATE INDEX messages_by_call ON :schema.messages (owner, call_id, number) WHERE call_id IS NOT NULL;

  -- The messages of threads. A fork shares the messages of its thread. A message is deleted with its last position.
  CREATE TABLE :schema.thread_messages (
    thread :long NOT NULL REFERENCES :schema.threads,
    position INTEGER NOT NULL,
    message :long NOT NULL REFERENCES :schema.messages,
    PRIMARY KEY (thread, position)
  ) :keyed_table;
  CREATE INDEX thread_messages_by_message ON :schema.thread_messages (message, thread);
  `,
];
