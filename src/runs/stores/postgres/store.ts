import { Client } from "pg";
import { ConfigurationError } from "../../../core/errors.ts";
import type { StepResult } from "../../../gen/outrigger/v1/generation_pb.ts";
import type { Message } from "../../../gen/outrigger/v1/message_pb.ts";
import type { Run, RunEvent } from "../../../gen/outrigger/v1/run_pb.ts";
import type { Thread, ThreadMessage } from "../../../gen/outrigger/v1/thread_pb.ts";
import type {
  Lease,
  MessageQuery,
  Page,
  RunCreation,
  RunCreationResult,
  RunNotice,
  RunQuery,
  RunStore,
  RunWrite,
  StoredRun,
} from "../../store.ts";
import { BodyCodec } from "../body-codec.ts";
import type { EncryptionKey } from "../encryption-key.ts";
import { Bodies } from "./bodies.ts";
import { beginsThread, createRun } from "./create-run.ts";
import { connectionSettings, Database, type Statement, type Value } from "./database.ts";
import { readEvents } from "./events.ts";
import { checkKeys } from "./keys.ts";
import { RENEW, TAKE, TAKE_ABANDONED } from "./leases.ts";
import {
  FIND_CALL,
  GET_MESSAGE,
  listMessages,
  type MessageRow,
  messagesOf,
  READ_HISTORY_OF_RUN,
} from "./messages.ts";
import { migrate } from "./migrate.ts";
import { Notices } from "./notices.ts";
import { createThroughOutage, UncertainWrites } from "./outages.ts";
import { RunQueue } from "./queue.ts";
import { removeMessage, removeOld, removeRun, removeThread } from "./removal.ts";
import { createdAtOf, type StoredRunRow, storedRunOf } from "./run-rows.ts";
import { COUNT_QUEUED, GET_RUN, listRuns, REQUEST_CANCEL, readSteps } from "./runs.ts";
import { appendMessages, createThread, GET_THREAD, updateThread } from "./threads.ts";
import { endsLease, isQueueing, writeRun } from "./write-run.ts";

/** What a PostgreSQL store needs. */
export interface PostgresStoreOptions {
  /** Connection string: `postgres://user:password@host:5432/database?sslmode=verify-full`. */
  readonly url: string;
  /** Connection string for LISTEN, where `url` leads to a pooler that has no sessions. Default `url`. */
  readonly listenUrl?: string | undefined;
  /** Schema of the tables. Default `outrigger`. */
  readonly schema?: string | undefined;
  /** Maximum number of connections for statements; one more listens. Default 10. */
  readonly poolSize?: number | undefined;
  /** After how many seconds of silence a process counts as dead, whose deliveries others get. 10 at least. Default 30. */
  readonly heartbeatSeconds?: number | undefined;
  /** Largest body, in bytes. */
  readonly maxBodyBytes: number;
  /** Keys for encryption at rest: the first one encrypts, all of them decrypt. Default: bodies are not encrypted. */
  readonly keys?: readonly EncryptionKey[] | undefined;
  /** Told of what fails in the background. */
  readonly onProblem: (error: unknown) => void;
}

const DEFAULT_SCHEMA = "outrigger";
const DEFAULT_POOL_SIZE = 10;
const DEFAULT_HEARTBEAT_SECONDS = 30;

/** The shortest that the library of the queue allows. */
const MIN_HEARTBEAT_SECONDS = 10;

/** What can stand in SQL unquoted, and leaves room for what is derived from it. */
const SCHEMA_NAME = /^[a-z_][a-z0-9_]{0,39}$/;

/**
 * Opens a store in a PostgreSQL database, for several sidecars.
 * @throws ConfigurationError where an option is wrong or a newer program has changed the schema; ServerError where the
 * database cannot be reached.
 */
export async function openPostgresStore(options: PostgresStoreOptions): Promise<RunStore> {
  const { url, listenUrl = url, schema = DEFAULT_SCHEMA, poolSize = DEFAULT_POOL_SIZE } = options;
  const { heartbeatSeconds = DEFAULT_HEARTBEAT_SECONDS, maxBodyBytes, keys = [], onProblem } = options;
  checkOptions(url, listenUrl, schema);
  const database = new Database({ url, schema, poolSize });
  const notices = new Notices(database, listenUrl);
  const queue = new RunQueue(database, {
    heartbeatSeconds: Math.max(MIN_HEARTBEAT_SECONDS, Math.ceil(heartbeatSeconds)),
    onProblem,
  });
  const codec = new BodyCodec({ maxBodyBytes, keys });
  const store = new PostgresStore(database, notices, queue, new Bodies(codec));
  try {
    await migrate(database);
    await checkKeys(database, codec, keys);
    await queue.open();
    await notices.open();
    return store;
  } catch (thrown) {
    await store.close();
    throw thrown;
  }
}

