/**
 * Holds the layout: imports run one way, without circles, and provider names stay in their places
 * (docs/architecture.md).
 */
import { readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const root = fileURLToPath(new URL("..", import.meta.url));
const source = join(root, "src");

/** The layers. Each may use the layers before. */
const layers = [
  "gen",
  "core",
  "catalog",
  "kit",
  "providers",
  "client",
  "middleware",
  "generation",
  "runs",
  "http",
  "endpoints",
  "config",
  "server",
  "cli",
] as const;

/** The library's surface, which may use every layer up to generation. Nothing else uses it. */
const surfaces: readonly string[] = ["common.ts", "index.ts", "proto.ts"];

/** A folder next to src. Uses nothing but wire types; used by the command and by tests. */
const simulator = "simulator";

/** Types and constants of the providers' APIs; uses nothing of ours. */
const wire = "wire";

/** Areas that may use wire types. */
const wireUsers: readonly string[] = [wire, "kit", "providers", "endpoints", simulator];

interface Import {
  /** Path below src of the file that imports. */
  readonly from: string;
  /** Path below src of the file that is imported, or the name of a package. */
  readonly to: string;
  /** Whether `to` is in src. */
  readonly internal: boolean;
  /** Whether the statement is `import type` or `export type`, which leaves nothing at run time. */
  readonly typeOnly: boolean;
}

const IMPORT =
  /(?:^|\n)\s*(?:import|export)\b[^;"']*?from\s*["']([^"']+)["']|import\s*\(?\s*["']([^"']+)["']/g;

/** The path of a file below src, or `simulator/…`. */
function toName(file: string): string {
  return relative(source, file).replace(/^\.\.\/(?=simulator\/)/, "");
}

function importsIn(file: string): Import[] {
  return [...readFileSync(file, "utf8").matchAll(IMPORT)].map(([text, statement, other]) => {
    const target = statement ?? other ?? "";
    const from = toName(file);
    const typeOnly = /^\s*(?:import|export) type\b/.test(text);
    if (!target.startsWith(".")) return { from, to: target, internal: false, typeOnly };
    return { from, to: toName(resolve(dirname(file), target)), internal: true, typeOnly };
  });
}

const files = [source, join(root, simulator)].flatMap((folder) =>
  readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts") && !name.endsWith(".d.ts"))
    .map((name) => join(folder, name)),
);

const imports = files.flatMap(importsIn);

/** The first folder of a path below src, or the file if it is in no folder. */
function getArea(path: string): string {
  return path.split("/")[0] ?? path;
}

function getRank(path: string): number {
  if (surfaces.includes(path)) return layers.indexOf("generation") + 0.5;
  return (layers as readonly string[]).indexOf(getArea(path));
}

/** Folder of an adapter: `openai-responses` of `providers/openai-responses/adapter.ts`. */
function getAdapter(path: string): string | undefined {
  const [area, adapter, file] = path.split("/");
  return area === "providers" && file !== undefined ? adapter : undefined;
}

/** Names of providers in the code of a file; comments may give examples. */
function providerNamesIn(text: string): string[] {
  const code = text.replace(/\/\*[\s\S]*?\*\//g, "").replace(/^\s*\/\/.*$/gm, "");
  return [...code.matchAll(/openai|anthropic|gemini|claude|\bgpt-/gi)].map(([name]) => name);
}

/** The files of one import circle, in the order of the imports, or none if there is no circle. */
function circleIn(targets: ReadonlyMap<string, readonly string[]>): string[] {
  const done = new Set<string>();
  const path: string[] = [];
  const visit = (file: string): string[] => {
    if (path.includes(file)) return [...path.slice(path.indexOf(file)), file];
    if (done.has(file)) return [];
    path.push(file);
    for (const target of targets.get(file) ?? []) {
      const circle = visit(target);
      if (circle.length > 0) return circle;
    }
    path.pop();
    done.add(file);
    return [];
  };
  for (const file of targets.keys()) {
    const circle = visit(file);
    if (circle.length > 0) return circle;
  }
  return [];
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
        "proto.ts imports gen/outrigger/v1/message_pb.ts",
        "config/schema.ts imports zod/mini",
      ]),
    );
  });

  it("knows every folder", () => {
    const known = [...layers, ...surfaces, simulator, wire] as readonly string[];
    expect(files.map((file) => getArea(toName(file))).filter((area) => !known.includes(area))).toEqual([]);
  });

  it("is documented with its layers in their order", () => {
    const text = readFileSync(join(root, "docs/architecture.md"), "utf8");
    const [, picture = ""] = /## Layers[\s\S]*?```\n([\s\S]*?)```/.exec(text) ?? [];
    const documented = [...picture.matchAll(/^src\/([\w-]+)\//gm)].map(([, name]) => name);
    expect(documented).toEqual([...layers].reverse());
  });

  it("lets a layer use the layers before it, and no other", () => {
    const wrong = imports.filter(({ from, to, internal }) => {
      if (!internal || [simulator, wire].some((area) => [getArea(from), getArea(to)].includes(area)))
        return false;
      return (
        (surfaces.includes(to) && !surfaces.includes(from)) ||
        (to.startsWith("../") ? getArea(from) !== "cli" : getRank(to) > getRank(from))
      );
    });
    expect(lines(wrong)).toEqual([]);
  });

  it("has no import circles, types included", () => {
    const targets = new Map<string, string[]>();
    for (const { from, to, internal } of imports)
      if (internal) targets.set(from, [...(targets.get(from) ?? []), to]);
    expect(circleIn(targets)).toEqual([]);
  });

  it("has no import circles between the folders of a layer", () => {
    const targets = new Map<string, string[]>();
    for (const { from, to, internal } of imports) {
      const [user, used] = [dirname(from), dirname(to)];
      if (!internal || user === used || getArea(from) !== getArea(to) || getArea(from) === simulator)
        continue;
      targets.set(user, [...(targets.get(user) ?? []), used]);
    }
    expect(targets.size).toBeGreaterThan(20);
    expect(circleIn(targets)).toEqual([]);
  });

  it("lets wire import types of the providers' SDKs and nothing else", () => {
    const wrong = imports.filter(({ from, to, internal, typeOnly }) => {
      return getArea(from) === wire && (internal ? getArea(to) !== wire : !typeOnly);
    });
    expect(lines(wrong)).toEqual([]);
  });

  it("lets only adapters, HTTP APIs, the simulator and the JSON readers use wire types", () => {
    const wrong = imports.filter(({ from, to, internal }) => {
      return internal && getArea(to) === wire && !wireUsers.includes(getArea(from));
    });
    expect(lines(wrong)).toEqual([]);
  });

  it("keeps adapters apart", () => {
    const wrong = imports.filter(({ from, to, internal }) => {
      const [user, used] = [getAdapter(from), internal ? getAdapter(to) : undefined];
      return user !== undefined && used !== undefined && user !== used;
    });
    expect(lines(wrong)).toEqual([]);
  });

  it("names adapters in the client and on the library's surface only", () => {
    const wrong = imports.filter(({ from, to, internal }) => {
      if (!internal || getAdapter(to) === undefined || getAdapter(from) !== undefined) return false;
      return getArea(from) !== "client" && !surfaces.includes(from) && from !== "config/index.ts";
    });
    expect(lines(wrong)).toEqual([]);
  });

  it("lets the simulator use wire types alone, and only the command use the simulator", () => {
    const outward = imports.filter(({ from, to, internal }) => {
      if (getArea(from) !== simulator) return false;
      return internal ? ![simulator, wire].includes(getArea(to)) : !to.startsWith("node:");
    });
    const inward = imports.filter(({ from, to, internal }) => {
      return internal && getArea(to) === simulator && ![simulator, "cli"].includes(getArea(from));
    });
    expect(lines([...outward, ...inward])).toEqual([]);
  });

  it("names providers in adapters, wire types, HTTP APIs, catalog, simulator and the composition of the client only", () => {
    // HTTP APIs are the APIs of providers, whose names their items, ids and types have.
    const free = ["providers", wire, simulator, "catalog", "gen", "endpoints"];
    const composition = ["client/check-base-url.ts", "client/providers.ts", "client/from-env.ts", "index.ts"];
    const wrong = files
      .map(toName)
      .filter(
        (file) => !free.includes(getArea(file)) && !composition.includes(file) && getArea(file) !== "cli",
      )
      .flatMap((file) =>
        providerNamesIn(readFileSync(join(source, file), "utf8")).map((name) => `${file}: ${name}`),
      );
    expect(wrong).toEqual([]);
  });

  it("gives all adapters the files that each needs, and describes the files that four have", () => {
    const names = new Map<string, Set<string>>();
    for (const file of files) {
      const adapter = getAdapter(toName(file));
      if (adapter === undefined) continue;
      const name = basename(file);
      names.set(name, (names.get(name) ?? new Set()).add(adapter));
    }
    const adapters = new Set([...names.values()].flatMap((users) => [...users]));
    expect(adapters).toContain("command");
    const needed = ["adapter", "definition", "error", "input", "request", "response", "stream", "usage"];
    for (const name of needed) expect(names.get(`${name}.ts`), name).toEqual(adapters);
    const shared = [...names].flatMap(([name, users]) => (users.size >= 4 ? [name] : []));
    const text = readFileSync(join(root, "CONTRIBUTING.md"), "utf8");
    const [, table = ""] = /`src\/providers\/<api>\/`[\s\S]*?(\n {3}\| file [\s\S]*?)\n\n/.exec(text) ?? [];
    const described = table
      .split("\n")
      .flatMap((row) => [...(row.split("|")[1] ?? "").matchAll(/`([\w-]+\.ts)`/g)]);
    expect(described.map(([, name]) => name).sort()).toEqual(shared.sort());
  });
});
