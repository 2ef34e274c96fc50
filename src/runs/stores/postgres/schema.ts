/**
 * The migrations of the schema, in order: the first one is number 1. They are never changed once released; a change of
 * the schema is a new one at the end. Times are milliseconds since 1970, bodies what the body codec writes.
 */
export const migrations: readonly string[] = [
  `
  -- Ids of the keys that bodies are encrypted with, each with a body that only this key decrypts.
  CREATE TABLE :schema.key_checks (
    key_id TEXT PRIMARY KEY,
    body BYTEA NOT NULL
  );

  CREATE TABLE :schema.threads (
    id TEXT COLLATE "C" PRIMARY KEY,
    owner TEXT NOT NULL,
    is_conversation BOOLEAN NOT NULL,
    -- Position of the next message. Positions grow and may have gaps.
    next_position INTEGER NOT NULL,
    last_added_at BIGINT NOT NULL,
    body BYTEA NOT NULL
  );
  CREATE INDEX threads_by_age ON :schema.threads (last_added_at) WHERE is_conversation;

  CREATE TABLE :schema.runs (
    id TEXT COLLATE "C" PRIMARY KEY,
    owner TEXT NOT NULL,
    -- No reference: runs outlive a thread that is deleted.
    thread_id TEXT COLLATE "C" NOT NULL,
    status SMALLINT NOT NULL,
    created_at BIGINT NOT NULL,
    -- From when on its age counts: the end, or the creation where it requires action. NULL: it is under way.
    idle_since BIGINT,
    cancel_requested BOOLEAN NOT NULL DEFAULT FALSE,
    last_sequence INTEGER NOT NULL,
    -- Position of the run in its thread: it reads the messages before, and what it adds comes after.
    position INTEGER NOT NULL,
    -- Behind its last message.
    end_position INTEGER NOT NULL,
    lease_holder TEXT,
    lease_until BIGINT,
    body BYTEA NOT NULL,
    request BYTEA NOT NULL
  -- Room for the versions that the writes of a run leave, so that they need no new index entries.
  ) WITH (fillfactor = 70);
  CREATE INDEX runs_by_owner ON :schema.runs (owner, created_at DESC, id DESC);
  CREATE INDEX runs_by_status ON :schema.runs (owner, status, created_at DESC, id DESC);
  CREATE INDEX runs_by_thread ON :schema.runs (thread_id, created_at DESC, id DESC);
  CREATE INDEX runs_by_age ON :schema.runs (idle_since) WHERE idle_since IS NOT NULL;
  CREATE INDEX runs_in_progress ON :schema.runs (id) WHERE status = 2;
  CREATE INDEX runs_queued ON :schema.runs (id) WHERE status = 1;
  -- At most one run of a thread is under way, whatever several sidecars do.
  CREATE UNIQUE INDEX runs_under_way ON :schema.runs (thread_id) WHERE status IN (1, 2);

  CREATE TABLE :schema.steps (
    run_id TEXT COLLATE "C" NOT NULL REFERENCES :schema.runs ON DELETE CASCADE,
    number INTEGER NOT NULL,
    body BYTEA NOT NULL,
    PRIMARY KEY (run_id, number)
  );

  -- A row has the events of one write, or a part of them.
  CREATE TABLE :schema.events (
    run_id TEXT COLLATE "C" NOT NULL REFERENCES :schema.runs ON DELETE CASCADE,
    last_sequence INTEGER NOT NULL,
    body BYTEA NOT NULL,
    PRIMARY KEY (run_id, last_sequence)
  );

  CREATE TABLE :schema.messages (
    id TEXT COLLATE "C" PRIMARY KEY,
    owner TEXT NOT NULL,
    run_id TEXT COLLATE "C" NOT NULL,
    is_output BOOLEAN NOT NULL,
    -- Id of the first tool call of an output. NULL: there is none.
    call_id TEXT,
    body BYTEA NOT NULL
  );
  CREATE INDEX messages_by_call ON :schema.messages (owner, call_id) WHERE call_id IS NOT NULL;
  CREATE INDEX messages_by_run ON :schema.messages (run_id) WHERE run_id <> '';

  -- A thread and its forks share messages.
  CREATE TABLE :schema.thread_messages (
    thread_id TEXT COLLATE "C" NOT NULL REFERENCES :schema.threads ON DELETE CASCADE,
    position INTEGER NOT NULL,
    message_id TEXT COLLATE "C" NOT NULL REFERENCES :schema.messages,
    PRIMARY KEY (thread_id, position)
  );
  CREATE INDEX thread_messages_by_message ON :schema.thread_messages (message_id);

  -- The codec compresses what is worth it.
  ALTER TABLE :schema.runs ALTER COLUMN body SET STORAGE EXTERNAL;
  ALTER TABLE :schema.runs ALTER COLUMN request SET STORAGE EXTERNAL;
  ALTER TABLE :schema.steps ALTER COLUMN body SET STORAGE EXTERNAL;
  ALTER TABLE :schema.events ALTER COLUMN body SET STORAGE EXTERNAL;
  ALTER TABLE :schema.messages ALTER COLUMN body SET STORAGE EXTERNAL;
  `,
];