function checkOptions(url: string, listenUrl: string, schema: string): void {
  checkUrl(url);
  checkUrl(listenUrl);
  if (!SCHEMA_NAME.test(schema)) {
    const expected = "expected up to 40 lower-case letters, digits and underscores, a digit not first";
    throw new ConfigurationError(`the schema of the database of runs: ${expected}, found "${schema}"`);
  }
}

/** What a wrong URL is refused with quotes nothing of it: it has a password. */
function checkUrl(url: string): void {
  if (!/^postgres(ql)?:\/\//.test(url)) throw badUrl("it does not begin with postgres://");
  try {
    new Client(connectionSettings(url));
  } catch (thrown) {
    throw badUrl(thrown instanceof Error && "code" in thrown ? String(thrown.code) : "it cannot be read");
  }
}

function badUrl(reason: string): ConfigurationError {
  return new ConfigurationError(
    `expected the URL of the database of runs as postgres://user:password@host:5432/database (${reason})`,
  );
}

class PostgresStore implements RunStore {
  readonly isShared = true;
  readonly #database: Database;
  readonly #notices: Notices;
  readonly #queue: RunQueue;
  readonly #bodies: Bodies;
  readonly #uncertainWrites: UncertainWrites;
  /**
   * The runs that this process knows it holds, whose leases it renews. One that it may hold without knowing, since the
   * answer was lost, is not among them: its lease runs out, and it is delivered again or declared failed.
   */
  readonly #held = new Set<string>();

  constructor(database: Database, notices: Notices, queue: RunQueue, bodies: Bodies) {
    this.#database = database;
    this.#notices = notices;
    this.#queue = queue;
    this.#bodies = bodies;
    this.#uncertainWrites = new UncertainWrites(database, bodies);
  }

  async createRun(creation: RunCreation): Promise<RunCreationResult> {
    const create = () => this.#create(creation);
    const result = await createThroughOutage(this.#database, creation, this.#bodies, create);
    if (result.case !== "created") return result;
    if (creation.lease !== undefined) this.#held.add(result.run.id);
    this.#announceCreation(creation);
    return result;
  }

  async #create(creation: RunCreation): Promise<RunCreationResult> {
    const isQueued = creation.lease === undefined;
    // One statement needs no transaction around it.
    if (!isQueued && beginsThread(creation)) return createRun(this.#database, creation, this.#bodies);
    return this.#database.transaction(async (queries) => {
      const created = await createRun(queries, creation, this.#bodies);
      if (isQueued && created.case === "created") await this.#queue.add(queries, created.run.id);
      return created;
    });
  }

  #announceCreation({ request, lease }: RunCreation): void {
    if (lease === undefined) this.#notices.announceQueued();
    // It may have been concluded.
    if (request.previousRunId !== "") this.#notices.announce(request.previousRunId);
  }

  async getRun(owner: string, runId: string): Promise<StoredRun | undefined> {
    return this.#readRun(GET_RUN, [runId, owner]);
  }

  async readSteps(runId: string): Promise<readonly StepResult[]> {
    return readSteps(this.#database, runId, this.#bodies);
  }

  async listRuns(owner: string, query: RunQuery): Promise<Page<Run>> {
    return listRuns(this.#database, owner, query, this.#bodies);
  }

  async countQueued(): Promise<number> {
    const [row] = await this.#database.query<{ count: number }>(COUNT_QUEUED, []);
    return row?.count ?? 0;
  }

  async deleteRun(owner: string, runId: string): Promise<boolean> {
    const isDeleted = await this.#database.transaction((queries) => removeRun(queries, owner, runId));
    if (!isDeleted) return false;
    this.#held.delete(runId);
    this.#notices.announce(runId);
    return true;
  }

  async write(write: RunWrite): Promise<boolean> {
    // Until it is written: a run whose end cannot be written is left to its lease.
    this.#held.delete(write.runId);
    const isWritten = await this.#uncertainWrites.write(write, (rest) => this.#write(rest));
    if (!isWritten) return false;
    if (!endsLease(write)) this.#held.add(write.runId);
    this.#notices.announce(write.runId);
    if (isQueueing(write)) this.#notices.announceQueued();
    return true;
  }

  async #write(write: RunWrite): Promise<boolean> {
    const { holder, durationMs } = write.lease;
    const fenced = { ...write, holder, durationMs };
    if (!isQueueing(write)) return writeRun(this.#database, fenced, this.#bodies);
    return this.#database.transaction(async (queries) => {
      const isHeld = await writeRun(queries, fenced, this.#bodies);
      if (isHeld) await this.#queue.add(queries, write.runId);
      return isHeld;
    });
  }

  async readEvents(runId: string, afterSequence: number, maxEvents: number): Promise<readonly RunEvent[]> {
    return readEvents(this.#database, runId, afterSequence, maxEvents, this.#bodies);
  }

  async requestCancel(owner: string, runId: string): Promise<StoredRun | undefined> {
    const stored = await this.#readRun(REQUEST_CANCEL, [runId, owner]);
    if (stored?.run.cancelRequested === true) this.#notices.announce(runId, "cancel");
    return stored;
  }

  subscribe(runId: string, onNotice: (notice: RunNotice) => void): () => void {
    return this.#notices.subscribe(runId, onNotice);
  }

  async deliverQueued(
    handle: (runId: string) => Promise<void>,
    concurrency: number,
  ): Promise<() => Promise<void>> {
    const deliveries = this.#queue.deliver(handle, concurrency);
    const leave = this.#notices.subscribeToQueue(() => deliveries.wake());
    deliveries.wake();
    return async () => {
      leave();
      await deliveries.stop();
    };
  }

  async take(runId: string, { holder, durationMs }: Lease): Promise<StoredRun | undefined> {
    const taken = await this.#readRun(TAKE, [runId, holder, durationMs]);
    if (taken !== undefined) this.#held.add(runId);
    return taken;
  }

  async renewLeases({ holder, durationMs }: Lease): Promise<readonly string[]> {
    const rows = await this.#database.query<{ id: string; cancel_requested: boolean }>(RENEW, [
      holder,
      durationMs,
      [...this.#held],
    ]);
    return rows.filter(({ cancel_requested }) => cancel_requested).map(({ id }) => id);
  }

  async takeAbandoned({ holder, durationMs }: Lease, limit: number): Promise<readonly StoredRun[]> {
    const rows = await this.#database.query<StoredRunRow>(TAKE_ABANDONED, [holder, durationMs, limit]);
    for (const { id } of rows) this.#held.add(id);
    return rows.map((row) => storedRunOf(row, this.#bodies));
  }

  async createThread(owner: string, thread: Thread, messages: readonly ThreadMessage[]): Promise<void> {
    await createThread(this.#database, owner, thread, messages, createdAtOf(thread), this.#bodies);
  }

  async getThread(owner: string, threadId: string): Promise<Thread | undefined> {
    const [row] = await this.#database.query<{ body: Uint8Array }>(GET_THREAD, [threadId, owner]);
    return row && this.#bodies.readThread(threadId, row.body);
  }

  async updateThread(owner: string, thread: Thread): Promise<boolean> {
    return updateThread(this.#database, owner, thread, this.#bodies);
  }

  async deleteThread(owner: string, threadId: string): Promise<boolean> {
    return this.#database.transaction((queries) => removeThread(queries, owner, threadId));
  }

  async appendMessages(
    owner: string,
    threadId: string,
    messages: readonly ThreadMessage[],
  ): Promise<"appended" | "busy" | "missing"> {
    return appendMessages(this.#database, owner, threadId, messages, this.#bodies);
  }

  async listMessages(owner: string, query: MessageQuery): Promise<Page<ThreadMessage>> {
    return listMessages(this.#database, owner, query, this.#bodies);
  }

  async getMessage(owner: string, messageId: string): Promise<ThreadMessage | undefined> {
    const [row] = await this.#database.query<MessageRow>(GET_MESSAGE, [messageId, owner]);
    return row && this.#bodies.readMessage(row.id, row.body);
  }

  async findCall(owner: string, toolCallId: string): Promise<ThreadMessage | undefined> {
    const [row] = await this.#database.query<MessageRow>(FIND_CALL, [owner, toolCallId]);
    return row && this.#bodies.readMessage(row.id, row.body);
  }

  async deleteMessage(owner: string, threadId: string, messageId: string): Promise<boolean> {
    return this.#database.transaction((queries) => removeMessage(queries, owner, threadId, messageId));
  }

  async readHistory(runId: string): Promise<readonly Message[]> {
    return messagesOf(await this.#database.query<MessageRow>(READ_HISTORY_OF_RUN, [runId]), this.#bodies);
  }

  async removeOld(before: Date, limit: number): Promise<number> {
    return this.#database.transaction((queries) => removeOld(queries, before.getTime(), limit));
  }

  async close(): Promise<void> {
    await this.#queue.close();
    await this.#notices.close();
    await this.#database.close();
  }

  async #readRun(statement: Statement, values: readonly Value[]): Promise<StoredRun | undefined> {
    const [row] = await this.#database.query<StoredRunRow>(statement, values);
    return row && storedRunOf(row, this.#bodies);
  }
}
