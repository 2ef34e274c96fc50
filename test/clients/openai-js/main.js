/**
 * Calls a sidecar's `/v1` with OpenAI's SDK for JavaScript, the way a program does that was written for OpenAI: only the
 * base URL and the names of the models differ. Each check runs for every provider. Plain JavaScript, as in grpc-js.
 */
import OpenAI from "openai";
import * as answers from "./answers.js";
import * as conversations from "./conversations.js";
import * as failures from "./failures.js";
import * as stored from "./stored.js";
import * as tools from "./tools.js";

const baseURL = `http://${process.env.OUTRIGGER_ADDR}/v1`;
const openai = new OpenAI({ baseURL, apiKey: "any" });
const checks = { ...answers, ...tools, ...stored, ...conversations, ...failures };
const providers = (process.env.PROVIDERS ?? "openai anthropic gemini compatible").split(" ");
const [wanted = ""] = process.argv.slice(2);

for (const provider of providers) {
  for (const [name, check] of Object.entries(checks)) {
    if (!`${provider}/${name}`.includes(wanted)) continue;
    await run(`${provider}/${name}`, () => check({ openai, provider, model: modelOf(provider) }));
  }
}

/** The full name of a model of the provider's simulator, such as `anthropic/sim-tools:calls=2`. */
function modelOf(provider) {
  return (script) => `${provider}/sim-${script}`;
}

async function run(name, check) {
  try {
    await check();
    process.stdout.write(`ok ${name}\n`);
  } catch (error) {
    process.exitCode = 1;
    process.stderr.write(`${name}: ${error.stack}\n`);
    process.stdout.write(`FAIL ${name}: ${String(error.message).replace(/\s+/g, " ")}\n`);
  }
}
