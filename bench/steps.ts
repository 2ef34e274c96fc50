/**
 * Counts the functions and files of src through which one warm call passes: `node bench/steps.ts [--list]`. A sidecar
 * from the sources and a simulator run as processes; the sidecar's coverage is read by its inspector.
 */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { InferenceService } from "../src/gen/outrigger/v1/inference_service_pb.ts";
import { Role } from "../src/gen/outrigger/v1/message_pb.ts";
import { findFreePort, killAll, type Running, startListening } from "./processes.ts";
import { PROJECT_FOLDER } from "./work-folder.ts";

/** Calls before those that are counted. */
const WARM_CALLS = 5;

/** A function counts if each of so many calls passes through it: timers of the sidecar also run meanwhile. */
const COUNTED_CALLS = 3;

/** The most files and functions that a call may pass through. */
interface Aim {
  readonly files: number;
  readonly functions: number;
}

interface Case {
  readonly name: string;
  readonly aim: Aim;
  readonly call: () => Promise<unknown>;
}

/** A function that ran. */
interface Step {
  /** Path below the project's folder. */
  readonly file: string;
  readonly name: string;
  /** The file and the index at which the function begins. */
  readonly place: string;
}

/** The part of the answer to `Profiler.takePreciseCoverage` that is read. */
interface Coverage {
  readonly result: readonly {
    readonly url: string;
    readonly functions: readonly {
      readonly functionName: string;
      readonly ranges: readonly { readonly startOffset: number; readonly count: number }[];
    }[];
  }[];
}

process.once("exit", killAll);
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));

async function countAll(isListed: boolean): Promise<void> {
  const simulator = await start((host, port) => ["simulate", "--quiet", "--host", host, "--port", port]);
  const config = join(folder, "config.json");
  const provider = {
    api: "openai-responses",
    base_url: `http://${simulator.address}/v1`,
    api_key: "sk-simulated",
  };
  const runs = { store: join(folder, "runs.db") };
  await writeFile(config, JSON.stringify({ providers: { openai: provider }, runs }));
  const inspectorPort = await findFreePort();
  const sidecar = await start(
    (host, port) => [
      "serve",
      "--config",
      config,
      "--listen",
      `${host}:${port}`,
      "--admin-listen",
      "127.0.0.1:0",
    ],
    `--inspect=127.0.0.1:${inspectorPort}`,
  );
  const inspector = await Inspector.open(inspectorPort);
  await inspector.send("Profiler.enable");
  await inspector.send("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
  const rows: string[][] = [["call", "files", "aim", "functions", "aim"]];
  for (const { name, aim, call } of createCases(`http://${sidecar.address}`)) {
    const steps = await countSteps(inspector, call);
    const files = new Set(steps.map(({ file }) => file)).size;
    rows.push([name, `${files}`, `${aim.files}`, `${steps.length}`, `${aim.functions}`]);
    if (isListed) print([`\n${name}`, ...steps.map(({ file, name: step }) => `${file} ${step}`)]);
  }
  inspector.close();
  print(
    rows.map((row) =>
      row.map((cell, column) => (column === 0 ? cell.padEnd(28) : cell.padStart(10))).join(""),
    ),
  );
}

function createCases(baseUrl: string): Case[] {
  const { complete, stream } = createClient(InferenceService, createGrpcTransport({ baseUrl }));
  const content = [{ part: { case: "text" as const, value: "hi" } }];
  const request = (model: string) => ({
    provider: "openai",
    model,
    messages: [{ role: Role.USER, content }],
  });
  return [
    { name: "Complete", aim: { files: 70, functions: 250 }, call: () => complete(request("sim-text")) },
    {
      name: "Stream of 44 events",
      aim: { files: 75, functions: 350 },
      call: async () => {
        let events = 0;
        for await (const _ of stream(request("sim-long:tokens=40,rate=400"))) events += 1;
        return events;
      },
    },
    {
      name: "stored /v1/responses",
      aim: { files: 120, functions: 600 },
      call: async () => {
        const response = await fetch(`${baseUrl}/v1/responses`, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify({ model: "openai/sim-text", input: "hi" }),
        });
        if (!response.ok) throw new Error(await response.text());
        return response.text();
      },
    },
  ];
}

async function countSteps(inspector: Inspector, call: Case["call"]): Promise<Step[]> {
  for (let time = 0; time < WARM_CALLS; time += 1) await call();
  let steps = await takeSteps(inspector, call);
  for (let time = 1; time < COUNTED_CALLS; time += 1) {
    const again = new Set((await takeSteps(inspector, call)).map(({ place }) => place));
    steps = steps.filter(({ place }) => again.has(place));
  }
  return steps;
}

async function takeSteps(inspector: Inspector, call: Case["call"]): Promise<Step[]> {
  // Anything that a call leaves behind, such as a timer, belongs to the calls before.
  await new Promise((resolve) => setTimeout(resolve, 500));
  await inspector.send("Profiler.takePreciseCoverage");
  await call();
  // The end of a call is logged when its response has left.
  await new Promise((resolve) => setTimeout(resolve, 20));
  const { result } = (await inspector.send("Profiler.takePreciseCoverage")) as Coverage;
  return result.flatMap(({ url, functions }) => {
    const [, file] = /\/(src\/(?!gen\/).*)$/.exec(url) ?? [];
    if (file === undefined) return [];
    return functions.flatMap(({ functionName, ranges: [whole] }) =>
      whole !== undefined && whole.count > 0
        ? [{ file, name: functionName || "(anonymous)", place: `${file}:${whole.startOffset}` }]
        : [],
    );
  });
}

/** The inspector of a process. */
class Inspector {
  readonly #socket: WebSocket;
  readonly #waiting = new Map<number, (result: unknown) => void>();
  #calls = 0;

  constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.addEventListener("message", ({ data }) => {
      const { id, result } = JSON.parse(String(data));
      this.#waiting.get(id)?.(result);
      this.#waiting.delete(id);
    });
  }

  static async open(port: number): Promise<Inspector> {
    const response = await fetch(`http://127.0.0.1:${port}/json/list`);
    const [target] = (await response.json()) as { webSocketDebuggerUrl: string }[];
    const socket = new WebSocket(target?.webSocketDebuggerUrl ?? "");
    await new Promise((resolve, reject) => {
      socket.addEventListener("open", resolve);
      socket.addEventListener("error", reject);
    });
    return new Inspector(socket);
  }

  send(method: string, params: object = {}): Promise<unknown> {
    this.#calls += 1;
    const id = this.#calls;
    this.#socket.send(JSON.stringify({ id, method, params }));
    return new Promise((resolve) => this.#waiting.set(id, resolve));
  }

  close(): void {
    this.#socket.close();
  }
}

function start(
  toArguments: (host: string, port: string) => readonly string[],
  ...flags: string[]
): Promise<Running> {
  const main = fileURLToPath(new URL("../src/cli/main.ts", import.meta.url));
  return startListening((address) => {
    const [host = "", port = ""] = address.split(":");
    return {
      file: process.execPath,
      args: [...flags, main, ...toArguments(host, port)],
      env: { PATH: process.env.PATH ?? "" },
      folder: PROJECT_FOLDER,
    };
  });
}

function print(lines: readonly string[]): void {
  process.stdout.write(`${lines.join("\n")}\n`);
}

const folder = await mkdtemp(join(tmpdir(), "outrigger-steps-"));
try {
  await countAll(process.argv.includes("--list"));
} finally {
  killAll();
  await rm(folder, { recursive: true });
}
