/**
 * The cost of a partial object for every piece of a JSON text: `node bench/partial-json.ts [--write]`. The parser of
 * streamed objects reads texts of 20 KB in pieces of 8 characters, compared with partial-json and with the AI SDK,
 * which parse the whole text so far again for every piece. They are installed on the first run, into the cache of the
 * benchmark. `--write` writes the table into RESULTS.md.
 */
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { isDeepStrictEqual } from "node:util";
import { PartialJsonParser } from "../src/kit/json/partial-json.ts";
import { install } from "./gateways/install.ts";
import { describeMachine } from "./machine.ts";
import { getMedian, getSpread } from "./measure/statistics.ts";
import { formatRatio, markdownTable } from "./report.ts";
import { writeSection } from "./results-file.ts";

const PARTIAL_JSON = "0.1.7";
const AI_SDK = "7.0.173";

const ROUNDS = 5;

/** Minimum CPU time of a round, in milliseconds. */
const ROUND_MS = 100;

const TEXT_LENGTH = 20_000;
const PIECE_LENGTH = 8;

/** Reads a text in pieces and makes a partial value for each. Gives the last one. */
type Implementation = (pieces: readonly string[]) => unknown;

/** The functions that are measured of other packages. */
interface OtherPackages {
  readonly parse: (text: string) => unknown;
  readonly parsePartialJson: (text: string) => Promise<{ readonly value: unknown }>;
}

async function installOthers(): Promise<OtherPackages> {
  const dependencies = { "partial-json": PARTIAL_JSON, ai: AI_SDK };
  const folder = await install({
    name: `partial-json-${PARTIAL_JSON}-ai-${AI_SDK}`,
    files: { "package.json": JSON.stringify({ private: true, dependencies }) },
    commands: (into) => [
      { file: "npm", args: ["install", "--prefix", into, "--ignore-scripts", "--no-audit", "--no-fund"] },
    ],
  });
  const load = (path: string) => import(pathToFileURL(join(folder, "node_modules", path)).href);
  const [{ parse }, { parsePartialJson }] = [
    await load("partial-json/dist/index.js"),
    await load("ai/dist/index.js"),
  ];
  return { parse, parsePartialJson };
}

function getImplementations({
  parse,
  parsePartialJson,
}: OtherPackages): Readonly<Record<string, Implementation>> {
  return {
    outrigger(pieces) {
      const parser = new PartialJsonParser();
      let value: unknown;
      for (const piece of pieces) if (parser.push(piece)) value = parser.snapshot();
      return value;
    },
    "outrigger, last value"(pieces) {
      const parser = new PartialJsonParser();
      for (const piece of pieces) parser.push(piece);
      const result = parser.end();
      return result.ok ? result.value : undefined;
    },
    [`partial-json ${PARTIAL_JSON}`](pieces) {
      let text = "";
      let value: unknown;
      for (const piece of pieces) {
        text += piece;
        value = parse(text);
      }
      return value;
    },
    async [`ai ${AI_SDK}`](pieces) {
      let text = "";
      let value: unknown;
      for (const piece of pieces) {
        text += piece;
        ({ value } = await parsePartialJson(text));
      }
      return value;
    },
  };
}

/** Returns a text of the maximum length, by doubling the repeated part. */
function textOf(make: (count: number) => unknown): string {
  let count = 1;
  while (JSON.stringify(make(count + 1)).length <= TEXT_LENGTH) count += 1;
  return JSON.stringify(make(count));
}

const RECORD = {
  name: 'A "name"',
  tags: ["one", "two"],
  price: 12.5,
  isNew: true,
  note: "Some words\nin two lines",
};

const TEXTS = {
  "list of records": textOf((count) => ({
    items: Array.from({ length: count }, (_, id) => ({ id, ...RECORD })),
  })),
  "list of numbers": textOf((count) => ({ items: Array.from({ length: count }, (_, id) => id) })),
  "one long text": textOf((count) => ({ text: "word ".repeat(count) })),
};

function splitPieces(text: string): string[] {
  const count = Math.ceil(text.length / PIECE_LENGTH);
  return Array.from({ length: count }, (_, at) => text.slice(at * PIECE_LENGTH, (at + 1) * PIECE_LENGTH));
}

/** Milliseconds of CPU that an implementation takes for a text. */
async function measure(implementation: Implementation, text: string, leastMs: number): Promise<number> {
  const pieces = splitPieces(text);
  const start = process.cpuUsage();
  let value: unknown;
  let milliseconds = 0;
  let times = 0;
  for (; times === 0 || milliseconds < leastMs; times += 1) {
    value = await implementation(pieces);
    const { user, system } = process.cpuUsage(start);
    milliseconds = (user + system) / 1000;
  }
  if (!isDeepStrictEqual(value, JSON.parse(text))) throw new Error(`it does not read ${text.slice(0, 40)}…`);
  return milliseconds / times;
}

/** Returns one row of the table: the medians of all implementations, and the ratios of the others to Outrigger's. */
async function toRow(
  shape: string,
  text: string,
  implementations: readonly Implementation[],
): Promise<string[]> {
  const times: number[][] = implementations.map(() => []);
  for (let round = 0; round <= ROUNDS; round += 1) {
    for (const [index, implementation] of implementations.entries()) {
      const time = await measure(implementation, text, ROUND_MS);
      // The first round warms up.
      if (round > 0) times[index]?.push(time);
    }
  }
  const [ours = [], , ...others] = times;
  const ratios = others.map((each) =>
    getSpread(each.map((time, round) => time / (ours[round] ?? Number.NaN))),
  );
  return [shape, ...times.map((each) => getMedian(each).toFixed(2)), ...ratios.map(formatRatio)];
}

const implementations = getImplementations(await installOthers());
const machine = await describeMachine();
const [records = ""] = Object.values(TEXTS);
const firstMs = await measure(Object.values(implementations)[0] ?? (() => undefined), records, 0);
const rows: string[][] = [];
for (const [shape, text] of Object.entries(TEXTS))
  rows.push(await toRow(shape, text, Object.values(implementations)));
const names = Object.keys(implementations);
const header = ["CPU, ms", ...names, ...names.slice(2).map((name) => `${name} / outrigger`)];
const section = [
  "## A partial value for every 8 characters of 20 KB of JSON",
  markdownTable([header, ...rows]),
  [
    `Written on ${new Date().toISOString().slice(0, 10)} by \`node bench/partial-json.ts\`:`,
    `the medians of ${ROUNDS} rounds. The first list of records of the process took outrigger ${firstMs.toFixed(1)} ms.`,
  ].join("\n"),
  [...machine.slice(0, 2), `Node ${process.version}`].map((line) => `- ${line}`).join("\n"),
].join("\n\n");
process.stdout.write(`${section}\n`);
if (process.argv.includes("--write")) await writeSection("partial-json.ts", section);
