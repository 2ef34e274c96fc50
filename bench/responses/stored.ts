/** Measures how long it takes to read and to list stored responses, with few and with many in the store. */
import { writeExchange } from "../exchange.ts";
import { startUpstream } from "../load/load.ts";
import { readResidentMb } from "../measure/process-stats.ts";
import { getMedian } from "../measure/statistics.ts";
import { markdownTable } from "../report.ts";
import { inParallel, type ResponsesCaller, responsesCaller } from "./caller.ts";
import { formatMedian } from "./figures.ts";
import type { Part } from "./part.ts";
import { createPath, startSidecar } from "./sidecar.ts";

const FEW = 100;
const MANY = 100_000;

/** Requests at once while the store is filled. */
const CONCURRENCY = 50;

/** Reads of each kind, one after the other. */
const READS = 300;

/** The timed requests. `id` is one of the stored responses. */
const KINDS: Readonly<Record<string, (caller: ResponsesCaller, id: string) => Promise<number>>> = {
  "GET /v1/responses/{id}": (caller, id) => caller.time(`/v1/responses/${id}`),
  "GET …/{id}/input_items": (caller, id) => caller.time(`/v1/responses/${id}/input_items`),
  "GET …/{id}?stream=true": (caller, id) => caller.time(`/v1/responses/${id}?stream=true`),
  "RunService.ListRuns, 20 of them": (caller) =>
    caller.time("/outrigger.v1.RunService/ListRuns", { pageSize: 20 }),
  "POST /v1/responses": (caller) => caller.time("/v1/responses", { model: "gpt-4.1-mini", input: "Begin." }),
  "POST /v1/responses with previous_response_id": (caller, id) =>
    caller.time("/v1/responses", { model: "gpt-4.1-mini", input: "Go on.", previous_response_id: id }),
};

const RSS = "RSS, MB";

/** The part `stored`. */
export const stored: Part = {
  rounds: 1,

  async measure({ program, quick }) {
    const { script } = await writeExchange({ deltas: 20, clocked: false });
    await using upstream = await startUpstream({ script });
    const store = createPath("db");
    const sidecar = await startSidecar({ program, upstream: upstream.address, runs: { store } });
    try {
      const caller = responsesCaller(sidecar.address);
      const ids: string[] = [];
      const figures: Record<string, number> = {};
      for (const size of [FEW, countMany(quick)]) {
        ids.push(...(await inParallel(size - ids.length, CONCURRENCY, () => caller.create({}))));
        process.stderr.write(`stored: ${ids.length} responses\n`);
        for (const [kind, time] of Object.entries(KINDS)) {
          figures[toLabel(`${kind}, ms`, size)] = await timeReads(ids, (id) => time(caller, id));
        }
        figures[toLabel(RSS, size)] = readResidentMb(sidecar.pid);
      }
      return figures;
    } finally {
      await sidecar.stop();
    }
  },

  describe(rounds, quick) {
    const sizes = [FEW, countMany(quick)];
    const formatSizes = (measure: string) =>
      sizes.map((size) => formatMedian(rounds, toLabel(measure, size), 2));
    const rows = Object.keys(KINDS).map((kind) => [kind, ...formatSizes(`${kind}, ms`)]);
    return [
      `Stored responses, read one after the other: medians of ${READS} reads, in milliseconds.`,
      markdownTable([["Stored", ...sizes.map(String)], ...rows, [RSS, ...formatSizes(RSS)]]),
    ].join("\n\n");
  },
};

function countMany(quick: boolean): number {
  return quick ? MANY / 10 : MANY;
}

function toLabel(measure: string, size: number): string {
  return `${size} stored: ${measure}`;
}

/** The median time of the reads. The responses that are read are spread over all that are stored. */
async function timeReads(ids: readonly string[], time: (id: string) => Promise<number>): Promise<number> {
  const times: number[] = [];
  for (let read = 0; read < READS; read += 1) {
    times.push(await time(ids[Math.floor((read / READS) * ids.length)] ?? ""));
  }
  return getMedian(times);
}
