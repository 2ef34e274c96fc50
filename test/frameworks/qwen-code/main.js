/** Qwen Code, over the Responses API, or with the argument `chat` over Chat Completions. */
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { checkTask, openWorkspace, runAgent, writeTask } from "../support/agent.js";
import { apiKey, baseURL, main } from "../support/harness.js";

const file = fileURLToPath(new URL("../node_modules/.bin/qwen", import.meta.url));

const authType = process.argv[2] === "chat" ? "openai" : "openai-responses";

async function run({ home, work }, model, { prompt, flags = [], exitCode = 0 }) {
  const env = {
    OPENAI_BASE_URL: baseURL,
    OPENAI_API_KEY: apiKey,
    QWEN_CODE_SUPPRESS_YOLO_WARNING: "1",
  };
  const args = ["--auth-type", authType, "--model", model, "--yolo", ...flags, "--prompt", prompt];
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
  const output = await run(workspace, target.agent, { prompt, flags: ["--continue"] });
  checkTask({ ...workspace, output }, "second");
}

/** Qwen Code repeats the call a few times. */
async function streamFailure(target) {
  const workspace = openWorkspace(target);
  const output = await run(workspace, target.failing, { prompt: "Write a sentence.", exitCode: 1 });
  // The words of the provider if it speaks the API of Qwen Code.
  assert.match(output, /reported a failure|The server had an error/);
}

const checks = { tools, second_turn: secondTurn, stream_failure: streamFailure };
await main(checks, { inTurn: true });
