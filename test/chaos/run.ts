/**
 * Sidecars under load while processes, databases, disks and clocks fail: nothing acknowledged is lost, nothing is done
 * twice, events have no gaps, and every run ends. Usage: npm run test:chaos -- [--seconds 30 | --minutes 10]
 * [--case NAME] [--store sqlite | postgres] [--seed S] [--without-handover]; see CONTRIBUTING.md.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { createRandom } from "../support/random.ts";
import { CASES, type ChaosCase } from "./cases.ts";
import { isFaulty, judge, type Verdict } from "./check.ts";
import { Stage } from "./stage.ts";
import { type ChaosStore, Unavailable } from "./stores.ts";

/** Load after the last disturbance, in milliseconds: everything works again. */
const CALM_MS = 4000;

/** Most faults of a case that are printed. */
const MAX_FAULTS = 20;

/** Longest wait for callers that follow their last runs, in milliseconds. */
const FOLLOW_MS = 30_000;

interface Row {
  readonly title: string;
  /** Undefined if the case was skipped. */
  readonly verdict: Verdict | undefined;
}

interface Options {
  readonly durationMs: number;
  readonly random: () => number;
  readonly handover: boolean;
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

async function runCase(
  chaosCase: ChaosCase,
  store: ChaosStore,
  { durationMs, random, handover }: Options,
): Promise<Verdict> {
  const stage = await Stage.open(store);
  try {
    await stage.startAll();
    const load = stage.startLoad(chaosCase.name.replaceAll(" ", "-"));
    // Each case happens at least once.
    for (const end = performance.now() + durationMs; ; ) {
      await chaosCase.disturb(stage, random);
      if (performance.now() > end) break;
    }
    await sleep(CALM_MS);
    await load.stop(FOLLOW_MS);
    return judge(await stage.collect(load.acknowledged), { handover: handover && chaosCase.handover });
  } finally {
    await stage.close();
  }
}

async function runAll(cases: readonly ChaosCase[], storeName: string | undefined, options: Options) {
  const rows: Row[] = [];
  for (const chaosCase of cases) {
    for (const open of chaosCase.stores) {
      const store = await Promise.resolve()
        .then(open)
        .catch((error: unknown) => {
          if (error instanceof Unavailable) return error;
          throw error;
        });
      if (store instanceof Unavailable) {
        print(`${chaosCase.name}: skipped: ${store.message}`);
        rows.push({ title: chaosCase.name, verdict: undefined });
        continue;
      }
      const title = `${chaosCase.name}, ${store.name}`;
      if (storeName !== undefined && store.name !== storeName) {
        await store.close();
        continue;
      }
      const verdict = await runCase(chaosCase, store, options);
      print(`${title}: ${isFaulty(verdict) ? "faults" : "no fault"} in ${verdict.acknowledged} runs`);
      for (const fault of verdict.faults.slice(0, MAX_FAULTS)) print(`  ${fault}`);
      rows.push({ title, verdict });
    }
  }
  return rows;
}

const COLUMNS = [
  "acknowledged",
  "missing",
  "doubled",
  "gaps",
  "stuck",
  "notContinued",
  "completed",
  "failed",
] as const;

function printTable(rows: readonly Row[]): void {
  const width = Math.max(...rows.map(({ title }) => title.length));
  const toLine = (title: string, cells: readonly string[]) =>
    [title.padEnd(width), ...cells.map((cell, index) => cell.padStart(COLUMNS[index]?.length ?? 0))].join(
      "  ",
    );
  print(toLine("", COLUMNS));
  for (const { title, verdict } of rows) {
    print(toLine(title, verdict ? COLUMNS.map((column) => String(verdict[column])) : ["skipped"]));
  }
}

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      seconds: { type: "string", default: "30" },
      minutes: { type: "string" },
      case: { type: "string" },
      store: { type: "string" },
      seed: { type: "string", default: "1" },
      "without-handover": { type: "boolean", default: false },
    },
  });
  const cases = CASES.filter(({ name }) => values.case === undefined || name === values.case);
  if (cases.length === 0) {
    const names = CASES.map(({ name }) => `"${name}"`).join(", ");
    throw new Error(`--case: found ${JSON.stringify(values.case)}, expected one of ${names}`);
  }
  const runs = cases.reduce((sum, { stores }) => sum + stores.length, 0);
  const seconds =
    values.minutes === undefined ? Number(values.seconds) : (Number(values.minutes) * 60) / runs;
  if (!Number.isFinite(seconds)) throw new Error("--seconds and --minutes: expected numbers");
  const rows = await runAll(cases, values.store, {
    durationMs: seconds * 1000,
    random: createRandom(Number(values.seed)),
    handover: !values["without-handover"],
  });
  printTable(rows);
  return rows.some(({ verdict }) => verdict !== undefined && isFaulty(verdict)) ? 1 : 0;
}

// Ends the sidecars as well.
process.once("SIGINT", () => process.exit(130)).once("SIGTERM", () => process.exit(143));

process.exit(
  await main().catch((error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.stack : error}\n`);
    return 2;
  }),
);
