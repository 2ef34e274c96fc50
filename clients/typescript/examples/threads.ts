import { assistantMessage, Client, Role, textOf, userMessage } from "outrigger-client";

const client = new Client();
const thread = await client.threads.create({
  // A conversation that began elsewhere; without messages the thread is empty.
  messages: [userMessage("My name is Ada."), assistantMessage("Hello, Ada.")],
  labels: { example: "threads" },
});
// The run reads the messages of the thread and appends its own.
await client.runs.create({ model: "sim-text", prompt: "What is my name?", threadId: thread.id });
for await (const { message } of client.threads.listMessages(thread.id))
  console.log(`${message?.role === Role.USER ? "user" : "model"}: ${textOf(message)}`);
await client.threads.delete(thread.id);
await client.close();
