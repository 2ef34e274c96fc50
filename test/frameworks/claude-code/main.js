/** Claude Code, over Anthropic's Messages API. */
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { checkTask, openWorkspace, runAgent, writeTask } from "../support/agent.js";
import { apiKey, main, origin } from "../support/harness.js";

const program = "../node_modules/@anthropic-ai/claude-code-linux-x64/claude";
const file = fileURLToPath(new URL(program, import.meta.url));

async function run({ home, work }, model, { prompt, flags = [], exitCode = 0 }) {
  const env = {
    ANTHROPIC_BASE_URL: origin,
    ANTHROPIC_AUTH_TOKEN: apiKey,
    ANTHROPIC_MODEL: model,
    ANTHROPIC_DEFAULT_HAIKU_MODEL: model,
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    // Two repetitions, so that a failure is shown soon.
    CLAUDE_CODE_MAX_RETRIES: "2",
    // Lets root skip the questions before commands, in a folder of its own.
    IS_SANDBOX: "1",
  };
  const args = ["-p", prompt, "--dangerously-skip-permissions", ...flags];
  return await runAgent({ file, args, env, home, work, exitCode });
}

async function tools(target) {
  const workspace = openWorkspace(target);
  const output = await run(workspace, target.agent, { prompt: writeTask("Bash", "first") });
  checkTask({ ...workspace, output }, "first");
}

async function secondTurn(target) {
  const workspace = openWorkspace(target);
  const prompt = writeTask("Bash", "second");
  const output = await run(workspace, target.agent, { prompt, flags: ["--continue"] });
  checkTask({ ...workspace, output }, "second");
}

async function streamFailure(target) {
  const workspace = openWorkspace(target);
  const output = await run(workspace, target.failing, { prompt: "Write a sentence.", exitCode: 1 });
  // It asks again for a whole answer, which fails as well, at the provider or as told by the sidecar.
  assert.match(output, /API Error: 50[02]/);
}

const checks = { tools, second_turn: secondTurn, stream_failure: streamFailure };
await main(checks, { inTurn: true });
