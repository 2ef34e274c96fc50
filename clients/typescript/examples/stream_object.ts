import { Client, streamObject } from "outrigger-client";
import * as z from "zod";

const schema = z.object({ title: z.string(), steps: z.array(z.string()).min(3) });

await using client = new Client();
const result = streamObject({ client, model: "sim-text", prompt: "A recipe", schema });
let copies = 0;
for await (const partial of result) copies += partial.title === undefined ? 0 : 1;
const recipe = await result.object();
console.log(`${copies > 0 ? "grew" : "did not grow"} to ${recipe.steps.length} steps`);
