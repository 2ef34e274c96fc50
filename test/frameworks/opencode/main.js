/** opencode, with the package of the AI SDK that the argument names: for the Responses API, or for Chat Completions. */
import assert from "node:assert/strict";
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
const [provider] = process.argv.slice(2);

function writeConfiguration(home, model) {
  const path = join(home, "opencode.json");
  const models = { [model]: { name: model, tool_call: true, limit: { context: 200_000, output: 32_000 } } };
  const options = { baseURL, apiKey };
  const configuration = {
    model: `outrigger/${model}`,
    small_model: `outrigger/${model}`,
    enabled_providers: ["outrigger"],
    provider: { outrigger: { npm: provider, name: "Outrigger", options, models } },
  };
  writeFileSync(path, JSON.stringify(configuration));
  return path;
}

async function run({ home, work }, model, { input, flags = [], exitCode = 0 }) {
  const env = {
    OPENCODE_CONFIG: writeConfiguration(home, model),
    OPENCODE_DISABLE_AUTOUPDATE: "1",
    OPENCODE_DISABLE_DEFAULT_PLUGINS: "1",
    OPENCODE_DISABLE_LSP_DOWNLOAD: "1",
    OPENCODE_DISABLE_MODELS_FETCH: "1",
  };
  return await runAgent({ file, args: ["run", ...flags], env, home, work, input, exitCode });
}

async function tools(target) {
  const workspace = openWorkspace(target);
  const output = await run(workspace, target.agent, { input: writeTask("bash", "first") });
  checkTask({ ...workspace, output }, "first");
}

async function secondTurn(target) {
  const workspace = openWorkspace(target);
  const input = writeTask("bash", "second");
  const output = await run(workspace, target.agent, { input, flags: ["--continue"] });
  checkTask({ ...workspace, output }, "second");
}

/** opencode repeats the call for some time, since a failure of the provider may pass. */
async function streamFailure(target) {
  const workspace = openWorkspace(target);
  const output = await run(workspace, target.failing, { input: "Write a sentence.", exitCode: 1 });
  // The words of the provider if it speaks the API of opencode.
  assert.match(output, /reported a failure|The server had an error|Server error/);
}

const checks = { tools, second_turn: secondTurn, stream_failure: streamFailure };
await main(checks, { inTurn: true });
