import { readFileSync } from "node:fs";
import { afterEach, describe, expect, it } from "vitest";
import { killLeftovers, runOutrigger } from "./support/spawn-outrigger.ts";

const manifest: unknown = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));

afterEach(killLeftovers);

describe("outrigger", () => {
  it("explains itself", async () => {
    const { code, stdout, stderr } = await runOutrigger(["--help"]);
    expect([code, stderr]).toEqual([0, ""]);
    for (const text of ["outrigger demo", "OPENAI_API_KEY=sk-... outrigger serve", "Exit codes:"]) {
      expect(stdout).toContain(text);
    }
  });

  it.each([
    ["serve", "--default-provider NAME", "OUTRIGGER_LISTEN"],
    ["demo", "--admin-listen ADDRESS", "any free port"],
    ["simulate", "--alias NAME=MODEL", "sim-text:status=429"],
    ["healthcheck", "--timeout DURATION", "Exit codes: 0 ready"],
  ])("explains %s, in both ways of asking", async (command, ...texts) => {
    const asked = await runOutrigger([command, "--help"]);
    expect([asked.code, asked.stderr]).toEqual([0, ""]);
    for (const text of texts) expect(asked.stdout).toContain(text);
    expect(await runOutrigger(["help", command])).toEqual(asked);
  });

  it("tells its version", async () => {
    const { version } = manifest as { version: string };
    expect(await runOutrigger(["--version"])).toEqual({
      code: 0,
      stdout: `outrigger ${version}\n`,
      stderr: "",
    });
  });

  it("shows the help on stderr where it is told nothing", async () => {
    const { code, stdout, stderr } = await runOutrigger([]);
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toContain("Usage: outrigger <command>");
  });

  it.each([
    [["sevre"], 'unknown command "sevre"; did you mean "serve"?'],
    [["fly"], 'unknown command "fly"'],
    [["--listen", ":1"], "expected a command before --listen"],
    [["serve", "--lsten", ":1"], 'unknown option --lsten; did you mean "--listen"?'],
    [["serve", "--listen"], "Option '--listen <value>' argument missing"],
    [["serve", "now"], "Unexpected argument 'now'"],
    [["simulate", "--port", "many"], '--port: expected a number from 0 to 65535, found "many"'],
    [["simulate", "--alias", "gpt"], '--alias: expected NAME=MODEL, found "gpt"'],
    [["simulate", "--port", "0", "--defaults", "speed=1"], "--defaults: "],
    [["healthcheck", "--timeout", "soon"], '--timeout: expected a duration such as "2s", found "soon"'],
  ])("refuses %j with exit code 2", async (args, message) => {
    const { code, stdout, stderr } = await runOutrigger(args);
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr.startsWith(`outrigger: ${message}`), stderr).toBe(true);
    expect(stderr.endsWith('\nTry "outrigger --help".\n'), stderr).toBe(true);
    expect(stderr.trim().split("\n")).toHaveLength(2);
  });
});
