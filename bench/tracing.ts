/**
 * The cost of traces: `node bench/tracing.ts [--quick] [--write]`. Two sidecars, one of which sends all spans to a
 * collector that drops them, answer the same gRPC calls in turn. `--quick` makes a tenth of the calls, `--write` writes
 * the table into RESULTS.md.
 */
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { describeMachine } from "./machine.ts";
import { getMedian, getSpread } from "./measure/statistics.ts";
import { CONCURRENCY, METHODS, measureCpu, startPairUpstream, startSidecar } from "./pair.ts";
import type { Running } from "./processes.ts";
import { formatRatio, markdownTable } from "./report.ts";
import { buildCurrent } from "./responses/programs.ts";
import { writeSection } from "./results-file.ts";

const ROUNDS = 7;

/** The most that traces may cost. */
const AIMS = { Complete: "", Stream: "1.1 ×" };

/** The two sidecars, and the spans that the collector was sent. */
interface Compared {
  readonly off: Running;
  readonly on: Running;
  readonly countExports: () => number;
}

async function startCollector(): Promise<{ server: Server; url: string; countExports: () => number }> {
  let exports = 0;
  const server = createServer((request, response) => {
    exports += 1;
    request.resume().once("end", () => response.writeHead(200).end());
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { server, url, countExports: () => exports };
}

async function measureAll({ off, on, countExports }: Compared, divisor: number): Promise<string> {
  const rows: string[][] = [];
  for (const method of METHODS) {
    const found: { off: number; on: number }[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      found.push({ off: await measureCpu(off, method, divisor), on: await measureCpu(on, method, divisor) });
      process.stderr.write(`${method.label}: round ${round + 1} of ${ROUNDS}\n`);
    }
    const ratio = getSpread(found.map((micros) => micros.on / micros.off));
    const medians = [found.map(({ off: micros }) => micros), found.map(({ on: micros }) => micros)].map(
      getMedian,
    );
    rows.push([
      method.label,
      ...medians.map((micros) => micros.toFixed(0)),
      formatRatio(ratio),
      AIMS[method.name],
    ]);
  }
  if (countExports() === 0) throw new Error("the collector got no spans");
  return markdownTable([["", "off, CPU µs", "on, CPU µs", "on / off", "aim"], ...rows]);
}

const divisor = process.argv.includes("--quick") ? 10 : 1;
const machine = await describeMachine();
const upstream = await startPairUpstream();
const { start } = await buildCurrent();
const collector = await startCollector();
const off = await startSidecar(start, upstream);
const on = await startSidecar(start, upstream, { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url });
const section = [
  "## Traces",
  `The same gRPC calls, ${CONCURRENCY} at once, with a span for the call and one for its request to the provider.`,
  await measureAll({ off, on, countExports: collector.countExports }, divisor),
  `Written on ${new Date().toISOString().slice(0, 10)} by \`node bench/tracing.ts\`.`,
  [...machine.slice(0, 2), `Node ${process.version}`].map((line) => `- ${line}`).join("\n"),
].join("\n\n");
await Promise.all([off.stop(), on.stop()]);
collector.server.close();
await upstream[Symbol.asyncDispose]();
process.stdout.write(`${section}\n`);
if (process.argv.includes("--write")) await writeSection("tracing.ts", section);
