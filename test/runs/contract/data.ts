/** Runs, threads and messages for the tests of stores. */
import { randomBytes } from "node:crypto";
import { setImmediate as nextTurn } from "node:timers/promises";
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { type StepResult, StepResultSchema } from "../../../src/gen/outrigger/v1/generation_pb.ts";
import { type Message, MessageSchema, Role } from "../../../src/gen/outrigger/v1/message_pb.ts";
import {
  type Run,
  type RunEvent,
  RunEventSchema,
  RunSchema,
  RunStatus,
} from "../../../src/gen/outrigger/v1/run_pb.ts";
import { CreateRunRequestSchema } from "../../../src/gen/outrigger/v1/run_service_pb.ts";
import {
  type Thread,
  type ThreadMessage,
  ThreadMessageSchema,
  ThreadSchema,
} from "../../../src/gen/outrigger/v1/thread_pb.ts";
import type { Claim, Holder, RunCreation, RunCreationResult, RunStore } from "../../../src/runs/store.ts";

/** The process of most tests. */
export const holder: Holder = { id: "process-1", timeoutMs: 60_000 };

/** Another process. */
export const otherHolder: Holder = { id: "process-2", timeoutMs: 60_000 };

/** The claim of a run after the given number of takes. Default: the claim since its creation. */
export function getClaim(runId: string, fence = 1, by: Holder = holder): Claim {
  return { runId, holderId: by.id, fence };
}

/** When the tests' first element was created; each later one a second later. */
const START_MS = Date.UTC(2026, 0, 1);

let created = 0;

/** A new time, a second after the one before. */
export function nextTime() {
  created += 1;
  return timestampFromMs(START_MS + created * 1000);
}

/** A new id. */
export function newId(prefix: "run" | "thread" | "msg"): string {
  return `${prefix}_${randomBytes(prefix === "msg" ? 18 : 16).toString("hex")}`;
}

/** The texts of messages. */
export function collectTexts(messages: readonly (Message | undefined)[]): string[] {
  return messages.map((message) => {
    const part = message?.content[0]?.part;
    return part?.case === "text" ? part.value : "";
  });
}

/** A message of a thread. */
export function message(
  text: string,
  fields: MessageInitShape<typeof ThreadMessageSchema> = {},
): ThreadMessage {
  return create(ThreadMessageSchema, {
    id: newId("msg"),
    createdAt: nextTime(),
    message: userText(text),
    ...fields,
  });
}

/** A message of the contract. */
export function userText(text: string): Message {
  return create(MessageSchema, { role: Role.USER, content: [{ part: { case: "text", value: text } }] });
}

/** A thread, by default a conversation. */
export function thread(fields: MessageInitShape<typeof ThreadSchema> = {}): Thread {
  return create(ThreadSchema, {
    id: newId("thread"),
    createdAt: nextTime(),
    conversation: true,
    ...fields,
  });
}

/** An event of the model. */
export function textEvent(sequence: number, delta: string): RunEvent {
  return create(RunEventSchema, {
    sequence,
    step: 1,
    event: {
      case: "modelEvent",
      value: { sequence, event: { case: "textDelta", value: { partIndex: 0, delta } } },
    },
  });
}

/** An event with the state of a run. */
export function runEvent(sequence: number, run: Run): RunEvent {
  return create(RunEventSchema, { sequence, event: { case: "run", value: run } });
}

/** The result of a step. */
export function step(text: string): StepResult {
  return create(StepResultSchema, { response: { message: userText(text) } });
}

/** The fields from which a run is created. */
export interface CreationFields {
  readonly owner?: string;
  readonly input?: readonly string[];
  readonly previousRunId?: string;
  /** The thread that the request names. */
  readonly threadId?: string;
  /** Held at once, unless `queued`. */
  readonly queued?: boolean;
  readonly holder?: Holder;
  readonly run?: MessageInitShape<typeof RunSchema>;
}

