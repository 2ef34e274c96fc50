import { InvalidRequestError, NotFoundError } from "../../core/errors.ts";
import { measureMemory } from "../../core/memory-pool.ts";
import type { Message } from "../../gen/outrigger/v1/message_pb.ts";
import type { Run } from "../../gen/outrigger/v1/run_pb.ts";
import type { StoredMessage } from "../../runs/store.ts";
import type { Threads } from "../../runs/threads.ts";

/** Maximum number of messages of one conversation that are read at once. */
const MAX_MESSAGES = 10_000;
const PAGE = 100;

/** Maximum number of messages that are searched for those that a request repeats. Clients repeat the latest turns. */
const MAX_SEARCHED = 1_000;

/** Maximum memory of these messages, in bytes: as much as the largest request. */
const MAX_SEARCHED_BYTES = 32 * 1024 * 1024;

/** Finds a conversation. */
export interface HistorySource {
  readonly threads: Pick<Threads, "listMessages">;
}

/**
 * Reads the conversation that a request continues: a thread, or a run and the runs before it. Empty if it continues
 * none.
 * @param previous The run, if one is continued.
 */
export async function readHistory(
  { threads }: HistorySource,
  owner: string,
  previous: Run | undefined,
  threadId: string,
): Promise<readonly Message[]> {
  if (previous === undefined && threadId === "") return [];
  const all = await readThread(threads, owner, previous?.threadId ?? threadId);
  // Later runs may have continued the thread.
  const end =
    previous === undefined ? all.length : all.findLastIndex(({ runId }) => runId === previous.id) + 1;
  return all.slice(0, end).flatMap(({ message }) => message ?? []);
}

async function readThread(
  threads: Pick<Threads, "listMessages">,
  owner: string,
  threadId: string,
): Promise<readonly StoredMessage[]> {
  const all: StoredMessage[] = [];
  for (let after = ""; ; after = all.at(-1)?.id ?? "") {
    const query = { threadId, after, limit: PAGE, order: "oldest first" } as const;
    const { elements, hasMore } = await threads.listMessages(owner, query);
    all.push(...elements);
    if (!hasMore) return all;
    if (all.length > MAX_MESSAGES)
      throw new InvalidRequestError(
        `expected a conversation of at most ${MAX_MESSAGES} messages, found more`,
      );
  }
}

/** The stored conversation that a request continues. */
export interface ContinuedConversation {
  /**
   * Reads the end of the conversation, oldest message first.
   * @param ids Messages that it should contain.
   * @param before Messages before the first of them that it should contain.
   */
  readEnd(ids: ReadonlySet<string>, before: number): Promise<readonly StoredMessage[]>;
}

/** A conversation up to a run. */
interface ThreadRange {
  readonly threadId: string;
  /** Later runs are left out. Empty: the whole thread. */
  readonly lastRunId: string;
}

/** The messages at the end of a conversation that a request may repeat. */
interface RepeatedRange {
  /** Messages to find. */
  readonly ids: ReadonlySet<string>;
  /** Number of messages before the first match. */
  readonly before: number;
}

/** Reads the end of a conversation, oldest message first. Empty if there is no such conversation. */
export async function readEnd(
  threads: Pick<Threads, "listMessages">,
  owner: string,
  { threadId, lastRunId }: ThreadRange,
  { ids, before }: RepeatedRange,
): Promise<readonly StoredMessage[]> {
  const missing = new Set(ids);
  const end: StoredMessage[] = [];
  let [isInRange, after, needed, bytes] = [lastRunId === "", "", ids.size === 0 ? before : Infinity, 0];
  for (let searched = 0; searched < MAX_SEARCHED; searched += PAGE) {
    const query = { threadId, after, limit: PAGE, order: "latest first" } as const;
    const { elements, hasMore } = await threads.listMessages(owner, query).catch(emptyIfNotFound);
    for (const message of elements) {
      isInRange ||= message.runId === lastRunId;
      if (!isInRange) continue;
      end.push(message);
      bytes += measureMemory(message.message);
      if (missing.delete(message.id) && missing.size === 0) needed = end.length + before;
    }
    after = elements.at(-1)?.id ?? "";
    if (!hasMore || end.length >= needed || bytes > MAX_SEARCHED_BYTES) break;
  }
  return end.reverse();
}

/** Returns an empty page if the conversation does not exist: the engine reports that later. */
function emptyIfNotFound(thrown: unknown): Awaited<ReturnType<Threads["listMessages"]>> {
  if (thrown instanceof NotFoundError) return { elements: [], hasMore: false };
  throw thrown;
}
