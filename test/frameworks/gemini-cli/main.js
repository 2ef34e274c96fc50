/** Gemini CLI, over Gemini's API. */
import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { checkTask, openWorkspace, runAgent, writeTask } from "../support/agent.js";
import { apiKey, main, origin } from "../support/harness.js";

const file = fileURLToPath(new URL("../node_modules/.bin/gemini", import.meta.url));

/** Without a choice in its settings it asks how to authenticate. */
function writeSettings(home) {
  mkdirSync(join(home, ".gemini"), { recursive: true });
  const settings = {
    security: { auth: { selectedType: "gemini-api-key" } },
    privacy: { usageStatisticsEnabled: false },
  };
  writeFileSync(join(home, ".gemini", "settings.json"), JSON.stringify(settings));
}

async function run({ home, work }, model, { prompt, flags = [], exitCode = 0 }) {
  const env = {
    GOOGLE_GEMINI_BASE_URL: origin,
    GEMINI_API_KEY: apiKey,
    GEMINI_CLI_TRUST_WORKSPACE: "true",
  };
  writeSettings(home);
  const args = ["--model", model, "--yolo", ...flags, "--prompt", prompt];
  return await runAgent({ file, args, env, home, work, exitCode });
}

async function tools(target) {
  const workspace = openWorkspace(target);
  const output = await run(workspace, target.agent, { prompt: writeTask("run_shell_command", "first") });
  checkTask({ ...workspace, output }, "first");
}

async function secondTurn(target) {
  const workspace = openWorkspace(target);
  const prompt = writeTask("run_shell_command", "second");
  const output = await run(workspace, target.agent, { prompt, flags: ["--resume", "latest"] });
  checkTask({ ...workspace, output }, "second");
}

async function streamFailure(target) {
  const workspace = openWorkspace(target);
  const output = await run(workspace, target.failing, { prompt: "Write a sentence.", exitCode: 1 });
  // It knows the failure only if no text arrives together with it.
  assert.match(output, /reported a failure|Error when talking to Gemini API/);
}

const checks = { tools, second_turn: secondTurn, stream_failure: streamFailure };
await main(checks, { inTurn: true });
