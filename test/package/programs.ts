/** The first programs of docs/library.md: their places, the scripts of their models, and their output. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { type SimulatedRequest, startSimulator } from "../../simulator/index.ts";
import { run } from "../clients/runner/process.ts";

/** The output and the request that a program must show. */
interface Expectation {
  /** The script of the model. */
  readonly script: string;
  /** The expected output. */
  readonly output: RegExp;
  /** The expected body of its last request, which also must have the status 200. */
  readonly sends: RegExp;
}

/** The programs by name. */
const EXPECTATIONS: Readonly<Record<string, Expectation>> = {
  chat: {
    script: "sim-echo",
    output: /^What is an outrigger\? \(\d+ tokens\)\nWho invented it\? \(\d+ tokens\)\n$/,
    sends: /What is an outrigger\?.*"assistant".*Who invented it\?/s,
  },
  generate: {
    script: "sim-tools",
    output: /`get_weather` said.*Paris.*\n2 steps, \d+ tokens\n$/s,
    sends: /"function_call_output".*\{\\"city\\":\\"Paris\\",\\"degrees\\":21/s,
  },
  "streamed-generation": {
    script: "sim-tools",
    output: /^step 1 had 1 tool results\n.*step 2 had 0 tool results\nCOMPLETED, \d+ tokens\n$/s,
    sends: /"custom_tool_call_output"/,
  },
  tools: {
    script: "sim-tools",
    output: /^\n.+\n$/s,
    sends: /"function_call_output".*\{\\"city\\":\\"Paris\\",\\"degrees\\":21/s,
  },
  "structured-output": {
    script: "sim-text",
    output: /^.+ is -?\d+\.\n$/,
    sends: /"json_schema".*"strict":true/s,
  },
  object: {
    script: "sim-text",
    output: /^.+ is -?\d+\. \(\d+ tokens\)\n$/,
    sends: /"json_schema".*"strict":true/s,
  },
  "streamed-object": {
    script: "sim-text",
    output: /^(.*: \d+ steps so far\n)+.*: \d+ steps\n$/,
    sends: /"json_schema"/,
  },
  "image-input": {
    script: "sim-text",
    output: /\S/,
    sends: /data:image\/png;base64,.*"detail":"high".*last-year\.png/s,
  },
  reasoning: {
    script: "sim-reasoning",
    output: /^Reasoning: \S.*\nAnswer: .*\nAnswer: \S/s,
    sends: /"thinking".*"signature":"[^"]+"/s,
  },
  middleware: { script: "sim-echo", output: /^Hello\nHello$/, sends: /"max_output_tokens":1000/ },
};

const folder = join(import.meta.dirname, "programs");

/** Paths of the programs. */
export const programFiles: readonly string[] = readdirSync(folder).map((name) => join(folder, name));

const timeoutMs = 60_000;

/** Runs every program in a folder that has the package, and checks what it prints and sends. */
export async function runPrograms(cwd: string): Promise<void> {
  for (const [name, expected] of Object.entries(EXPECTATIONS)) await runProgram(cwd, name, expected);
}

async function runProgram(cwd: string, name: string, { script, output, sends }: Expectation): Promise<void> {
  const aliases = { "gpt-5.2": script, "claude-opus-5": script };
  const simulator = await startSimulator({ aliases });
  try {
    const env = {
      OPENAI_API_KEY: "any",
      OPENAI_BASE_URL: simulator.openaiBaseUrl,
      ANTHROPIC_API_KEY: "any",
      ANTHROPIC_BASE_URL: simulator.anthropicBaseUrl,
    };
    const command = { file: process.execPath, args: [`${name}.ts`], cwd, env };
    const { code, stdout, stderr } = await run(command, timeoutMs);
    if (code !== 0 || !output.test(stdout)) throw new Error(`${name} printed ${stdout}${stderr}`);
    const last = simulator.requests.at(-1);
    if (last === undefined || !sends.test(textOf(last)))
      throw new Error(`${name} sent ${last && textOf(last)}`);
  } finally {
    await simulator.close();
  }
}

function textOf({ body }: SimulatedRequest): string {
  return JSON.stringify(body);
}
