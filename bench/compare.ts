/**
 * This checkout compared with another one: `node bench/compare.ts --base PATH [--rounds N] [--quick] [--write]`. Two
 * sidecars with the plainest configuration, in which everything optional is off, start and answer the same gRPC calls
 * in turn. PATH is a checkout with its `node_modules`, or the file that starts a bundle. `--quick` makes a tenth of the
 * calls, `--write` writes the table into RESULTS.md.
 */
import { resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { describeMachine } from "./machine.ts";
import { readResidentMb, watchResident } from "./measure/process-stats.ts";
import { getMedian, getSpread } from "./measure/statistics.ts";
import { CONCURRENCY, METHODS, measureCpu, startPairUpstream, startSidecar } from "./pair.ts";
import { formatRatio, markdownTable } from "./report.ts";
import { buildBase, buildCurrent } from "./responses/programs.ts";
import { writeSection } from "./results-file.ts";

/** A sidecar collects the garbage of its start, and of a load, after three seconds without work. */
const REST_MS = 8_000;

type Figures = Readonly<Record<string, number>>;

/** Starts a sidecar and measures it. The figures are named as the rows of the table. */
async function measure(program: string): Promise<Figures> {
  const sidecar = await startSidecar(program, upstream);
  await sleep(REST_MS);
  const figures: Record<string, number> = {
    "Start-up, ms": sidecar.startMs,
    "Memory at rest, MB": readResidentMb(sidecar.pid),
  };
  const endWatch = watchResident(sidecar.pid);
  for (const method of METHODS)
    figures[`${method.label}, CPU µs`] = await measureCpu(sidecar, method, values.quick ? 10 : 1);
  figures["Memory under load, peak, MB"] = endWatch();
  await sleep(REST_MS);
  figures["Memory after the load, MB"] = readResidentMb(sidecar.pid);
  await sidecar.stop();
  return figures;
}

function toTable(rounds: readonly { readonly base: Figures; readonly current: Figures }[]): string {
  const names = Object.keys(rounds[0]?.base ?? {});
  const rows = names.map((name) => {
    const [base, current] = (["base", "current"] as const).map((side) =>
      rounds.map((round) => round[side][name] ?? Number.NaN),
    );
    const ratio = getSpread(rounds.map((round) => (round.current[name] ?? 0) / (round.base[name] ?? 0)));
    return [name, ...[base, current].map((each) => getMedian(each ?? []).toFixed(0)), formatRatio(ratio)];
  });
  return markdownTable([["", "base", "this checkout", "this checkout / base"], ...rows]);
}

const { values } = parseArgs({
  options: {
    base: { type: "string" },
    rounds: { type: "string", default: "5" },
    quick: { type: "boolean", default: false },
    write: { type: "boolean", default: false },
  },
});
if (values.base === undefined)
  throw new Error("--base is missing; expected a checkout or the file of a bundle");
const basePath = resolve(values.base);
const machine = await describeMachine();
const upstream = await startPairUpstream();
const [base, current] = [await buildBase(basePath), await buildCurrent()];
const rounds: { base: Figures; current: Figures }[] = [];
for (let round = 0; round < Number(values.rounds); round += 1) {
  const isBaseFirst = round % 2 === 0;
  const first = await measure(isBaseFirst ? base.start : current.start);
  const second = await measure(isBaseFirst ? current.start : base.start);
  rounds.push(isBaseFirst ? { base: first, current: second } : { base: second, current: first });
  process.stderr.write(`round ${round + 1} of ${values.rounds}\n`);
}
const section = [
  "## Before and after",
  `The plainest configuration, gRPC calls, ${CONCURRENCY} at once; medians of ${rounds.length} rounds.`,
  toTable(rounds),
  `Written on ${new Date().toISOString().slice(0, 10)} by \`node bench/compare.ts\`.`,
  [...machine.slice(0, 2), `Node ${process.version}`].map((line) => `- ${line}`).join("\n"),
].join("\n\n");
await upstream[Symbol.asyncDispose]();
process.stdout.write(`${section}\n`);
if (values.write) await writeSection("compare.ts", section);
