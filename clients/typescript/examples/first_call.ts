import { Client, textOf, userMessage } from "outrigger-client";

const client = new Client(); // OUTRIGGER_ADDRESS, else localhost:6190
const response = await client.complete({ model: "sim-text", messages: [userMessage("Say hello.")] });
console.log(textOf(response));
await client.close();
