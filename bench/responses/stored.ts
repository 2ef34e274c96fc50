/** How long it takes to read and to list stored responses, with few and with many of them in the store. */
import { writeExchange } from "../exchange.ts";
import { startUpstream } from "../load/load.ts";
import { residentMbOf } from "../measure/process-stats.ts";
import { medianOf } from "../measure/statistics.ts";
import { markdownTable } from "../report.ts";
import { inParallel, type ResponsesCaller, responsesCaller } from "./caller.ts";
import { startSidecar } from "./sidecar.ts";

const FEW = 100;
const MANY = 100_000;

/** Requests at once while the store is filled. */
const CONCURRENCY = 50;

/** Reads of each kind, one after the other. */
const READS = 300;

/** What is timed. `id` is one of the stored responses. */
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

/** Fills a store twice and times the same reads. @returns The table. */
export async function measureStored(quick: boolean): Promise<string> {
  const many = quick ? MANY / 10 : MANY;
  const { script } = await writeExchange({ deltas: 20, clocked: false });
  await using upstream = await startUpstream({ script });
  const sidecar = await startSidecar(upstream.address, "sqlite");
  try {
    const caller = responsesCaller(sidecar.address);
    const ids: string[] = [];
    const columns: number[][] = [];
    for (const size of [FEW, many]) {
      ids.push(...(await inParallel(size - ids.length, CONCURRENCY, () => caller.create({}))));
      process.stderr.write(`stored: ${ids.length} responses\n`);
      columns.push([...(await timeAll(caller, ids)), residentMbOf(sidecar.pid)]);
    }
    const [few = [], lots = []] = columns;
    const rows = [...Object.keys(KINDS), "RSS, MB"].map((label, index) => [
      label,
      (few[index] ?? Number.NaN).toFixed(2),
      (lots[index] ?? Number.NaN).toFixed(2),
    ]);
    return [
      `Stored responses, read one after the other: medians of ${READS} reads, in milliseconds.`,
      markdownTable([["Stored", `${FEW}`, `${many}`], ...rows]),
    ].join("\n\n");
  } finally {
    await sidecar.stop();
  }
}

/** Medians in milliseconds. The responses that are read are spread over all that are stored. */
async function timeAll(caller: ResponsesCaller, ids: readonly string[]): Promise<number[]> {
  const medians: number[] = [];
  for (const time of Object.values(KINDS)) {
    const times: number[] = [];
    for (let read = 0; read < READS; read += 1) {
      times.push(await time(caller, ids[Math.floor((read / READS) * ids.length)] ?? ""));
    }
    medians.push(medianOf(times));
  }
  return medians;
}
