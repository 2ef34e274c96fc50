/** GitHub Copilot CLI, with a provider of its own and without GitHub. */
import { fileURLToPath } from "node:url";
import { checkTask, openWorkspace, runAgent, writeTask } from "../support/agent.js";
import { apiKey, baseURL, main } from "../support/harness.js";

const file = fileURLToPath(new URL("../node_modules/.bin/copilot", import.meta.url));

async function run({ home, work }, { agent }, prompt, ...flags) {
  const env = {
    COPILOT_OFFLINE: "true",
    COPILOT_PROVIDER_BASE_URL: baseURL,
    COPILOT_PROVIDER_API_KEY: apiKey,
    COPILOT_PROVIDER_WIRE_API: "responses",
    COPILOT_MODEL: agent,
  };
  const args = ["--allow-all-tools", "--no-color", "--silent", ...flags, "-p", prompt];
  return await runAgent({ file, args, env, home, work });
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
