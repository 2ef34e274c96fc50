import { Client, userMessage } from "outrigger-client";

await using client = new Client();
const stream = client.stream({ model: "sim-text", messages: [userMessage("Say hello.")] });
for await (const text of stream.text()) process.stdout.write(text);
const response = await stream.final();
console.log(`\n${response.usage?.outputTokens} tokens`);
