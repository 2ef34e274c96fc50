import { Client, messageFromJson, reasoningOf, textOf, toJson, userMessage } from "outrigger";

const client = Client.fromEnv();
const settings = {
  provider: "anthropic",
  model: "claude-opus-5",
  reasoningEffort: "high",
  maxTokens: 20_000,
};

const question = userMessage("Three boats need two oars each. How many oars?");
const first = await client.complete({ ...settings, messages: [question] });
console.log("Reasoning:", reasoningOf(first));
console.log("Answer:", textOf(first));

// The message has the signature of its reasoning, also after it was stored in a database.
const stored = [question, first.message].map(toJson);

const messages = [...stored.map(messageFromJson), userMessage("And for five boats?")];
const second = await client.complete({ ...settings, messages });
console.log("Answer:", textOf(second));
await client.close();
