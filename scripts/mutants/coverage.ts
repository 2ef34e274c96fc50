/** Finds out which blocks of source files a test executes, so that mutants elsewhere are not tried against it. */
import { parseAst } from "vitest/node";
import type { Mutant } from "./operators.ts";

/** Environment variable with the file to which instrumented source files append the blocks that run. */
export const COVERAGE_FILE = "OUTRIGGER_MUTANTS_COVERAGE";

interface Block {
  readonly start: number;
  readonly end: number;
}

/** Returns a source file that reports each of its blocks when it first runs. Lines keep their numbers. */
export function instrument(file: string, text: string): string {
  let instrumented = text;
  for (const { start } of listBlocks(text).reverse()) {
    const at = start + 1;
    instrumented = `${instrumented.slice(0, at)} __reportBlock(${start}); ${instrumented.slice(at)}`;
  }
  return createPreamble(file) + instrumented;
}

/** Functions and variables are hoisted, since blocks may run before a module in a circle of imports is evaluated. */
function createPreamble(file: string): string {
  return [
    `import { appendFileSync as __appendBlock } from "node:fs";`,
    `var __reportedBlocks;`,
    `function __reportBlock(start) {`,
    `  __reportedBlocks ??= new Set();`,
    `  if (__reportedBlocks.has(start)) return;`,
    `  __reportedBlocks.add(start);`,
    `  const path = process.env.${COVERAGE_FILE};`,
    `  if (path) __appendBlock(path, ${JSON.stringify(file)} + ":" + start + "\\n");`,
    `} `,
  ].join("");
}

/** Names the innermost block of a mutant as instrumented files report it. Undefined outside of all blocks. */
export function getBlock({ file, start, end }: Mutant, text: string): string | undefined {
  const around = listBlocks(text).filter((block) => block.start < start && end < block.end);
  const innermost = around.at(-1);
  return innermost && `${file}:${innermost.start}`;
}

/** Blocks of statements, those of functions included, in the order in which they begin. */
function listBlocks(text: string): Block[] {
  const blocks: Block[] = [];
  const waiting: unknown[] = [parseAst(text, { lang: "ts" })];
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    if (typeof node !== "object" || node === null) continue;
    if (isBlock(node)) blocks.push({ start: node.start, end: node.end });
    waiting.push(...Object.values(node));
  }
  return blocks.sort((a, b) => a.start - b.start);
}

function isBlock(node: object): node is Block {
  return "type" in node && node.type === "BlockStatement";
}
