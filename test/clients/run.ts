/**
 * Tests the contract from other languages: builds every client under test/clients and the packages
 * under clients, starts a sidecar with the simulator behind it, and runs them against it.
 *
 *   node test/clients/run.ts [name...]
 *
 * Names choose clients; the default is all. With OUTRIGGER_ADDR=host:port set, that sidecar is used
 * and nothing is started; it must have the simulator behind it. OUTRIGGER_MAIN names another file to
 * start than src/cli/main.ts, for instance the released bundle, dist/outrigger.cjs. A client whose toolchain is not
 * installed is skipped. The exit code is 1 if a check failed, 2 if a name is unknown.
 */

import { anthropicPython } from "./runner/anthropic-python.ts";
import { root, type TestClient } from "./runner/client.ts";
import { codex } from "./runner/codex.ts";
import { genaiPython } from "./runner/genai-python.ts";
import { go } from "./runner/go.ts";
import { goPackage } from "./runner/go-package.ts";
import { grpcJs } from "./runner/grpc-js.ts";
import { grpcurl } from "./runner/grpcurl.ts";
import { java } from "./runner/java.ts";
import { javaPackage } from "./runner/java-package.ts";
import { openaiGo } from "./runner/openai-go.ts";
import { openaiJava } from "./runner/openai-java.ts";
import { openaiJs } from "./runner/openai-js.ts";
import { openaiPython } from "./runner/openai-python.ts";
import { type Command, run } from "./runner/process.ts";
import { pythonClient } from "./runner/python.ts";
import { pythonPackage } from "./runner/python-package.ts";
import { judge, sum, type Tally } from "./runner/report.ts";
import { mainFile, type Sidecar, startDemo } from "./runner/sidecar.ts";
import { startTlsSidecar } from "./runner/tls.ts";
import { typescriptPackage } from "./runner/typescript-package.ts";

const clients: readonly TestClient[] = [
  grpcJs,
  grpcurl,
  go,
  goPackage,
  pythonClient,
  pythonPackage,
  java,
  javaPackage,
  typescriptPackage,
  openaiJs,
  openaiPython,
  openaiGo,
  openaiJava,
  anthropicPython,
  genaiPython,
  codex,
];

/** Longer than all deadlines of a client together, also on a busy machine. */
const clientTimeoutMs = 300_000;

/** A client that was built, or the result that replaces it. */
type Built = { client: TestClient } & ({ command: Command } | { tally: Tally });

function print(...lines: string[]): void {
  process.stdout.write(`${lines.join("\n")}\n`);
}

/** Builds sequentially, since compilers use all cores. */
async function buildAll(chosen: readonly TestClient[]): Promise<Built[]> {
  const built: Built[] = [];
  for (const client of chosen) {
    const missing = client.missing();
    if (missing !== undefined) {
      print(`${client.name}: skipped: ${missing} not found`);
      built.push({ client, tally: { passed: 0, failed: 0, skipped: client.checks.length } });
      continue;
    }
    print(`${client.name}: building what is not built yet`);
    try {
      built.push({ client, command: await client.build() });
    } catch (error) {
      print(`${client.name}: the build failed: ${error}`);
      built.push({ client, tally: allFailed(client) });
    }
  }
  return built;
}

async function runClient(client: TestClient, command: Command, address: string): Promise<Tally> {
  // The machine's proxy must not be used for a local sidecar.
  const env = {
    ...command.env,
    OUTRIGGER_ADDR: address,
    OUTRIGGER_ADDRESS: address,
    // For tests that stop and restart a sidecar: one argument per line.
    OUTRIGGER_COMMAND: [process.execPath, `${root}${mainFile}`].join("\n"),
    no_proxy: "127.0.0.1,localhost",
  };
  const printed = await run({ ...command, env }, clientTimeoutMs);
  const outcome = client.translate?.(printed) ?? printed;
  const { lines, tally } = judge(client.checks, outcome);
  print(`${client.name}:`, ...lines.map((line) => `  ${line}`));
  if (tally.failed > 0 && outcome.stderr !== "") {
    print(outcome.stderr.trimEnd());
  }
  return tally;
}

async function stopDemo(sidecar: Sidecar): Promise<Tally> {
  try {
    await sidecar.stop();
    print("sidecar:", "  ok drain");
    return { passed: 1, failed: 0, skipped: 0 };
  } catch (error) {
    print("sidecar:", `  FAIL drain: ${error}`);
    return { passed: 0, failed: 1, skipped: 0 };
  }
}

/** Runs the clients against a sidecar, and against one with TLS that calls the models of the first. */
async function runAll(built: readonly Built[], address: string): Promise<Tally[]> {
  const secured = await startTlsSidecar(address);
  const tallies: Tally[] = [];
  for (const { client, ...entry } of built) {
    if ("tally" in entry) {
      tallies.push(entry.tally);
      continue;
    }
    const { command } = entry;
    const env = { ...command.env, ...secured.env };
    tallies.push(await runClient(client, { ...command, env }, address));
  }
  await secured.stop();
  return tallies;
}

async function runAllAgainstDemo(built: readonly Built[]): Promise<Tally[]> {
  let sidecar: Sidecar;
  try {
    sidecar = await startDemo();
  } catch (error) {
    print("sidecar:", `  FAIL start: ${error}`);
    return built.map((entry) => ("command" in entry ? allFailed(entry.client) : entry.tally));
  }
  return [...(await runAll(built, sidecar.address)), await stopDemo(sidecar)];
}

function allFailed({ checks }: TestClient): Tally {
  return { passed: 0, failed: checks.length, skipped: 0 };
}

async function main(names: readonly string[]): Promise<number> {
  const unknown = names.find((name) => !clients.some((client) => client.name === name));
  if (unknown !== undefined) {
    print(`No client is named "${unknown}"; there are ${clients.map((client) => client.name).join(", ")}.`);
    return 2;
  }
  const chosen = names.length === 0 ? clients : clients.filter((client) => names.includes(client.name));
  const built = await buildAll(chosen);
  const address = process.env.OUTRIGGER_ADDR;
  const total = sum(await (address === undefined ? runAllAgainstDemo(built) : runAll(built, address)));
  print(`${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`);
  return total.failed === 0 ? 0 : 1;
}

// Node does not emit "exit" when a signal ends it, so exit explicitly to stop the sidecar.
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => process.exit(1));
}
process.exitCode = await main(process.argv.slice(2));
