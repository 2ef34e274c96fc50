/**
 * Runs third-party conformance suites: builds them, runs them against our listener and transports,
 * and prints their results.
 *
 *   node test/conformance/run.ts [name...]
 *
 * Names choose suites; the default is all. If Go is not installed, all are skipped. The exit code is 1 if a suite
 * failed, 2 if a name is unknown.
 */
import { sum, type Tally } from "../clients/runner/report.ts";
import { connectSuite } from "./connect/suite.ts";
import { grpcSuite } from "./grpc/suite.ts";
import { h2specSuite } from "./h2spec/suite.ts";
import { kubeApiserverSuite } from "./kube-apiserver/suite.ts";
import { kubernetesSuite } from "./kubernetes/suite.ts";
import { otlpSuite } from "./otlp/suite.ts";
import { promlintSuite } from "./promlint/suite.ts";
import { promrulesSuite } from "./promrules/suite.ts";
import type { Suite } from "./suite.ts";
import { buildTools, missingToolchain } from "./tools.ts";

const suites: readonly Suite[] = [
  connectSuite,
  grpcSuite,
  h2specSuite,
  promlintSuite,
  promrulesSuite,
  otlpSuite,
  kubernetesSuite,
  kubeApiserverSuite,
];

function print(...lines: string[]): void {
  process.stdout.write(`${lines.join("\n")}\n`);
}

/** The same result for all suites. */
function eachAs(outcome: keyof Tally, chosen: readonly Suite[]): Tally {
  return { passed: 0, failed: 0, skipped: 0, [outcome]: chosen.length };
}

async function runSuite(suite: Suite): Promise<Tally> {
  const startedAt = performance.now();
  const { tally, lines } = await suite.run();
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  print(`${suite.name}: ${seconds} s`, ...lines.map((line) => `  ${line}`));
  return tally;
}

async function runAll(chosen: readonly Suite[]): Promise<Tally> {
  const missing = missingToolchain();
  if (missing !== undefined) {
    print(...chosen.map(({ name }) => `${name}: skipped: ${missing} not found`));
    return eachAs("skipped", chosen);
  }
  print("building the suites that are not built yet");
  try {
    await buildTools();
  } catch (error) {
    print(`the build failed: ${error}`);
    return eachAs("failed", chosen);
  }
  const tallies: Tally[] = [];
  for (const suite of chosen) tallies.push(await runSuite(suite));
  return sum(tallies);
}

async function main(names: readonly string[]): Promise<number> {
  const unknown = names.find((name) => !suites.some((suite) => suite.name === name));
  if (unknown !== undefined) {
    print(`No suite is named "${unknown}"; there are ${suites.map((suite) => suite.name).join(", ")}.`);
    return 2;
  }
  const chosen = names.length === 0 ? suites : suites.filter(({ name }) => names.includes(name));
  const total = await runAll(chosen);
  print(`${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`);
  return total.failed === 0 ? 0 : 1;
}

process.exitCode = await main(process.argv.slice(2));
