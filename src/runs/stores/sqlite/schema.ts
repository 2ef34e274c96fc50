/**
 * The schema, as migrations: each one is applied once, in order, and never changed after a release. What queries need
 * is in columns; everything else is in bodies. Times are milliseconds since 1970. Indexes are few: each one that a
 * change touches is a page that the log gets.
 */
export const migrations: readonly string[] = [
  `
  -- Ids of the keys that bodies are encrypted with, each with a body that only this key decrypts.
  CREATE TABLE key_checks (key_id TEXT PRIMARY KEY, body BLOB NOT NULL) STRICT;

  CREATE TABLE threads (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    owner TEXT NOT NULL,
    is_conversation INTEGER NOT NULL,
    -- When something was last added.
    used_ms INTEGER NOT NULL,
    -- Position of the next message. Never below the end of a run, also where messages were deleted.
    next_position INTEGER NOT NULL,
    -- Number of its latest run. Null where it has none.
    latest_run INTEGER,
    body BLOB NOT NULL
  ) STRICT;
  CREATE INDEX conversations_by_use ON threads (used_ms) WHERE is_conversation = 1;

  CREATE TABLE runs (
    -- Rises in the order of creation.
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    owner TEXT NOT NULL,
    thread_id TEXT NOT NULL,
    status INTEGER NOT NULL,
    created_ms INTEGER NOT NULL,
    -- From when on its age counts. Null while it is under way.
    over_ms INTEGER,
    -- It reads the messages of its thread before the one position, and those who continue it before the other.
    start_position INTEGER NOT NULL,
    end_position INTEGER NOT NULL,
    cancel_requested INTEGER NOT NULL,
    body BLOB NOT NULL
  ) STRICT;
  CREATE INDEX runs_of_owner ON runs (owner, created_ms, id);
  CREATE INDEX runs_of_owner_by_status ON runs (owner, status, created_ms, id);
  CREATE INDEX runs_of_thread ON runs (thread_id, created_ms, id);
  CREATE INDEX runs_over ON runs (over_ms) WHERE over_ms IS NOT NULL;
  CREATE INDEX runs_queued ON runs (number) WHERE status = 1;
  CREATE INDEX runs_in_progress ON runs (number) WHERE status = 2;

  -- Apart from the runs, so that a change of a run does not write its request again.
  CREATE TABLE requests (
    run INTEGER PRIMARY KEY REFERENCES runs ON DELETE CASCADE,
    body BLOB NOT NULL
  ) STRICT;

  CREATE TABLE steps (
    run INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE,
    position INTEGER NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (run, position)
  ) STRICT, WITHOUT ROWID;

  -- The events of one write.
  CREATE TABLE events (
    run INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE,
    last_sequence INTEGER NOT NULL,
    first_sequence INTEGER NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (run, last_sequence)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE messages (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    owner TEXT NOT NULL,
    -- Empty where no run added it. The run may have been deleted.
    run_id TEXT NOT NULL,
    is_output INTEGER NOT NULL,
    -- Id of the first tool call of an output. Null where there is none.
    call_id TEXT,
    body BLOB NOT NULL
  ) STRICT;
  CREATE INDEX messages_of_call ON messages (owner, call_id) WHERE call_id IS NOT NULL;

  -- The messages of threads. A fork has the same messages, not copies of them.
  CREATE TABLE thread_messages (
    thread INTEGER NOT NULL REFERENCES threads ON DELETE CASCADE,
    position INTEGER NOT NULL,
    message INTEGER NOT NULL REFERENCES messages,
    PRIMARY KEY (thread, position)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX threads_of_message ON thread_messages (message, thread);

  -- A message goes with the last thread that has it.
  CREATE TRIGGER remove_message AFTER DELETE ON thread_messages
  BEGIN
    DELETE FROM messages WHERE number = OLD.message
      AND NOT EXISTS (SELECT 1 FROM thread_messages WHERE message = OLD.message);
  END;
  `,
];
