import { Client, getText, userMessage } from "outrigger-client";

const client = new Client(); // OUTRIGGER_ADDRESS, else localhost:6190
const response = await client.complete({ model: "sim-text", messages: [userMessage("Say hello.")] });
console.log(getText(response));
await client.close();