/** A run to create, IN_PROGRESS unless it is queued, with its first event. */
export function creation(fields: CreationFields = {}): RunCreation {
  const { owner = "owner", input = ["hello"], previousRunId = "", threadId = "", queued = false } = fields;
  const run = create(RunSchema, {
    id: newId("run"),
    status: queued ? RunStatus.QUEUED : RunStatus.IN_PROGRESS,
    threadId: threadId || newId("thread"),
    previousRunId,
    background: queued,
    stored: true,
    createdAt: nextTime(),
    model: "test-model",
    lastSequence: 0,
    ...fields.run,
  });
  return {
    run,
    owner,
    request: create(CreateRunRequestSchema, {
      options: { request: { model: "test-model" } },
      previousRunId,
      threadId,
      background: queued,
    }),
    events: [runEvent(0, run)],
    input: () => input.map((text) => message(text, { runId: run.id })),
    holder: queued ? undefined : (fields.holder ?? holder),
  };
}

/** A run in another state, one event later. */
export function finished(run: Run, status: RunStatus): Run {
  const lastSequence = run.lastSequence + 1;
  return create(RunSchema, { ...run, status, lastSequence, endedAt: nextTime() });
}

/** Creates a run and expects that it was created. */
export async function createdRun(store: RunStore, fields: CreationFields = {}): Promise<Run> {
  return (await createdResult(store, creation(fields))).run;
}

/** Creates a run and expects that it was created. */
export async function createdResult(
  store: RunStore,
  toCreate: RunCreation,
): Promise<Extract<RunCreationResult, { case: "created" }>> {
  // A store in this process may answer without a turn of the event loop. Sidecars make one for each request.
  await nextTurn();
  const result = await store.createRun(toCreate);
  if (result.case !== "created") throw new Error(`expected a run, found ${JSON.stringify(result)}`);
  return result;
}

/** Ends a run with an answer. By default, the first process has claimed it since its creation. */
export async function endRun(
  store: RunStore,
  run: Run,
  status: RunStatus = RunStatus.COMPLETED,
  answer = `answer of ${run.id}`,
  claim = getClaim(run.id),
): Promise<Run> {
  await nextTurn();
  const ended = finished(run, status);
  const isClaimed = await store.write({
    claim,
    run: ended,
    events: [runEvent(ended.lastSequence, ended)],
    steps: [step(answer)],
    messages: [message(answer, { runId: run.id, output: true })],
  });
  if (!isClaimed) throw new Error(`expected that ${run.id} is claimed`);
  return ended;
}

/** Creates a run and ends it. */
export async function endedRun(
  store: RunStore,
  fields: CreationFields = {},
  status: RunStatus = RunStatus.COMPLETED,
  answer?: string,
): Promise<Run> {
  return endRun(store, await createdRun(store, fields), status, answer);
}

/** The texts of what a run reads. */
export async function createHistory(store: RunStore, runId: string): Promise<string[]> {
  return collectTexts(await store.readHistory(runId));
}

/** The texts of a thread. */
export async function threadTexts(store: RunStore, threadId: string, owner = "owner"): Promise<string[]> {
  const page = await store.listMessages(owner, { threadId, order: "oldest first", after: "", limit: 100 });
  return collectTexts(page.elements.map((element) => element.message));
}

/** The sizes of the pages of a thread with three large messages. */
export async function pagesOfLargeMessages(store: RunStore): Promise<number[]> {
  const large = thread();
  const messages = [1, 2, 3].map(() => message("x".repeat(3 * 1024 * 1024)));
  await nextTurn();
  await store.createThread("owner", large, messages);
  const sizes: number[] = [];
  for (let after = "", hasMore = true; hasMore; ) {
    const query = { threadId: large.id, after, limit: 3, order: "oldest first" } as const;
    await nextTurn();
    const page = await store.listMessages("owner", query);
    sizes.push(page.elements.length);
    after = page.elements.at(-1)?.id ?? "";
    hasMore = page.hasMore;
  }
  return sizes;
}
