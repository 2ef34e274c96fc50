import type { Metafile } from "esbuild";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { assignChunks } from "../../../scripts/build/chunks.ts";

/** A piece as a test describes it. */
interface PieceSpec {
  /** The pieces that it imports statically. */
  readonly needs?: readonly string[];
  /** The pieces that it imports dynamically. */
  readonly loads?: readonly string[];
  /** Default: 10,000. */
  readonly bytes?: number;
  /** A module of Node that it imports. */
  readonly node?: string;
}

type Pieces = Readonly<Record<string, PieceSpec>>;
type Output = Metafile["outputs"][string];

/** Creates the report that esbuild would give. The program starts with the piece `main`. */
function createMetafile(pieces: Pieces): Metafile {
  const roots = new Set(["main", ...Object.values(pieces).flatMap(({ loads = [] }) => loads)]);
  const outputs = Object.entries(pieces).map(([name, piece]): [string, Output] => {
    const output = toOutput(piece);
    return [`${name}.js`, roots.has(name) ? { ...output, entryPoint: `src/${name}.ts` } : output];
  });
  return { inputs: {}, outputs: Object.fromEntries(outputs) };
}

function toOutput({ needs = [], loads = [], bytes = 10_000, node }: PieceSpec): Output {
  const imports: Output["imports"] = [
    ...needs.map((path) => ({ path: `${path}.js`, kind: "import-statement" }) as const),
    ...loads.map((path) => ({ path: `${path}.js`, kind: "dynamic-import" }) as const),
  ];
  if (node !== undefined) imports.push({ path: node, kind: "import-statement", external: true });
  return { bytes, imports, exports: [], inputs: {} };
}

function splitChunks(pieces: Pieces): Record<string, string> {
  const chunks = assignChunks(createMetafile(pieces), "main.js");
  return Object.fromEntries([...chunks].map(([piece, chunk]) => [piece.replace(".js", ""), chunk]));
}

describe("assignChunks", () => {
  it("makes a chunk for each command, and one for the modules that the same commands share", () => {
    const chunks = splitChunks({
      main: { loads: ["serve", "demo", "simulate"], needs: ["errors"] },
      serve: { needs: ["transport", "errors"] },
      demo: { needs: ["transport", "scripts"] },
      simulate: { needs: ["scripts"] },
      transport: { needs: ["errors"] },
      scripts: {},
      errors: {},
    });
    expect(chunks).toEqual({
      serve: "serve",
      demo: "demo",
      simulate: "simulate",
      transport: "demo+serve",
      scripts: "demo+simulate",
      errors: "common",
    });
  });

  it("leaves out pieces that nothing loads", () => {
    const chunks = splitChunks({
      main: { loads: ["serve"] },
      serve: {},
      signatures: { needs: ["keys"] },
      keys: {},
    });
    expect(chunks).toEqual({ serve: "serve" });
  });

  it("keeps pieces together that are in memory before a dynamic import of one can run", () => {
    const chunks = splitChunks({
      main: { loads: ["serve"] },
      serve: { needs: ["server", "problems"] },
      server: { needs: ["problems"], loads: ["yaml-file"] },
      problems: {},
      "yaml-file": { needs: ["problems", "parser"] },
      parser: {},
    });
    expect(chunks).toEqual({
      serve: "serve",
      server: "serve",
      problems: "serve",
      "yaml-file": "yaml-file",
      parser: "yaml-file",
    });
  });

  it("puts small shared pieces into the common chunk, unless they bring a module of Node", () => {
    const chunks = splitChunks({
      main: { loads: ["serve", "demo"] },
      serve: { needs: ["units", "signals", "large"], bytes: 100 },
      demo: { needs: ["units", "signals", "large"], bytes: 100 },
      units: { bytes: 100, needs: ["suggest"] },
      suggest: { bytes: 100 },
      signals: { bytes: 100, node: "node:http" },
      large: { needs: ["units"] },
    });
    expect(chunks).toEqual({
      serve: "serve",
      demo: "demo",
      units: "common",
      suggest: "common",
      signals: "demo+serve",
      large: "demo+serve",
    });
  });

  it("names a chunk after the folder whose index is imported", () => {
    expect(
      splitChunks({ main: { loads: ["endpoints/responses/index"] }, "endpoints/responses/index": {} }),
    ).toEqual({ index: "endpoints-responses" });
  });

  it("refuses modules that would give two chunks the same name", () => {
    const pieces = { main: { loads: ["cli-serve", "cli/serve"] }, "cli-serve": {}, "cli/serve": {} };
    expect(() => splitChunks(pieces)).toThrow(
      "src/cli/serve.ts and src/cli-serve.ts are both named cli-serve",
    );
  });
});

