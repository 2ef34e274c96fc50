import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, it } from "vitest";
import { ALLOCATOR_VARIABLES, NODE_OPTIONS } from "../../src/cli/process-settings.ts";
import { killLeftovers, type Outrigger, spawnOutrigger } from "./support/spawn-outrigger.ts";

const ADDRESSES = ["--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"];

/** Preloaded into a program, it prints the flags that the program gives to V8 while it runs. */
const PRINT_FLAGS = fileURLToPath(new URL("support/print-flags.cjs", import.meta.url));

afterEach(killLeftovers);

/** The flags that a program with PRINT_FLAGS has printed. */
function getFlags(stderr: string): string[] {
  return [...stderr.matchAll(/^flag (\S+)$/gm)].map(([, flag = ""]) => flag);
}

async function serve(env: Record<string, string> = {}): Promise<Outrigger> {
  const outrigger = spawnOutrigger(["serve", ...ADDRESSES], { OPENAI_API_KEY: "sk-key", ...env });
  await outrigger.printed(/"msg":"serving"/);
  return outrigger;
}

/** A list that Linux shows of a process: `cmdline` or `environ`. */
function toList({ child }: Outrigger, name: "cmdline" | "environ"): string[] {
  return readFileSync(`/proc/${child.pid}/${name}`, "utf8").split("\0");
}

describe("the settings of the process", () => {
  it("are those with which the image starts it", () => {
    const dockerfile = readFileSync(fileURLToPath(new URL("../../Dockerfile", import.meta.url)), "utf8");
    const [, entryPoint = ""] = /^ENTRYPOINT (\[.*\])$/m.exec(dockerfile) ?? [];
    expect(JSON.parse(entryPoint)).toEqual([
      "/nodejs/bin/node",
      "--max-old-space-size-percentage=50",
      ...NODE_OPTIONS,
      "/app/outrigger.cjs",
    ]);
    const variables = [...dockerfile.matchAll(/^ENV (\w+)=(\S+)$/gm)].map(([, name, value]) => [name, value]);
    expect(Object.fromEntries(variables)).toEqual(ALLOCATOR_VARIABLES);
  });
});

describe("setHeapGrowth", () => {
  const settings = new URL("../../src/cli/process-settings.ts", import.meta.url);
  const program = `import(${JSON.stringify(settings)}).then(({ setHeapGrowth }) => setHeapGrowth())`;

  it.each([
    [
      "lets a small heap grow by 40 %",
      ["--max-old-space-size=128", ...NODE_OPTIONS],
      ["--heap-growing-percent=40"],
    ],
    [
      "lets a larger one grow by 80 %",
      ["--max-old-space-size=256", ...NODE_OPTIONS],
      ["--heap-growing-percent=80"],
    ],
    ["keeps what the operator says", ["--heap-growing-percent=20", ...NODE_OPTIONS], []],
    ["keeps what the operator says, with underscores", ["--heap_growing_percent=20", ...NODE_OPTIONS], []],
    ["leaves it to V8 if the operator has chosen the young generation", ["--max-semi-space-size=16"], []],
  ])("%s", (_, options, flags) => {
    const { stderr } = spawnSync(process.execPath, ["--require", PRINT_FLAGS, ...options, "--eval", program]);
    expect(getFlags(String(stderr))).toEqual(flags);
  });
});

describe.runIf(process.platform === "linux")("outrigger serve", () => {
  it("gives itself the settings, in the process that was started", async () => {
    const outrigger = await serve();
    expect(toList(outrigger, "cmdline").slice(1, 1 + NODE_OPTIONS.length)).toEqual(NODE_OPTIONS);
    expect(toList(outrigger, "cmdline")).toEqual(expect.arrayContaining(["serve", ...ADDRESSES]));
    expect(toList(outrigger, "environ")).toEqual(
      expect.arrayContaining(Object.entries(ALLOCATOR_VARIABLES).map(([name, value]) => `${name}=${value}`)),
    );
  });

  it("lets the old generation grow further in a heap that is large", async () => {
    const { stderr } = await serve({ NODE_OPTIONS: `--require=${PRINT_FLAGS} --max-old-space-size=256` });
    expect(getFlags(stderr())).toEqual(["--heap-growing-percent=80"]);
  });

  it("keeps a variable of the allocator that the operator has set", async () => {
    const variables = toList(await serve({ MALLOC_ARENA_MAX: "8" }), "environ");
    expect(variables.filter((text) => text.startsWith("MALLOC_ARENA_MAX="))).toEqual(["MALLOC_ARENA_MAX=8"]);
  });

  it("leaves everything as it is if the operator has chosen the size of the young generation", async () => {
    const outrigger = await serve({ NODE_OPTIONS: "--max-semi-space-size=16" });
    expect(toList(outrigger, "cmdline")).not.toEqual(expect.arrayContaining([...NODE_OPTIONS]));
    expect(toList(outrigger, "environ").join()).not.toContain("MALLOC_");
  });
});
