/** The expected contents of a store, as lists in memory, and the commands of the property test against both. */
import fc from "fast-check";
import { expect } from "vitest";
import { type Run, RunStatus } from "../../../src/gen/outrigger/v1/run_pb.ts";
import type { RunStore } from "../../../src/runs/store.ts";
import { createdResult, createHistory, creation, endRun, message, thread, threadTexts } from "./data.ts";

/** The tests' picture of a run. */
interface ModelRun {
  run: Run;
  status: RunStatus;
  /** The texts that the run read. */
  readonly history: readonly string[];
  /** The texts that the run read and added, which a run that continues it reads. */
  texts: string[];
  /** Set once a run of the same thread, or a message, came after it. */
  isLatest: boolean;
}

/** The tests' picture of a thread. */
interface ModelThread {
  readonly id: string;
  readonly isConversation: boolean;
  readonly texts: string[];
  latest: ModelRun | undefined;
}

/** The tests' picture of a store. */
export class StoreModel {
  readonly runs: ModelRun[] = [];
  readonly threads = new Map<string, ModelThread>();
  #texts = 0;

  /** A text that no other message has. */
  newText(): string {
    this.#texts += 1;
    return `text ${this.#texts}`;
  }

  conversationAt(index: number): ModelThread | undefined {
    const conversations = [...this.threads.values()].filter(({ isConversation }) => isConversation);
    return conversations[index % Math.max(1, conversations.length)];
  }

  runAt(index: number): ModelRun | undefined {
    return this.runs[index % Math.max(1, this.runs.length)];
  }
}

type StoreCommand = fc.AsyncCommand<StoreModel, RunStore>;

const isQueuedOrRunning = (run: ModelRun | undefined) =>
  run?.status === RunStatus.IN_PROGRESS || run?.status === RunStatus.QUEUED;

/** Adds a run that was created to the model. */
function addRun(model: StoreModel, run: Run, history: readonly string[], input: string): void {
  const added: ModelRun = {
    run,
    status: run.status,
    history: [...history],
    texts: [...history, input],
    isLatest: true,
  };
  const modelThread = model.threads.get(run.threadId) ?? getFork(run, history);
  if (modelThread.latest !== undefined) {
    modelThread.latest.isLatest = false;
    if (modelThread.latest.status === RunStatus.REQUIRES_ACTION)
      modelThread.latest.status = RunStatus.COMPLETED;
  }
  modelThread.texts.push(input);
  modelThread.latest = added;
  model.threads.set(run.threadId, modelThread);
  model.runs.push(added);
}

function getFork(run: Run, history: readonly string[]): ModelThread {
  return { id: run.threadId, isConversation: false, texts: [...history], latest: undefined };
}

class CreateConversation implements StoreCommand {
  check = () => true;
  async run(model: StoreModel, store: RunStore): Promise<void> {
    const created = thread();
    const text = model.newText();
    await store.createThread("owner", created, [message(text)]);
    model.threads.set(created.id, {
      id: created.id,
      isConversation: true,
      texts: [text],
      latest: undefined,
    });
  }
  toString = () => "create conversation";
}

class Append implements StoreCommand {
  readonly index: number;

  constructor(index: number) {
    this.index = index;
  }

  check = (model: Readonly<StoreModel>) => model.conversationAt(this.index) !== undefined;
  async run(model: StoreModel, store: RunStore): Promise<void> {
    const target = model.conversationAt(this.index);
    if (target === undefined) return;
    const text = model.newText();
    const result = await store.appendMessages("owner", target.id, [message(text)]);
    if (isQueuedOrRunning(target.latest)) {
      expect(result).toEqual({ case: "busy", activeRunId: target.latest?.run.id });
      return;
    }
    expect(result).toEqual({ case: "appended" });
    target.texts.push(text);
    if (target.latest !== undefined) target.latest.isLatest = false;
  }
  toString = () => `append to ${this.index}`;
}

class Start implements StoreCommand {
  check = () => true;
  async run(model: StoreModel, store: RunStore): Promise<void> {
    const text = model.newText();
    const { run } = await createdResult(store, creation({ input: [text] }));
    addRun(model, run, [], text);
  }
  toString = () => "start";
}