/** Everything that a piece needs in memory, itself included. */
function getClosure(name: string, pieces: Pieces): Set<string> {
  const closure = new Set([name]);
  for (const found of closure) for (const needed of pieces[found]?.needs ?? []) closure.add(needed);
  return closure;
}

/** Chunks that a chunk imports statically. */
function getImports(chunk: string, pieces: Pieces, chunks: Readonly<Record<string, string>>): Set<string> {
  const members = Object.keys(chunks).filter((name) => chunks[name] === chunk);
  const needed = members.flatMap((name) => pieces[name]?.needs ?? []).map((name) => chunks[name] ?? "");
  return new Set(needed.filter((other) => other !== chunk));
}

const SIZE = 8;

/** Programs of 8 pieces or fewer, without those that nothing can load. */
const programs = fc
  .array(
    fc.record({
      needs: fc.array(fc.nat({ max: SIZE - 1 }), { maxLength: 3 }),
      loads: fc.array(fc.nat({ max: SIZE - 1 }), { maxLength: 3 }),
      bytes: fc.constantFrom(100, 10_000),
    }),
    { minLength: SIZE, maxLength: SIZE },
  )
  .map((specs): Pieces => {
    const getName = (index: number) => (index === 0 ? "main" : `piece-${index}`);
    // Static imports between pieces have no circles, and nothing imports the first piece.
    const entries = specs.map(({ needs, loads, bytes }, index) => {
      const later = needs.filter((other) => other > index).map(getName);
      return [
        getName(index),
        { needs: later, loads: loads.filter((other) => other > 0).map(getName), bytes },
      ];
    });
    const pieces: Pieces = Object.fromEntries(entries);
    const reached = new Set(["main"]);
    for (const name of reached) {
      const { needs = [], loads = [] } = pieces[name] ?? {};
      for (const other of [...needs, ...loads]) reached.add(other);
    }
    return Object.fromEntries(Object.entries(pieces).filter(([name]) => reached.has(name)));
  });

describe("the chunks of any program", () => {
  it("do not import each other in a circle", () => {
    fc.assert(
      fc.property(programs, (pieces) => {
        const chunks = splitChunks(pieces);
        for (const chunk of new Set(Object.values(chunks))) {
          const reached = getImports(chunk, pieces, chunks);
          for (const found of reached)
            for (const next of getImports(found, pieces, chunks)) reached.add(next);
          expect(reached).not.toContain(chunk);
        }
      }),
      { numRuns: 500 },
    );
  });

  it("load nothing that is not needed, in any order", () => {
    fc.assert(
      fc.property(programs, fc.array(fc.nat(), { maxLength: SIZE }), (pieces, choices) => {
        const chunks = splitChunks(pieces);
        const inMemory = getClosure("main", pieces);
        for (const choice of choices) {
          const loadable = [...inMemory].flatMap((name) => pieces[name]?.loads ?? []);
          const root = loadable[choice % loadable.length];
          if (root !== undefined) for (const name of getClosure(root, pieces)) inMemory.add(name);
          const loaded = new Set([...inMemory].map((name) => chunks[name]));
          for (const [name, chunk] of Object.entries(chunks)) {
            if (chunk !== "common" && loaded.has(chunk)) expect(inMemory).toContain(name);
          }
        }
      }),
      { numRuns: 500 },
    );
  });
});
