/** Decides which file each piece of a program goes to. Pure: it reads the graph that esbuild reports. */
import { basename } from "node:path";
import type { Metafile } from "esbuild";

type Outputs = Metafile["outputs"];

/** One output of esbuild's code splitting: modules that are always loaded together. */
interface Piece {
  readonly name: string;
  readonly output: Outputs[string];
  /** The pieces in memory once the piece is loaded: the piece, and all its static imports. */
  readonly closure: Set<Piece>;
  /** The dynamic imports of the piece. */
  readonly loads: Piece[];
}

/** Name of the chunk that every run of the program loads. */
const COMMON = "common";

/** Loading fewer bytes than this in every run costs less than reading one more file in some. */
const SMALL_BYTES = 4096;

/**
 * Assigns the pieces of a program to chunks: as few as possible such that no chunk contains code that is not needed
 * when it is loaded, except small pieces, which are always loaded. esbuild splits more finely: it makes a piece for
 * each set of dynamic imports that share modules, even if these modules are in memory before such an import can run.
 *
 * Chunks never import each other in a circle. Pieces of one chunk have the same first loaders, so in every run they are
 * loaded at the same moment, and their dependencies are loaded then or earlier.
 *
 * @param firstName Name of the piece that the program starts with. It shares no file with others: a chunk would import
 *   that file by the name under which it was built, and run the program again if it was started under another name.
 * @returns Names of chunks by names of pieces, for every piece except the first and those that nothing loads: their
 *   importers were left out as unused.
 */
export function assignChunks({ outputs }: Metafile, firstName: string): Map<string, string> {
  const pieces = readPieces(outputs);
  const first = pieces.find(({ name }) => name === firstName);
  if (first === undefined) throw new Error(`the program has no piece ${firstName}`);
  assertDistinctNames(pieces);
  const others = pieces.filter((piece) => piece !== first);
  return new Map(
    others.flatMap((piece): [string, string][] => {
      const loaders = firstLoaders(piece, first);
      return loaders.length === 0 ? [] : [[piece.name, getChunk(piece, first, loaders)]];
    }),
  );
}

function getChunk(piece: Piece, first: Piece, loaders: readonly Piece[]): string {
  if (loaders.includes(first) || isSmall(piece, first)) return COMMON;
  return loaders.map(nameAfterModule).sort().join("+");
}

/**
 * The roots (the first piece, and the targets of dynamic imports) that can bring a piece into memory. Follows every
 * order in which roots can be loaded, each up to the first root that needs the piece.
 */
function firstLoaders(piece: Piece, first: Piece): Piece[] {
  const loaders: Piece[] = [];
  const roots = new Set([first]);
  // A loop over a set also visits what it adds.
  for (const root of roots) {
    if (root.closure.has(piece)) loaders.push(root);
    else for (const { loads } of root.closure) for (const target of loads) roots.add(target);
  }
  return loaders;
}

/** Whether a piece that roots share is small, and so is what it needs beyond the first piece's closure. */
function isSmall(piece: Piece, first: Piece): boolean {
  const needed = [...piece.closure].filter((other) => !first.closure.has(other));
  return needed.every(({ output: { bytes, entryPoint, imports } }) => {
    // Modules of Node can be far larger than their importers.
    const needsNode = imports.some(({ external }) => external);
    return bytes < SMALL_BYTES && entryPoint === undefined && !needsNode;
  });
}

/** `cli-serve` after the module `src/cli/serve.ts`, `endpoints-responses` after `src/endpoints/responses/index.ts`. */
function nameAfterModule({ name, output: { entryPoint = name } }: Piece): string {
  return entryPoint
    .replace(/^(.*\/)?(src|node_modules)\//, "")
    .replace(/(\/index)?\.\w+$/, "")
    .replaceAll("/", "-");
}

function assertDistinctNames(pieces: readonly Piece[]): void {
  const modules = new Map([[COMMON, "the common chunk"]]);
  for (const piece of pieces.filter(({ output }) => output.entryPoint !== undefined)) {
    const name = nameAfterModule(piece);
    const other = modules.get(name);
    if (other !== undefined)
      throw new Error(`${piece.output.entryPoint} and ${other} are both named ${name}`);
    modules.set(name, piece.output.entryPoint ?? "");
  }
}

function readPieces(outputs: Outputs): Piece[] {
  const pieces = new Map(Object.entries(outputs).map(([path, output]) => [path, emptyPiece(path, output)]));
  const imported = ({ output }: Piece, dynamic: boolean): Piece[] =>
    output.imports
      .filter(({ kind }) => (kind === "dynamic-import") === dynamic)
      .flatMap(({ path }) => pieces.get(path) ?? []);
  for (const piece of pieces.values()) {
    piece.loads.push(...imported(piece, true));
    for (const member of piece.closure)
      for (const needed of imported(member, false)) piece.closure.add(needed);
  }
  return [...pieces.values()];
}

function emptyPiece(path: string, output: Outputs[string]): Piece {
  const piece: Piece = { name: basename(path), output, closure: new Set(), loads: [] };
  piece.closure.add(piece);
  return piece;
}