class RunConversation implements StoreCommand {
  readonly index: number;

  constructor(index: number) {
    this.index = index;
  }

  check = (model: Readonly<StoreModel>) => model.conversationAt(this.index) !== undefined;
  async run(model: StoreModel, store: RunStore): Promise<void> {
    const target = model.conversationAt(this.index);
    if (target === undefined) return;
    const text = model.newText();
    const result = await store.createRun(creation({ threadId: target.id, input: [text] }));
    if (isQueuedOrRunning(target.latest)) {
      expect(result).toEqual({ case: "busy", activeRunId: target.latest?.run.id });
      return;
    }
    if (result.case !== "created") throw new Error(`expected a run, found ${result.case}`);
    addRun(model, result.run, target.texts, text);
  }
  toString = () => `run conversation ${this.index}`;
}

class Continue implements StoreCommand {
  readonly index: number;

  constructor(index: number) {
    this.index = index;
  }

  check = (model: Readonly<StoreModel>) => model.runAt(this.index) !== undefined;
  async run(model: StoreModel, store: RunStore): Promise<void> {
    const previous = model.runAt(this.index);
    if (previous === undefined) return;
    const text = model.newText();
    const toCreate = creation({ previousRunId: previous.run.id, input: [text] });
    const result = await store.createRun(toCreate);
    if (isQueuedOrRunning(previous)) {
      expect(result).toEqual({ case: "unfinished", status: previous.status });
      return;
    }
    if (result.case !== "created") throw new Error(`expected a run, found ${result.case}`);
    expect(result.forked).toBe(!previous.isLatest);
    expect(result.run.threadId).toBe(previous.isLatest ? previous.run.threadId : toCreate.run.threadId);
    if (previous.status === RunStatus.REQUIRES_ACTION) previous.status = RunStatus.COMPLETED;
    addRun(model, result.run, previous.texts, text);
  }
  toString = () => `continue ${this.index}`;
}

class End implements StoreCommand {
  readonly index: number;
  readonly status: RunStatus;

  constructor(index: number, status: RunStatus) {
    this.index = index;
    this.status = status;
  }

  check = (model: Readonly<StoreModel>) => isQueuedOrRunning(model.runAt(this.index));
  async run(model: StoreModel, store: RunStore): Promise<void> {
    const target = model.runAt(this.index);
    if (target === undefined) return;
    const text = model.newText();
    target.run = await endRun(store, target.run, this.status, text);
    target.status = this.status;
    target.texts.push(text);
    model.threads.get(target.run.threadId)?.texts.push(text);
  }
  toString = () => `end ${this.index} with ${this.status}`;
}

/** Compares everything in a store with its model. */
export async function expectSame(model: StoreModel, store: RunStore): Promise<void> {
  for (const { run, status, history } of model.runs) {
    expect((await store.getRun("owner", run.id))?.run.status).toBe(status);
    expect(await createHistory(store, run.id)).toEqual(history);
  }
  for (const { id, texts } of model.threads.values()) expect(await threadTexts(store, id)).toEqual(texts);
  const { elements } = await store.listRuns("owner", { threadId: "", statuses: [], after: "", limit: 100 });
  expect(elements.map(({ id }) => id)).toEqual(model.runs.map(({ run }) => run.id).reverse());
}

const index = fc.nat({ max: 20 });

/** Random lists of calls. */
export const commands = fc.commands(
  [
    fc.constant(new CreateConversation()),
    fc.constant(new Start()),
    index.map((at) => new Append(at)),
    index.map((at) => new RunConversation(at)),
    index.map((at) => new Continue(at)),
    index.map((at) => new Continue(at)),
    index.map((at) => new End(at, RunStatus.COMPLETED)),
    index.map((at) => new End(at, RunStatus.COMPLETED)),
    index.map((at) => new End(at, RunStatus.REQUIRES_ACTION)),
  ],
  { maxCommands: 40, size: "max" },
);
