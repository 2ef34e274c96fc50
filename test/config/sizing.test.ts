/** The sizing table of docs/deploy.md has the values that the code computes. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { getDefaultMemorySize } from "../../src/config/runs.ts";
import {
  ANSWER_WEIGHT,
  getMaxAnswerBytes,
  getMemoryLimits,
  MemoryAccount,
  READ_WEIGHT,
  RUN_ANSWER_WEIGHT,
} from "../../src/core/memory-account.ts";
import { getHeapLimits } from "../../src/server/base/limits.ts";

const MIB = 1024 * 1024;

/** The memory that V8 needs for the young generation alongside the old one, with the semi-space size of the image. */
const YOUNG_GENERATION_MIB = 12;

const CONTAINERS_MIB = [256, 512, 1024, 2048, 4096];

const page = readFileSync(new URL("../../docs/deploy.md", import.meta.url), "utf8");

function toMib(bytes: number): string {
  return String(Math.floor(bytes / MIB));
}

/** A row of the table, for a container with the settings of the image. */
function createRow(containerMib: number): string {
  const heapBytes = (containerMib / 2 + YOUNG_GENERATION_MIB) * MIB;
  const limits = getMemoryLimits(heapBytes);
  const account = new MemoryAccount({ heapBytes });
  const cells = [
    containerMib,
    toMib(limits.maxRequestMemoryBytes),
    toMib(getMaxAnswerBytes(limits)),
    toMib(account.answers.maxBytes / ANSWER_WEIGHT),
    toMib(account.answers.maxBytes / RUN_ANSWER_WEIGHT),
    toMib(limits.maxHistoryMemoryBytes),
    toMib(account.reads.maxBytes / READ_WEIGHT),
    toMib(limits.maxKeptMemoryBytes),
    toMib(getDefaultMemorySize(heapBytes)),
    getHeapLimits(heapBytes).maxCalls,
  ];
  return `| ${cells.join(" | ")} |`;
}

describe("the sizing table", () => {
  it.each(CONTAINERS_MIB)("has the limits of a container of %i MiB", (containerMib) => {
    expect(page).toContain(createRow(containerMib));
  });
});
