/** Conversations as objects: created, changed, read page by page, deleted. */
import assert from "node:assert/strict";

export async function conversations({ openai, model }) {
  const created = await openai.conversations.create({
    metadata: { topic: "tests" },
    items: [{ role: "user", content: "one" }],
  });
  assert.equal(created.object, "conversation");
  assert.match(created.id, /^conv_/);
  assert.deepEqual(created.metadata, { topic: "tests" });
  const changed = await openai.conversations.update(created.id, { metadata: { topic: "more" } });
  assert.deepEqual(changed.metadata, { topic: "more" });
  assert.deepEqual(await openai.conversations.retrieve(created.id), changed);
  await openai.responses.create({ model: model("text"), conversation: created.id, input: "two" });
  assert.deepEqual(await rolesOf(openai, created.id), ["user", "user", "assistant"]);
  const removed = await openai.conversations.delete(created.id);
  assert.deepEqual([removed.id, removed.deleted], [created.id, true]);
  await assert.rejects(openai.conversations.retrieve(created.id), { status: 404 });
}

export async function conversation_items({ openai }) {
  const { id } = await openai.conversations.create();
  const texts = ["one", "two", "three"];
  const added = await openai.conversations.items.create(id, {
    items: texts.map((content) => ({ type: "message", role: "user", content })),
  });
  assert.deepEqual([added.object, added.data.length], ["list", 3]);
  const page = await openai.conversations.items.list(id, { limit: 2, order: "asc" });
  assert.equal(page.has_more, true);
  const all = [];
  for await (const item of page) all.push(item);
  assert.deepEqual(all, added.data);
  const [, second] = all;
  assert.deepEqual(await openai.conversations.items.retrieve(second.id, { conversation_id: id }), second);
  const left = await openai.conversations.items.delete(second.id, { conversation_id: id });
  assert.equal(left.id, id);
  await assert.rejects(openai.conversations.items.retrieve(second.id, { conversation_id: id }), {
    status: 404,
  });
  assert.equal((await rolesOf(openai, id)).length, 2);
}

async function rolesOf(openai, id) {
  const roles = [];
  for await (const item of openai.conversations.items.list(id, { order: "asc" })) roles.push(item.role);
  return roles;
}
