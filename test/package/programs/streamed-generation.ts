import { Client, customTool, SDKError, stream } from "outrigger";

const calculate = customTool({
  name: "calculate",
  description: "Adds the numbers in a text",
  execute: (text) => (text.match(/\d+/g) ?? []).reduce((sum, number) => sum + Number(number), 0),
});

const client = Client.fromEnv();
const signal = AbortSignal.timeout(60_000);
const result = stream({ client, signal, model: "gpt-5.2", prompt: "Add 17 and 25.", tools: [calculate] });
try {
  for await (const { event } of result) {
    if (event.case === "textDelta") process.stdout.write(event.value.delta);
    else if (event.case === "stepFinish")
      console.log(`step ${event.value.step} had ${event.value.result.toolResults.length} tool results`);
  }
  const { stopReason, totalUsage } = await result.result();
  console.log(`${stopReason}, ${totalUsage?.outputTokens} tokens`);
} catch (error) {
  console.error(error instanceof SDKError ? `${error.kindName}: ${error.message}` : error);
}
await client.close();
