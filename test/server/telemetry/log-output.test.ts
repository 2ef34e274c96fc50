import { closeSync, openSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createLogOutput, type LogOutput, MAX_WAITING } from "../../../src/server/telemetry/log-output.ts";

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "outrigger-log-"));
});

afterEach(() => rm(folder, { recursive: true }));

function flushed(output: LogOutput): Promise<void> {
  return new Promise((resolve) => output.flush(resolve));
}

describe("createLogOutput()", () => {
  it("writes all lines in order", async () => {
    const path = join(folder, "log");
    const fd = openSync(path, "w");
    const output = createLogOutput(fd);
    const lines = Array.from({ length: 5000 }, (_, index) => `{"line":${index}}\n`);
    for (const line of lines) output.write(line);
    await flushed(output);
    expect(await readFile(path, "utf8")).toBe(lines.join(""));
    expect(output.droppedLines).toBe(0);
    closeSync(fd);
  });

  it("writes a single line without a flush", async () => {
    const path = join(folder, "log");
    const fd = openSync(path, "w");
    createLogOutput(fd).write("alone\n");
    await expect.poll(() => readFile(path, "utf8")).toBe("alone\n");
    closeSync(fd);
  });

  it("counts each line of a write that failed", async () => {
    const fd = openSync("/dev/full", "w");
    const output = createLogOutput(fd);
    for (let line = 0; line < 7; line += 1) output.write("lost\n");
    await flushed(output);
    expect(output.droppedLines).toBe(7);
    closeSync(fd);
  });

  it("drops lines that exceed its buffer within one turn of the event loop", async () => {
    const fd = openSync(join(folder, "log"), "w");
    const output = createLogOutput(fd);
    const line = `${"x".repeat(1023)}\n`;
    for (let index = 0; index < 3 * (MAX_WAITING / 1024); index += 1) output.write(line);
    expect(output.droppedLines).toBeGreaterThan(MAX_WAITING / 1024);
    await flushed(output);
    closeSync(fd);
  });
});
