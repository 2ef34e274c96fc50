import assert from "node:assert/strict";
import {
  assistantMessage,
  type CallInfo,
  Client,
  InvalidRequestError,
  NotFoundError,
  Role,
  RunStatus,
  type ThreadMessage,
  textOf,
  userMessage,
} from "outrigger-client";

/** Checks of stored conversations. */
export const threadChecks: readonly (readonly [name: string, check: () => Promise<void>])[] = [
  ["threads", threads],
  ["thread_messages", threadMessages],
  ["thread_of_runs", threadOfRuns],
  ["thread_violations", threadViolations],
];

async function threads(): Promise<void> {
  await using client = new Client();
  const calls: CallInfo[] = [];
  const told = client.with({ headers: { "x-request-id": "mine-1" }, onCall: (call) => calls.push(call) });
  const created = await told.threads.create({ labels: { user: "ada", topic: "boats" } });
  assert.deepEqual(
    calls.map(({ method, requestId }) => [method, requestId]),
    [["CreateThread", "mine-1"]],
  );
  const updated = await client.threads.update(created.id, { topic: "canoes" });
  assert.deepEqual(updated.metadata, { topic: "canoes" });
  assert.deepEqual(await client.threads.get(created.id), updated);
  await client.threads.delete(created.id);
  assert.equal(await client.threads.get(created.id), undefined);
  await assert.rejects(client.threads.appendMessages(created.id, [userMessage("Hi")]), NotFoundError);
}

async function threadMessages(): Promise<void> {
  await using client = new Client();
  const { id } = await client.threads.create({ messages: [userMessage("One"), assistantMessage("Two")] });
  const [three] = await client.threads.appendMessages(id, [userMessage("Three")]);
  assert(three !== undefined);
  const oldestFirst = await collectTexts(client.threads.listMessages(id, { pageSize: 1 }));
  assert.deepEqual(oldestFirst, ["One", "Two", "Three"]);
  const newestFirst = await collectTexts(client.threads.listMessages(id, { pageSize: 2, newestFirst: true }));
  assert.deepEqual(newestFirst, ["Three", "Two", "One"]);
  assert.deepEqual(await client.threads.getMessage(three.id), three);
  await client.threads.deleteMessage(id, three.id);
  assert.equal(await client.threads.getMessage(three.id), undefined);
  const signal = AbortSignal.abort(new Error("no longer wanted"));
  await assert.rejects(client.threads.listMessages(id, {}, { signal }).next(), { name: "AbortError" });
}

async function threadOfRuns(): Promise<void> {
  await using client = new Client();
  const { id } = await client.threads.create({ messages: [userMessage("My name is Ada.")] });
  const run = await client.runs.create({ model: "sim-text", prompt: "Who am I?", threadId: id });
  assert.equal(run.status, RunStatus.COMPLETED);
  assert.equal(run.threadId, id);
  const messages = await collect(client.threads.listMessages(id));
  assert.deepEqual(
    messages.map(({ output, runId }) => [output, runId]),
    [
      [false, ""],
      [false, run.id],
      [true, run.id],
    ],
  );
  assert.equal(textOf(messages[2]?.message), textOf(run.steps[0]?.response));
}

async function threadViolations(): Promise<void> {
  await using client = new Client();
  const { id } = await client.threads.create();
  const misspelt = { role: Role.USER, contents: [] };
  for (const messages of [[], [misspelt]])
    await assert.rejects(client.threads.appendMessages(id, messages), (error) => {
      assert(error instanceof InvalidRequestError);
      assert.match(error.violations[0]?.field ?? "", /^messages/);
      return true;
    });
}

async function collectTexts(listed: AsyncIterable<ThreadMessage>): Promise<string[]> {
  return (await collect(listed)).map(({ message }) => textOf(message));
}

async function collect<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const found: Item[] = [];
  for await (const item of items) found.push(item);
  return found;
}
