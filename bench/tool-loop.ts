/**
 * The cost of the tool loop: `node bench/tool-loop.ts [--write]`. 500 generations of 5 steps at once, compared with the
 * same calls of a client made by hand, with the same messages. The CPU time covers this process; the provider is a
 * simulator in another one. `--write` writes the table into RESULTS.md.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { completeResponse } from "../src/core/response.ts";
import {
  Client,
  type CompleteResponse,
  functionTool,
  generate,
  OpenAIAdapter,
  type RequestInput,
  type StreamEvent,
  stream,
  toolCallsOf,
  toolResult,
  userMessage,
} from "../src/index.ts";
import { describeMachine } from "./machine.ts";
import { getMedian, getSpread } from "./measure/statistics.ts";
import { formatRatio, markdownTable } from "./report.ts";
import { writeSection } from "./results-file.ts";

const GENERATIONS = 500;
const STEPS = 5;
const ROUNDS = 7;

const PROMPT = "What is the weather in Paris?";
const MODEL = `sim-tools:rounds=${STEPS - 1}`;

/** The tool's result. */
const WEATHER = { sky: "clear", degrees: 21 };

const weather = functionTool({
  name: "get_weather",
  description: "The weather of a city",
  parameters: {
    type: "object",
    properties: { city: { type: "string" }, days: { type: "integer" } },
    required: ["city", "days"],
  },
  execute: () => WEATHER,
});

/** Runs one generation, and returns how many calls of the model it took. */
type Way = (client: Client) => Promise<number>;

/** The same generation for all ways. */
const GENERATION = { model: MODEL, prompt: PROMPT, tools: [weather], maxToolRounds: STEPS };

/** The calls of a generation by hand, one after the other. */
async function callByHand(call: (request: RequestInput) => Promise<CompleteResponse>): Promise<number> {
  const messages = [userMessage(PROMPT)];
  const tools = [weather.definition];
  for (let steps = 1; ; steps += 1) {
    const response = await call({ model: MODEL, messages, tools });
    const calls = toolCallsOf(response);
    if (calls.length === 0) return steps;
    messages.push(response.message, ...calls.map((each) => toolResult(each, WEATHER)));
  }
}

/** The last response of a stream, read by its batches. */
async function readStream(client: Client, request: RequestInput): Promise<CompleteResponse> {
  let last: StreamEvent["event"] | undefined;
  for await (const batch of client.stream(request).batches()) last = batch.at(-1)?.event;
  if (last?.case !== "finish" || last.value.response === undefined) throw new Error("the stream was cut");
  return completeResponse(last.value.response);
}

/** The compared pairs: the loop, and the calls that it makes. */
const COMPARED: Readonly<Record<string, { readonly loop: Way; readonly calls: Way }>> = {
  "generate() / complete() × 5": {
    loop: async (client) => (await generate({ client, ...GENERATION })).steps.length,
    calls: (client) => callByHand((request) => client.complete(request)),
  },
  "stream() / stream() of a client × 5": {
    async loop(client) {
      const result = stream({ client, ...GENERATION });
      for await (const _batch of result.batches());
      return (await result.result()).steps.length;
    },
    calls: (client) => callByHand((request) => readStream(client, request)),
  },
};

/** Starts a simulator in a separate process. */
async function startProvider(): Promise<{ readonly process: ChildProcess; readonly url: string }> {
  const program = fileURLToPath(new URL("../src/cli/main.ts", import.meta.url));
  const args = [program, "simulate", "--port", "0", "--quiet"];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  const [line]: string[] = await once(createInterface(child.stdout), "line");
  const url = /http:\S+/.exec(line ?? "")?.[0];
  if (url === undefined) throw new Error(`the simulator says ${line}`);
  return { process: child, url };
}

/** Microseconds of CPU of this process for each call of the model, with all generations at once. */
async function measure(client: Client, way: Way): Promise<number> {
  const start = process.cpuUsage();
  const steps = await Promise.all(Array.from({ length: GENERATIONS }, () => way(client)));
  const { user, system } = process.cpuUsage(start);
  if (steps.some((count) => count !== STEPS)) throw new Error(`expected ${STEPS} steps, found ${steps}`);
  return (user + system) / (GENERATIONS * STEPS);
}

async function toRow(
  client: Client,
  name: string,
  { loop, calls }: { loop: Way; calls: Way },
): Promise<string[]> {
  const times: { readonly loop: number; readonly calls: number }[] = [];
  for (let round = 0; round <= ROUNDS; round += 1) {
    // The order changes from round to round, and the first one warms up.
    const first = await measure(client, round % 2 === 0 ? loop : calls);
    const second = await measure(client, round % 2 === 0 ? calls : loop);
    const measured = round % 2 === 0 ? { loop: first, calls: second } : { loop: second, calls: first };
    if (round > 0) times.push(measured);
  }
  const ratio = getSpread(times.map((time) => time.loop / time.calls));
  const medians = [times.map((time) => time.loop), times.map((time) => time.calls)].map(getMedian);
  return [name, ...medians.map((median) => median.toFixed(0)), formatRatio(ratio)];
}

const provider = await startProvider();
const client = new Client({
  providers: { openai: new OpenAIAdapter({ apiKey: "any", baseUrl: `${provider.url}/v1` }) },
});
const machine = await describeMachine();
const rows: string[][] = [];
for (const [name, compared] of Object.entries(COMPARED)) rows.push(await toRow(client, name, compared));
await client.close();
provider.process.kill();
const section = [
  `## ${GENERATIONS} tool loops of ${STEPS} steps at once`,
  markdownTable([["CPU per call of the model, µs", "loop", "calls by hand", "ratio"], ...rows]),
  [
    `Written on ${new Date().toISOString().slice(0, 10)} by \`node bench/tool-loop.ts\`:`,
    `the medians of ${ROUNDS} rounds. The loop also parses and checks the arguments of the calls.`,
  ].join("\n"),
  [...machine.slice(0, 2), `Node ${process.version}`].map((line) => `- ${line}`).join("\n"),
].join("\n\n");
process.stdout.write(`${section}\n`);
if (process.argv.includes("--write")) await writeSection("tool-loop.ts", section);
