/** Holds the house to its plan: imports run one way (docs/architecture.md). */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const source = fileURLToPath(new URL("../src", import.meta.url));

/** The layers, each of which may use those before it. */
const layers = [
  "gen",
  "core",
  "catalog",
  "kit",
  "providers",
  "client",
  "generation",
  "runs",
  "endpoints",
  "config",
  "server",
  "cli",
] as const;

/** The library's surface, which may use every layer up to generation. */
const surface = "index.ts";

/** Stands on its own; used by the command and by tests. */
const simulator = "simulator";

interface Import {
  /** Path below src of the file that imports. */
  readonly from: string;
  /** Path below src of the file that is imported, or the name of a package. */
  readonly to: string;
  /** Whether `to` is in src. */
  readonly internal: boolean;
}

const IMPORT =
  /(?:^|\n)\s*(?:import|export)\b[^;"']*?from\s*["']([^"']+)["']|import\s*\(?\s*["']([^"']+)["']/g;

function importsIn(file: string): Import[] {
  const text = readFileSync(file, "utf8");
  return [...text.matchAll(IMPORT)].map(([, statement, other]) => {
    const target = statement ?? other ?? "";
    const from = relative(source, file);
    if (!target.startsWith(".")) return { from, to: target, internal: false };
    return { from, to: relative(source, resolve(dirname(file), target)), internal: true };
  });
}

const files = readdirSync(source, { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".ts") && !name.endsWith(".d.ts"))
  .map((name) => join(source, name));

const imports = files.flatMap(importsIn);

/** First folder of a path below src; the file itself where it is in none. */
function areaOf(path: string): string {
  return path.split("/")[0] ?? path;
}

function rankOf(path: string): number {
  if (path === surface) return layers.indexOf("generation") + 0.5;
  return (layers as readonly string[]).indexOf(areaOf(path));
}

/** Folder of an adapter: `openai-responses` of `providers/openai-responses/adapter.ts`. */
function adapterOf(path: string): string | undefined {
  const [area, adapter] = path.split("/");
  return area === "providers" ? adapter : undefined;
}

function lines(found: readonly Import[]): string[] {
  return found.map(({ from, to }) => `${from} imports ${to}`);
}

describe("the architecture", () => {
  it("has the imports that this test looks for", () => {
    expect(imports.length).toBeGreaterThan(files.length);
    expect(lines(imports)).toEqual(
      expect.arrayContaining([
        "client/client.ts imports client/validate.ts",
        "cli/run.ts imports cli/serve.ts",
        "index.ts imports gen/outrigger/v1/message_pb.ts",
        "config/schema.ts imports zod/mini",
      ]),
    );
  });

  it("knows every folder of src", () => {
    const known = [...layers, surface, simulator] as readonly string[];
    expect(
      files.map((file) => areaOf(relative(source, file))).filter((area) => !known.includes(area)),
    ).toEqual([]);
  });

  it("lets a layer use the layers before it, and no other", () => {
    const wrong = imports.filter(({ from, to, internal }) => {
      if (!internal || areaOf(from) === simulator || areaOf(to) === simulator) return false;
      return to === surface || (to.startsWith("../") ? areaOf(from) !== "cli" : rankOf(to) > rankOf(from));
    });
    expect(lines(wrong)).toEqual([]);
  });

  it("keeps adapters apart", () => {
    const wrong = imports.filter(({ from, to, internal }) => {
      const [user, used] = [adapterOf(from), internal ? adapterOf(to) : undefined];
      return user !== undefined && used !== undefined && user !== used;
    });
    expect(lines(wrong)).toEqual([]);
  });

  it("names adapters in the client and on the library's surface only", () => {
    const wrong = imports.filter(({ from, to, internal }) => {
      if (!internal || adapterOf(to) === undefined || adapterOf(from) !== undefined) return false;
      return areaOf(from) !== "client" && from !== surface && from !== "config/index.ts";
    });
    expect(lines(wrong)).toEqual([]);
  });

  it("lets the simulator stand on its own, and only the command use it", () => {
    const outward = imports.filter(({ from, to, internal }) => {
      return areaOf(from) === simulator && (internal ? areaOf(to) !== simulator : !to.startsWith("node:"));
    });
    const inward = imports.filter(({ from, to, internal }) => {
      return internal && areaOf(to) === simulator && ![simulator, "cli"].includes(areaOf(from));
    });
    expect(lines([...outward, ...inward])).toEqual([]);
  });

  it("gives all adapters the same files", () => {
    const expected = [
      "adapter.ts",
      "assistant.ts",
      "citations.ts",
      "context.ts",
      "error.ts",
      "finish-reason.ts",
      "input.ts",
      "media.ts",
      "open-blocks.ts",
      "options.ts",
      "reasoning.ts",
      "request.ts",
      "response-format.ts",
      "response.ts",
      "state.ts",
      "stream.ts",
      "tool-call-ids.ts",
      "tool-results.ts",
      "tools.ts",
      "usage.ts",
      "user-content.ts",
    ];
    const adapters = new Set(
      files.map((file) => adapterOf(relative(source, file))).filter((name) => name !== undefined),
    );
    expect(adapters.size).toBeGreaterThan(0);
    for (const adapter of adapters) {
      expect(readdirSync(join(source, "providers", adapter))).toEqual(expect.arrayContaining(expected));
    }
  });
});
