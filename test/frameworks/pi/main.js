/**
 * The Pi coding agent, over one of the APIs.
 *
 *   node main.js responses|chat|anthropic|google
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { checkTask, openWorkspace, runAgent, writeTask } from "../support/agent.js";
import { apiKey, baseURL, main, origin } from "../support/harness.js";

const file = fileURLToPath(new URL("../node_modules/.bin/pi", import.meta.url));

const apis = {
  responses: { api: "openai-responses", baseUrl: baseURL },
  chat: { api: "openai-completions", baseUrl: baseURL },
  anthropic: { api: "anthropic-messages", baseUrl: origin },
  google: { api: "google-generative-ai", baseUrl: `${origin}/v1beta` },
};

function writeModels({ home }, model) {
  const folder = join(home, ".pi/agent");
  mkdirSync(folder, { recursive: true });
  const provider = {
    ...apis[process.argv[2] ?? "responses"],
    apiKey,
    models: [{ id: model, reasoning: true }],
  };
  writeFileSync(join(folder, "models.json"), JSON.stringify({ providers: { outrigger: provider } }));
}

async function run(workspace, model, name, flags = []) {
  writeModels(workspace, model);
  const args = ["--provider", "outrigger", "--model", model, ...flags, "--print", writeTask("bash", name)];
  const output = await runAgent({ file, args, env: { PI_OFFLINE: "1" }, ...workspace });
  checkTask({ ...workspace, output }, name);
}

async function tools(target) {
  await run(openWorkspace(target), target.agent, "first");
}

async function secondTurn(target) {
  await run(openWorkspace(target), target.agent, "second", ["--continue"]);
}

await main({ tools, second_turn: secondTurn }, { inTurn: true });
