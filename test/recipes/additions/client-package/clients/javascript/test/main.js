import { createOutrigger } from "../src/index.js";
import { VERSION } from "../src/version.js";

const client = createOutrigger(process.env.OUTRIGGER_ADDR);
const request = {
  model: "sim-text",
  messages: [{ role: 2, content: [{ part: { case: "text", value: "Hi." } }] }],
};

async function check(name, run) {
  try {
    await run();
    process.stdout.write(`ok ${name}\n`);
  } catch (error) {
    process.stdout.write(`FAIL ${name}: ${error}\n`);
  }
}

await check("version", async () => {
  if (!/^\d+\.\d+\.\d+/.test(VERSION)) throw new Error(VERSION);
});
await check("complete", async () => {
  const { message } = await client.complete(request);
  if (message.content[0].part.value === "") throw new Error("no text");
});
await check("stream", async () => {
  let last;
  for await (const { event } of client.stream(request)) last = event.case;
  if (last !== "finish") throw new Error(last);
});
process.exit();
