/**
 * Runs command-line agents. Each task names a command that the agent's shell tool has to execute: the model makes the
 * calls that the last message writes, and answers with their results.
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Longest time for one task, in milliseconds; on a busy machine too. Shorter than the limit of a check. */
const TASK_TIMEOUT = 200_000;

/** Nothing but the sidecar can be reached: requests to other hosts go to a proxy that is not there. */
const OFFLINE = {
  HTTP_PROXY: "http://127.0.0.1:9",
  HTTPS_PROXY: "http://127.0.0.1:9",
  NO_PROXY: "127.0.0.1",
  no_proxy: "127.0.0.1",
};

const root = mkdtempSync(join(tmpdir(), "outrigger-agent-"));
process.once("exit", () => rmSync(root, { recursive: true, force: true }));

/** An agent's folders for a target. Its checks share them, so that the second one continues the session. */
export function openWorkspace({ api }) {
  const [home, work] = ["home", "work"].map((name) => join(root, api, name));
  for (const each of [home, work]) mkdirSync(each, { recursive: true });
  return { home, work };
}

/**
 * Writes a task that writes a file.
 * @param tool The agent's shell tool.
 */
export function writeTask(tool, name) {
  const input = { command: `echo ${name} > ${name}.txt; echo wrote-${name}`, description: "Writes a file" };
  return `Write a file.\n${tool} ${JSON.stringify(input)}`;
}

/** The command was executed, and the agent shows the answer of the model, which has read its output. */
export function checkTask({ work, output }, name) {
  assert.equal(readFileSync(join(work, `${name}.txt`), "utf8"), `${name}\n`);
  assert.match(output, new RegExp(`These are the results[^]*wrote-${name}`), "the answer is another one");
}

/**
 * Runs an agent to its end. Rejects if it ends with another exit code or takes too long.
 *
 * @param exitCode The expected exit code.
 */
export async function runAgent({ file, args, env, home, work, input = "", exitCode = 0 }) {
  const child = spawn(file, args, {
    cwd: work,
    env: { PATH: process.env.PATH, HOME: home, ...OFFLINE, ...env },
    timeout: TASK_TIMEOUT,
    killSignal: "SIGKILL",
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text) => {
      output += text;
    });
  }
  child.stdin.on("error", () => {});
  child.stdin.end(input);
  const code = await new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", resolve);
  });
  assert.equal(code, exitCode, `it ended with ${code ?? "a signal"}: ${output.slice(-2_000)}`);
  return output;
}
