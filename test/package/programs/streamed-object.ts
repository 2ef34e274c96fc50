import { Client, streamObject } from "outrigger";
import * as z from "zod";

const schema = z.object({ title: z.string(), steps: z.array(z.string()).min(2) });
const client = Client.fromEnv();
const result = streamObject({ client, model: "gpt-5.2", prompt: "A recipe for pancakes", schema });
for await (const { title = "", steps = [] } of result) console.log(`${title}: ${steps.length} steps so far`);
const recipe = await result.object();
console.log(`${recipe.title}: ${recipe.steps.length} steps`);
await client.close();
