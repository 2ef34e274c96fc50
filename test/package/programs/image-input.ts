import { readFile } from "node:fs/promises";
import { Client, imagePart, textOf, textPart, userMessage } from "outrigger";

const client = Client.fromEnv();
const question = userMessage([
  textPart("What changed between these two charts?"),
  imagePart(await readFile("chart.png"), { mediaType: "image/png", detail: "high" }),
  imagePart("https://example.com/last-year.png", { detail: "low" }),
]);
const response = await client.complete({ model: "gpt-5.2", messages: [question] });
console.log(textOf(response));
await client.close();
