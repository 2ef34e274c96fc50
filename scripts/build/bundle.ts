/**
 * Bundles a program's modules into CommonJS files, without the code that a sidecar never runs: a small file to start
 * it, and chunks beside it that are loaded on demand.
 *
 * CommonJS, because Node starts it in a third of the time of unbundled ES modules. esbuild splits code into ES modules
 * only, so there are two passes. The first leaves out unused exports and splits the program at its dynamic imports. The
 * second joins the pieces that belong together (chunks.ts) and writes each file as CommonJS, in which a dynamic import
 * becomes a `require` that runs later.
 */
import { mkdir, writeFile } from "node:fs/promises";
import { basename, dirname, join, relative } from "node:path";
import { type BuildOptions, build, type Plugin } from "esbuild";
import { assignChunks } from "./chunks.ts";
import { slim } from "./slim.ts";

/** One file of a program. */
export interface BundleFile {
  /** Path of the file, below the folder of the program. */
  readonly path: string;
  /** CommonJS for Node 24. ASCII. */
  readonly text: string;
  /** Paths of the modules that it has code of. */
  readonly modules: readonly string[];
}

/** An output of the first pass: an ES module that imports others by name. */
interface Piece {
  readonly name: string;
  readonly id: number;
  readonly text: string;
  /** Names that it exports. */
  readonly exports: readonly string[];
  readonly modules: readonly string[];
  /** Path of the file that it goes to. */
  readonly file: string;
}

/** Folder of the chunks, beside the file that starts the program. */
const CHUNKS = "chunks";

/**
 * Modules are strict, CommonJS is not unless it says so, and esbuild does not say it. In sloppy mode `this` of a method
 * that is called on a string is an object, which CEL's string functions do not take.
 */
const STRICT = '"use strict";';

const OPTIONS = {
  bundle: true,
  write: false,
  platform: "node",
  target: "node24",
  legalComments: "none",
  logLevel: "warning",
} as const satisfies BuildOptions;

/**
 * Bundles a program.
 * @param entryPoint Path of its first module.
 * @param startFile Name of the file that starts it. The others are in a folder `chunks` beside it.
 */
export async function bundleProgram(entryPoint: string, startFile: string): Promise<BundleFile[]> {
  const pieces = await split(entryPoint, startFile);
  const files = [...new Set(pieces.map(({ file }) => file))].sort();
  return Promise.all(files.map((file) => joinPieces(file, startFile, pieces)));
}

/** Writes a program to a folder. */
export async function writeBundle(files: readonly BundleFile[], folder: string): Promise<void> {
  await mkdir(join(folder, CHUNKS), { recursive: true });
  await Promise.all(files.map(({ path, text }) => writeFile(join(folder, path), text)));
}

async function split(entryPoint: string, startFile: string): Promise<Piece[]> {
  const { outputFiles, metafile } = await build({
    ...OPTIONS,
    entryPoints: [entryPoint],
    outdir: "pieces",
    format: "esm",
    splitting: true,
    metafile: true,
    plugins: [slim],
    // undici's switch for a bundle without its experimental second HTTP parser.
    define: { esbuildDetection: "true" },
  });
  const first = `${basename(entryPoint, ".ts")}.js`;
  const chunks = assignChunks(metafile, first);
  const texts = new Map(outputFiles.map(({ path, text }) => [basename(path), text]));
  return Object.entries(metafile.outputs).flatMap(([path, { inputs, exports }], id) => {
    const name = basename(path);
    const chunk = chunks.get(name);
    if (chunk === undefined && name !== first) return [];
    const modules = Object.keys(inputs).filter((module) => inputs[module]?.bytesInOutput !== 0);
    const file = chunk === undefined ? startFile : `${CHUNKS}/${chunk}.cjs`;
    return { name, id, text: texts.get(name) ?? "", exports, modules, file };
  });
}

async function joinPieces(file: string, startFile: string, pieces: readonly Piece[]): Promise<BundleFile> {
  const members = pieces.filter((piece) => piece.file === file);
  const { outputFiles } = await build({
    ...OPTIONS,
    stdin: { contents: file === startFile ? joinTexts(members) : exportPieces(members) },
    format: "cjs",
    minify: true,
    banner: { js: STRICT },
    plugins: [linkPieces(file, pieces)],
  });
  const text = joinTexts(outputFiles);
  assertAscii(file, text);
  return { path: file, text, modules: members.flatMap(({ modules }) => modules) };
}

/** The first module of a chunk. Two pieces can export the same name, so each export gets another one. */
function exportPieces(members: readonly Piece[]): string {
  const lines = members.map((piece) => {
    const names = piece.exports.map((name, index) => `${name} as ${nameInChunk(piece, index)}`);
    return `export { ${names.join(", ")} } from "./${piece.name}";`;
  });
  return lines.join("\n");
}

/** Returns the code that stands for a piece that is in another chunk. */
function importFromChunk(piece: Piece, file: string): string {
  const names = piece.exports.map((name, index) => `${nameInChunk(piece, index)} as ${name}`);
  return `export { ${names.join(", ")} } from "./${relative(dirname(file), piece.file)}";`;
}

function nameInChunk({ id }: Piece, index: number): string {
  return `piece${id}_${index}`;
}

/** Resolves imports between pieces: of the same file to their texts, of others to their chunks. */
function linkPieces(file: string, pieces: readonly Piece[]): Plugin {
  const byName = new Map(pieces.map((piece) => [piece.name, piece]));
  return {
    name: "link-pieces",
    setup({ onResolve, onLoad }) {
      onResolve({ filter: /\.cjs$/ }, ({ path }) => ({ path, external: true }));
      onResolve({ filter: /\.js$/ }, ({ path }) => ({ path: basename(path), namespace: "piece" }));
      onLoad({ filter: /./, namespace: "piece" }, ({ path: name }) => {
        const piece = byName.get(name);
        if (piece === undefined) return undefined;
        return { contents: piece.file === file ? piece.text : importFromChunk(piece, file) };
      });
    },
  };
}

function joinTexts(files: readonly { readonly text: string }[]): string {
  return files.map(({ text }) => text).join("");
}

/** V8 keeps a program for as long as it runs, at two bytes a character if any character is beyond Latin-1. */
function assertAscii(file: string, text: string): void {
  const [found] = /.{0,40}[^\0-\x7f].{0,20}/.exec(text) ?? [];
  if (found === undefined) return;
  throw new Error(
    `${file} is not ASCII: write ${JSON.stringify(found)} with escapes (esbuild does it in strings)`,
  );
}
