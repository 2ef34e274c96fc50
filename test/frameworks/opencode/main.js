/** opencode, with the AI SDK's provider for the Responses API. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { checkTask, openWorkspace, runAgent, writeTask } from "../support/agent.js";
import { apiKey, baseURL, main } from "../support/harness.js";

/** The program for processors with AVX2, or for all. The install script of `opencode-ai` would choose as well. */
function findProgram() {
  const hasAvx2 = readFileSync("/proc/cpuinfo", "utf8").includes(" avx2");
  const name = hasAvx2 ? "opencode-linux-x64" : "opencode-linux-x64-baseline";
  return fileURLToPath(new URL(`../node_modules/${name}/bin/opencode`, import.meta.url));
}

const file = findProgram();

function writeConfiguration(home, model) {
  const path = join(home, "opencode.json");
  const models = { [model]: { name: model, tool_call: true, limit: { context: 200_000, output: 32_000 } } };
  const options = { baseURL, apiKey };
  const configuration = {
    model: `outrigger/${model}`,
    small_model: `outrigger/${model}`,
    enabled_providers: ["outrigger"],
    provider: { outrigger: { npm: "@ai-sdk/openai", name: "Outrigger", options, models } },
  };
  writeFileSync(path, JSON.stringify(configuration));
  return path;
}

async function run({ home, work }, { agent }, input, ...flags) {
  const env = {
    OPENCODE_CONFIG: writeConfiguration(home, agent),
    OPENCODE_DISABLE_AUTOUPDATE: "1",
    OPENCODE_DISABLE_DEFAULT_PLUGINS: "1",
    OPENCODE_DISABLE_LSP_DOWNLOAD: "1",
    OPENCODE_DISABLE_MODELS_FETCH: "1",
  };
  return await runAgent({ file, args: ["run", ...flags], env, home, work, input });
}

async function tools(target) {
  const workspace = openWorkspace(target);
  const output = await run(workspace, target, writeTask("bash", "first"));
  checkTask({ ...workspace, output }, "first");
}

async function secondTurn(target) {
  const workspace = openWorkspace(target);
  const output = await run(workspace, target, writeTask("bash", "second"), "--continue");
  checkTask({ ...workspace, output }, "second");
}

await main({ tools, second_turn: secondTurn }, { inTurn: true });
