import { Client, generate, type Message, userMessage } from "outrigger-client";

await using client = new Client();
const history: Message[] = [];
for (const question of ["Say hello.", "Say it again, please."]) {
  history.push(userMessage(question));
  const result = await generate({ client, model: "sim-reasoning", messages: history });
  // The answer's messages go back unchanged: they have what the provider needs, such as signatures of its reasoning.
  history.push(...result.messages);
  console.log(`${history.length}: ${result.text}`);
}
