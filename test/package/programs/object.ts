import { Client, generateObject, NoObjectGeneratedError } from "outrigger";
import * as z from "zod";

const schema = z.object({ name: z.string(), age: z.int() });
const client = Client.fromEnv();
try {
  const prompt = "Who is meant? Alice turned 30 yesterday.";
  const { output, totalUsage } = await generateObject({ client, model: "gpt-5.2", prompt, schema });
  console.log(`${output.name} is ${output.age.toFixed()}. (${totalUsage?.totalTokens} tokens)`);
} catch (error) {
  if (!(error instanceof NoObjectGeneratedError)) throw error;
  console.error(error.text, error.schemaViolations);
}
await client.close();
