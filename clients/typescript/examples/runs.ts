import { Client, RunStatus } from "outrigger-client";

const client = new Client();
const run = await client.runs.create({
  model: "sim-text",
  prompt: "Say hello.",
  background: true, // the run continues when this program is gone
  labels: { example: "runs" },
});
// `{ after }` resumes after an event. A lost connection is resumed automatically.
for await (const { event } of client.runs.events(run.id)) {
  if (event.case !== "modelEvent") continue;
  const { event: change } = event.value;
  if (change.case === "textDelta") process.stdout.write(change.value.delta);
}
const ended = await client.runs.wait(run.id);
console.log(`\ncompleted: ${ended.status === RunStatus.COMPLETED}, ${ended.steps.length} step`);

const next = await client.runs.create({
  model: "sim-text",
  prompt: "And goodbye.",
  previousRunId: run.id,
});
for await (const { id } of client.runs.list({ threadId: next.threadId }))
  console.log("in the thread:", id === run.id ? "the first run" : "another run");
await client.runs.delete(next.id);
await client.close();
