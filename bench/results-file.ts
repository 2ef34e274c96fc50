/**
 * RESULTS.md: the report of run.ts, and behind it a section for each program that measures one step by itself. A
 * comment before a section names its program.
 */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { PROJECT_FOLDER } from "./work-folder.ts";

const FILE = join(PROJECT_FOLDER, "bench/RESULTS.md");

const BEFORE_SECTION = /^(?=<!-- node bench\/)/m;

/** Replaces the report of run.ts. */
export async function writeReport(report: string): Promise<void> {
  const [, ...sections] = await readParts();
  await writeParts([report, ...sections]);
}

/** Replaces the section of a program, or adds it. */
export async function writeSection(program: string, section: string): Promise<void> {
  const marker = `<!-- node bench/${program} -->`;
  const others = (await readParts()).filter((part) => !part.startsWith(marker));
  await writeParts([...others, `${marker}\n\n${section}`]);
}

async function readParts(): Promise<string[]> {
  return (await readFile(FILE, "utf8")).split(BEFORE_SECTION);
}

function writeParts(parts: readonly string[]): Promise<void> {
  return writeFile(FILE, `${parts.map((part) => part.trimEnd()).join("\n\n")}\n`);
}
