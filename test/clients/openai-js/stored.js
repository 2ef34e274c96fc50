/**
 * Responses that the sidecar keeps: in the background, cancelled, read again from a cursor, continued twice, deleted.
 */
import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";

/** Longest wait for a response in the background, in milliseconds; on a busy machine too. */
const longestWait = 30_000;

async function ended(openai, id) {
  const giveUp = Date.now() + longestWait;
  while (Date.now() < giveUp) {
    const response = await openai.responses.retrieve(id);
    if (!["queued", "in_progress"].includes(response.status)) return response;
    await sleep(50);
  }
  return assert.fail(`${id} did not end within ${longestWait} ms`);
}

export async function background({ openai, model }) {
  const created = await openai.responses.create({ model: model("text"), input: "Hello", background: true });
  assert.ok(["queued", "in_progress"].includes(created.status), created.status);
  assert.equal(created.background, true);
  const response = await ended(openai, created.id);
  assert.equal(response.status, "completed");
  assert.ok(response.output_text.length > 20);
}

export async function cancel({ openai, model }) {
  const created = await openai.responses.create({
    model: model("long:tokens=4000,rate=20"),
    input: "Write a lot.",
    background: true,
  });
  const cancelled = await openai.responses.cancel(created.id);
  assert.equal(cancelled.status, "cancelled");
  assert.equal((await openai.responses.retrieve(created.id)).status, "cancelled");
  // Cancelling twice is no mistake.
  assert.equal((await openai.responses.cancel(created.id)).status, "cancelled");
}

/** A stream can be left and continued after any event; every time with the same bytes. */
export async function resume({ openai, model }) {
  const { id, bytes: live } = await rawStream(openai, {
    model: model("long:tokens=60,rate=300"),
    input: "Write a little.",
    background: true,
  });
  const again = await rawEvents(openai, id, "");
  assert.equal(again, live);
  const after = 5;
  const rest = await rawEvents(openai, id, `&starting_after=${after}`);
  assert.ok(live.endsWith(rest) && rest.length > 0, "the bytes after the cursor are the same");
  assert.equal(JSON.parse(/^data: (.*)$/m.exec(rest)[1]).sequence_number, after + 1);
  const events = [];
  for await (const event of await openai.responses.retrieve(id, { stream: true, starting_after: after })) {
    events.push(event);
  }
  assert.equal(events[0].sequence_number, after + 1);
  assert.equal(events.at(-1).type, "response.completed");
}

/** Leaves a stream in the middle, and goes on from there while the response is still being written. */
export async function resume_live({ openai, model }) {
  const left = await openai.responses.create({
    model: model("long:tokens=100,rate=100"),
    input: "Write a little.",
    background: true,
    stream: true,
  });
  const events = [];
  for await (const event of left) {
    events.push(event);
    if (events.length === 8) break;
  }
  const { id } = events[0].response;
  const cursor = { stream: true, starting_after: events.at(-1).sequence_number };
  for await (const event of await openai.responses.retrieve(id, cursor)) events.push(event);
  assert.deepEqual(
    events.map((event) => event.sequence_number),
    events.map((_, index) => index),
  );
  const deltas = events.filter(({ type }) => type === "response.output_text.delta");
  const [text] = events.at(-1).response.output[0].content;
  assert.equal(deltas.map(({ delta }) => delta).join(""), text.text);
}

async function rawStream(openai, body) {
  const response = await openai.responses.create({ ...body, stream: true }).asResponse();
  const bytes = await response.text();
  return { id: /"id":"(resp_\w+)"/.exec(bytes)[1], bytes };
}

async function rawEvents(openai, id, query) {
  const response = await fetch(`${openai.baseURL}/responses/${id}?stream=true${query}`);
  assert.equal(response.status, 200);
  return response.text();
}

/** Two children of one response do not see each other, nor do their children. */
export async function branch({ openai, model }) {
  const say = (input, parent) =>
    openai.responses.create({ model: model("text"), input, previous_response_id: parent });
  const parent = await say("The beginning.");
  const left = await say("Go left.", parent.id);
  const right = await say("Go right.", parent.id);
  const leftAgain = await say("Go left.", parent.id);
  assert.notEqual(left.output_text, right.output_text);
  assert.equal(leftAgain.output_text, left.output_text);
  assert.equal(leftAgain.usage.input_tokens, left.usage.input_tokens);
  const [further, furtherAgain] = [await say("On.", left.id), await say("On.", leftAgain.id)];
  assert.equal(furtherAgain.output_text, further.output_text);
  assert.equal(furtherAgain.usage.input_tokens, further.usage.input_tokens);
  assert.ok(further.usage.input_tokens > left.usage.input_tokens);
}

/** Each request has only the instructions that it sets. */
export async function instructions({ openai, model }) {
  const first = await openai.responses.create({
    model: model("text"),
    instructions: "Answer like a pirate. ".repeat(20),
    input: "Hello",
  });
  const second = await openai.responses.create({
    model: model("text"),
    previous_response_id: first.id,
    input: "Hello again",
  });
  assert.equal(second.instructions, null);
  assert.ok(second.usage.input_tokens < first.usage.input_tokens, "the instructions are not sent again");
}

export async function input_items({ openai, model }) {
  const texts = ["one", "two", "three", "four", "five"];
  const { id } = await openai.responses.create({
    model: model("text"),
    input: texts.map((content) => ({ role: "user", content })),
  });
  const first = await openai.responses.inputItems.list(id, { limit: 2, order: "asc" });
  assert.equal(first.data.length, 2);
  assert.equal(first.has_more, true);
  assert.deepEqual(await textsOf(first), texts);
  assert.deepEqual(await textsOf(await openai.responses.inputItems.list(id)), texts.toReversed());
}

/** The texts of all pages. */
async function textsOf(pages) {
  const items = [];
  for await (const item of pages) items.push(item);
  assert.equal(new Set(items.map(({ id }) => id)).size, items.length, "ids are unique");
  return items.map(({ content }) => content[0].text);
}

async function isMissing(request) {
  await assert.rejects(request, { name: "Error", status: 404 });
}

async function deleted({ openai, model }) {
  const { id } = await openai.responses.create({ model: model("text"), input: "Hello" });
  assert.equal((await openai.responses.retrieve(id)).id, id);
  await openai.responses.delete(id);
  await isMissing(openai.responses.retrieve(id));
  await isMissing(openai.responses.delete(id));
}

export { deleted as delete };

/** A long conversation becomes a short one, which can be continued. */
export async function compact({ openai, model }) {
  const long = Array.from({ length: 10 }, (_, index) => ({
    role: "user",
    content: `Fact ${index}. `.repeat(30),
  }));
  const compacted = await openai.responses.compact({ model: model("text"), input: long });
  assert.equal(compacted.object, "response.compaction");
  assert.ok(compacted.usage.total_tokens > 0);
  assert.ok(compacted.output.some(({ type }) => type === "compaction"));
  const next = await openai.responses.create({
    model: model("text"),
    input: [...compacted.output, { role: "user", content: "What was the first fact?" }],
  });
  assert.equal(next.status, "completed");
}
