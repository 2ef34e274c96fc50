import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";

const PROGRAM = `
  setTimeout(() => console.log(JSON.stringify([Date.now(), new Date().getTime(), new Date(5).getTime()])), 500);
`;

it("shifts the clock of a process by the milliseconds in its file", () => {
  const folder = mkdtempSync(join(tmpdir(), "outrigger-clock-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "clock");
  writeFileSync(file, "-3600000");
  const preload = new URL("./clock.ts", import.meta.url);
  preload.searchParams.set("file", file);
  const printed = execFileSync(process.execPath, ["--import", preload.href, "-e", PROGRAM], {
    encoding: "utf8",
  });
  const [now, constructed, fixed] = JSON.parse(printed);
  for (const shifted of [now, constructed]) {
    expect(shifted).toBeLessThan(Date.now() - 3_590_000);
    expect(shifted).toBeGreaterThan(Date.now() - 3_700_000);
  }
  expect(fixed).toBe(5);
});
