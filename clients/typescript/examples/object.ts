import { Client, generateObject } from "outrigger-client";
import * as z from "zod";

const schema = z.object({ name: z.string(), age: z.int() });

await using client = new Client();
const prompt = "Extract the person: Alice is 30 years old.";
const { output } = await generateObject({ client, model: "sim-text", prompt, schema });
console.log(`${typeof output.name}, ${typeof output.age}`);
