/** Stores ten times as much as the memory store holds, and compares the rates of a full and an empty store. */
import { randomBytes } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { writeExchange } from "../exchange.ts";
import { formatFailures, makeCalls, startUpstream, UPSTREAM_PATH } from "../load/load.ts";
import { readResidentMb } from "../measure/process-stats.ts";
import { formatRatio, markdownTable } from "../report.ts";
import { formatMedian, ratioIn } from "./figures.ts";
import type { Part } from "./part.ts";
import { createPath, startSidecar } from "./sidecar.ts";

/** Size of the store, in MiB: a quarter of the default, so that a round takes less than a minute on two idle cores. */
const STORE_MIB = 16;
/** About a tenth of the calls. */
const QUICK_STORE_MIB = 2;

/** Size of the inputs, in KiB. */
const INPUT_KIB = 4;

/** Approximate size of a stored response, in KiB: its input, its answer and its events, with their indexes. */
const STORED_KIB = 8;

/** The calls are made in ten parts, each of which fills the store once. */
const TENTHS = 10;

const CONCURRENCY = 20;
const WARM_UP = 500;

/** The aim for later tenths: at least this ratio to the first tenth's calls per second. */
const LEAST = 0.8;

/** The part `full`. */
export const full: Part = {
  rounds: 3,

  async measure({ program, quick }) {
    const { script } = await writeExchange({ deltas: 20, clocked: false });
    await using upstream = await startUpstream({ script });
    const runs = { store: "memory", memory_size: `${getStoreMib(quick)}MiB` };
    const sidecar = await startSidecar({ program, upstream: upstream.address, runs });
    const options = { target: sidecar.address, protocol: "direct", path: UPSTREAM_PATH } as const;
    const call = async (calls: number, store: boolean) =>
      makeCalls({ ...options, request: await writeRequest(store), calls, concurrency: CONCURRENCY });
    try {
      // The warm-up stores nothing: the first tenth has to find the store empty.
      await call(quick ? WARM_UP / 10 : WARM_UP, false);
      const figures: Record<string, number> = {};
      for (let tenth = 1; tenth <= TENTHS; tenth += 1) {
        const { calls, failed, failures, seconds, call: times } = await call(countCalls(quick), true);
        if (failed > 0) process.stderr.write(`full: tenth ${tenth}: ${formatFailures(failures)}\n`);
        figures[toRateLabel(tenth)] = (calls - failed) / seconds;
        figures[toP99Label(tenth)] = times.p99 / 1000;
        figures[toFailedLabel(tenth)] = failed;
        figures[toRssLabel(tenth)] = readResidentMb(sidecar.pid);
      }
      return figures;
    } finally {
      await sidecar.stop();
    }
  },

  describe(rounds, quick) {
    const rows = Array.from({ length: TENTHS }, (_, index) => index + 1).map((tenth) => [
      `tenth ${tenth}`,
      formatMedian(rounds, toRateLabel(tenth), 0),
      tenth === 1 ? "" : formatRatio(ratioIn(rounds, toRateLabel(tenth), toRateLabel(1))),
      tenth === 1 ? "" : `≥ ${LEAST} ×`,
      formatMedian(rounds, toP99Label(tenth), 0),
      formatMedian(rounds, toFailedLabel(tenth), 0),
      "0",
      formatMedian(rounds, toRssLabel(tenth), 0),
    ]);
    const header = [
      "Memory store",
      "calls/s",
      "/ tenth 1",
      "aim",
      "p99, ms",
      "not answered with 200",
      "aim",
      "RSS, MB",
    ];
    return [
      `${TENTHS * countCalls(quick)} stored responses, ${CONCURRENCY} at once, with inputs of ${INPUT_KIB} KiB: about ${TENTHS} times the size of ` +
        `the memory store (\`memory_size: ${getStoreMib(quick)}MiB\`), which is empty before the first tenth and full after it. ` +
        "Calls per second are those answered with 200.",
      markdownTable([header, ...rows]),
    ].join("\n\n");
  },
};

function getStoreMib(quick: boolean): number {
  return quick ? QUICK_STORE_MIB : STORE_MIB;
}

/** Calls of a tenth. */
function countCalls(quick: boolean): number {
  return (getStoreMib(quick) * 1024) / STORED_KIB;
}

/** Writes a request with an input that a store cannot make much smaller. @returns The file. */
async function writeRequest(store: boolean): Promise<string> {
  const path = createPath("json");
  // Four characters for every three bytes.
  const input = randomBytes((INPUT_KIB * 1024 * 3) / 4).toString("base64");
  await writeFile(path, JSON.stringify({ model: "gpt-4.1-mini", input, store }));
  return path;
}

function toRateLabel(tenth: number): string {
  return `tenth ${tenth}: calls/s`;
}

function toP99Label(tenth: number): string {
  return `tenth ${tenth}: p99, ms`;
}

function toFailedLabel(tenth: number): string {
  return `tenth ${tenth}: not answered with 200`;
}

function toRssLabel(tenth: number): string {
  return `tenth ${tenth}: RSS, MB`;
}
