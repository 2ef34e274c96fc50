import { InvalidRequestError } from "../../core/errors.ts";
import type { Message } from "../../gen/outrigger/v1/message_pb.ts";
import type { CreateRunRequest } from "../../gen/outrigger/v1/run_service_pb.ts";
import type { RunEngine, ThreadEngine } from "../../runs/engine.ts";
import type { StoredMessage } from "../../runs/store.ts";

/** Maximum number of messages of one conversation that are read at once. */
const MAX_MESSAGES = 10_000;
const PAGE = 100;

/** Finds a conversation. */
export type HistorySource = Pick<RunEngine, "getRun"> & {
  readonly threads: Pick<ThreadEngine, "listMessages">;
};

/**
 * Reads the conversation that a request continues: a thread, or a run and the runs before it. Empty if it continues
 * none.
 */
export async function readHistory(
  engine: HistorySource,
  owner: string,
  { previousRunId, threadId }: Pick<CreateRunRequest, "previousRunId" | "threadId">,
): Promise<readonly Message[]> {
  if (previousRunId === "" && threadId === "") return [];
  const run = previousRunId === "" ? undefined : await engine.getRun(owner, previousRunId);
  const all = await readThread(engine.threads, owner, run?.threadId ?? threadId);
  // Later runs may have continued the thread.
  const end = run === undefined ? all.length : all.findLastIndex(({ runId }) => runId === run.id) + 1;
  return all.slice(0, end).flatMap(({ message }) => message ?? []);
}

async function readThread(
  threads: Pick<ThreadEngine, "listMessages">,
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
