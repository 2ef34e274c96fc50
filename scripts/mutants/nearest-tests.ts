/** Finds the tests that are nearest to a source file. */
import { readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";

/** The imports between the files of the project. */
export interface ImportGraph {
  /** Lists the files that load a file, directly or not, with the number of imports between them. */
  getDistances(file: string): ReadonlyMap<string, number>;
  /** Lists the files that import a file directly. */
  getImporters(file: string): readonly string[];
}

/** Specifiers of the library's entry points, which tests import by the name of the package. */
const ENTRY_POINTS: Readonly<Record<string, string>> = {
  outrigger: "src/index.ts",
  "outrigger/proto": "src/proto.ts",
  "outrigger/kit": "src/kit/index.ts",
  "outrigger/simulator": "simulator/index.ts",
};

const IMPORT = /\b(?:from|import)\s*\(?\s*"([^"]+)"/g;

// An import of types leaves nothing to run.
const TYPE_IMPORT = /\b(?:import|export) type [^;]*;/g;

/** Reads the imports of files. */
export function readImportGraph(root: string, files: readonly string[]): ImportGraph {
  const importers = new Map<string, string[]>();
  for (const file of files) {
    for (const imported of readImports(file, readFileSync(join(root, file), "utf8"))) {
      importers.set(imported, [...(importers.get(imported) ?? []), file]);
    }
  }
  return {
    getDistances(file) {
      const distances = new Map([[file, 0]]);
      // Grows while it is read: breadth first.
      for (const [current, distance] of distances) {
        for (const importer of importers.get(current) ?? []) {
          if (!distances.has(importer)) distances.set(importer, distance + 1);
        }
      }
      return distances;
    },
    getImporters: (file) => importers.get(file) ?? [],
  };
}

function readImports(file: string, text: string): string[] {
  const specifiers = [...text.replace(TYPE_IMPORT, "").matchAll(IMPORT)].map(
    ([, specifier = ""]) => specifier,
  );
  return specifiers.flatMap((specifier) => {
    if (specifier.startsWith(".")) return [normalize(join(dirname(file), specifier))];
    return ENTRY_POINTS[specifier] ?? [];
  });
}

/** Tests that start processes or measure for minutes, and say little about one line. */
const FAR =
  /^test\/(?:(?:attacks|clients|conformance|package|real|bench|scripts|chaos|faults)\/|runs\/(?:kill|store\/postgres\/sidecars)\.test\.ts$)/;

/**
 * Lists the tests that load a source file and are either anywhere in the folder of `test` that mirrors its layer, or
 * import it without another source file between, nearest first.
 */
export function findNearestTests(file: string, graph: ImportGraph): string[] {
  const [, layer = ""] = file.split("/");
  const mirror = `${dirname(file).replace(/^src/, "test")}/`;
  const namesake = toNamesake(file);
  const distances = [...graph.getDistances(file)].filter(
    ([test]) => test.startsWith("test/") && test.endsWith(".test.ts") && !FAR.test(test),
  );
  const rank = ([test, distance]: readonly [string, number]) => [
    test === namesake ? 0 : 1,
    test.startsWith(mirror) || distance === 1 ? 0 : 1,
    distance,
  ];
  return distances
    .filter(([test, distance]) => test.startsWith(`test/${layer}/`) || distance === 1)
    .map((entry) => ({ test: entry[0], rank: rank(entry) }))
    .sort((a, b) => compareRanks(a.rank, b.rank) || a.test.localeCompare(b.test))
    .map(({ test }) => test);
}

/**
 * Lists the tests of the same name as a source file that imports this one directly. They are of use if no nearer test
 * runs the code, because other layers are its only users. Tests of the command start processes, and are left out.
 */
export function findTestsOfImporters(file: string, graph: ImportGraph): string[] {
  const known = graph.getDistances(file);
  return graph
    .getImporters(file)
    .filter((importer) => importer.startsWith("src/"))
    .map(toNamesake)
    .filter((test) => known.has(test) && !FAR.test(test) && !test.startsWith("test/cli/"));
}

function toNamesake(file: string): string {
  return file.replace(/^src/, "test").replace(/\.ts$/, ".test.ts");
}

function compareRanks(left: readonly number[], right: readonly number[]): number {
  const differences = left.map((rank, index) => rank - (right[index] ?? 0));
  return differences.find((difference) => difference !== 0) ?? 0;
}
