import { Client, systemMessage, userMessage } from "outrigger";

const client = Client.fromEnv();
const messages = [systemMessage("Answer in one sentence.")];

for (const question of ["What is an outrigger?", "Who invented it?"]) {
  messages.push(userMessage(question));
  const stream = client.stream({ model: "gpt-5.2", messages });
  for await (const text of stream.text()) process.stdout.write(text);
  const { message, usage } = await stream.final();
  messages.push(message);
  console.log(` (${usage?.totalTokens} tokens)`);
}
await client.close();
