/**
 * Gives Codex, OpenAI's command-line agent, one task with a tool call: through the simulator itself, and through a
 * sidecar in front of each of the simulator's wire formats. Then calls a sidecar whose provider is Codex.
 *
 *   node main.ts path/to/codex way...
 */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { type Simulator, startSimulator } from "../../../simulator/index.ts";
import { type Outcome, run } from "../runner/process.ts";
import { startSidecar } from "../runner/sidecar.ts";
import { checkNamespace, checkTask, checkTools, keepsGroups } from "./checks.ts";
import { checkProvider } from "./provider.ts";

/** The result of a task. */
export interface Task {
  readonly outcome: Outcome;
  /** The text that the command of the task wrote to its file, or undefined if there is no file. */
  readonly written: string | undefined;
  /** The bodies that the simulator received, in order. */
  readonly bodies: readonly unknown[];
}

/** Longest time for a task, in milliseconds; on a busy machine too. */
const TASK_TIMEOUT = 60_000;

const [codex = "", ...ways] = process.argv.slice(2);
// Codex refuses to keep its files in the system's folder for temporary ones.
mkdirSync(join(homedir(), ".cache"), { recursive: true });
const folder = mkdtempSync(join(homedir(), ".cache/outrigger-codex-"));

try {
  await runAll();
} finally {
  rmSync(folder, { recursive: true, force: true });
}

async function runAll(): Promise<void> {
  const simulator = await startSimulator();
  const sidecar = await startSidecar(["serve", "--config", writeConfiguration(simulator)]);
  for (const way of ways) {
    const baseUrl = way === "simulator" ? simulator.openaiBaseUrl : `http://${sidecar.address}/v1`;
    const model = way === "simulator" ? "sim-call" : `${way}/sim-call`;
    const separator = keepsGroups(way) ? "." : "__";
    const task = await runTask({ way, baseUrl, model, separator, simulator });
    await report(`${way}/task`, () => checkTask(task));
    await report(`${way}/tools`, () => checkTools(way, task));
    await report(`${way}/namespace`, () => checkNamespace(task));
  }
  await sidecar.stop();
  const configuration = createConfiguration(simulator.openaiBaseUrl, "sim-text");
  await checkProvider({ codex, folder, simulator, configuration }, report);
  await simulator.close();
}

function writeConfiguration(simulator: Simulator): string {
  const path = join(folder, "outrigger.json");
  const key = "simulator-key";
  const providers = {
    openai: { api: "openai-responses", api_key: key, base_url: simulator.openaiBaseUrl },
    anthropic: { api: "anthropic-messages", api_key: key, base_url: simulator.anthropicBaseUrl },
    gemini: { api: "gemini", api_key: key, base_url: simulator.geminiBaseUrl },
    compatible: { api: "openai-chat", api_key: key, base_url: simulator.openaiBaseUrl },
  };
  // YAML is a superset of JSON.
  writeFileSync(path, JSON.stringify({ providers }));
  return path;
}

interface Way {
  readonly way: string;
  readonly baseUrl: string;
  readonly model: string;
  /** The text between a namespace and the name of its tool in the name that a model sees. */
  readonly separator: string;
  readonly simulator: Simulator;
}

async function runTask({ way, baseUrl, model, separator, simulator }: Way): Promise<Task> {
  const home = join(folder, way, "home");
  const work = join(folder, way, "work");
  mkdirSync(home, { recursive: true });
  mkdirSync(work);
  writeFileSync(join(home, "config.toml"), createConfiguration(baseUrl, model));
  const before = simulator.requests.length;
  const prompt = [
    "Greet the world.",
    'exec_command {"cmd": "echo hello world > greeting.txt"}',
    `multi_agent_v1${separator}close_agent {"target": "nobody"}`,
  ].join("\n");
  const env = { CODEX_HOME: home, OUTRIGGER_TEST_KEY: "any", NO_PROXY: "127.0.0.1" };
  const args = ["exec", "--skip-git-repo-check", "--json", prompt];
  const outcome = await run({ file: codex, args, cwd: work, env }, TASK_TIMEOUT);
  const file = join(work, "greeting.txt");
  return {
    outcome,
    written: existsSync(file) ? readFileSync(file, "utf8") : undefined,
    bodies: simulator.requests.slice(before).map(({ body }) => body),
  };
}

/** No sandbox: it needs privileges that a container may not have, and the command is known. */
function createConfiguration(baseUrl: string, model: string): string {
  return `
model = "${model}"
model_provider = "outrigger"
approval_policy = "never"
sandbox_mode = "danger-full-access"

[model_providers.outrigger]
name = "Outrigger"
base_url = "${baseUrl}"
wire_api = "responses"
env_key = "OUTRIGGER_TEST_KEY"
`;
}

async function report(name: string, check: () => void | Promise<void>): Promise<void> {
  try {
    await check();
    process.stdout.write(`ok ${name}\n`);
  } catch (error) {
    process.exitCode = 1;
    const { message } = error instanceof Error ? error : new Error(String(error));
    process.stdout.write(`FAIL ${name}: ${message.replaceAll(/\s+/g, " ").slice(0, 2000)}\n`);
  }
}
