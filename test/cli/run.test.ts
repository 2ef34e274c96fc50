import { readFileSync } from "node:fs";
import { ConfigurationError, NetworkError } from "outrigger";
import { afterEach, describe, expect, it } from "vitest";
import { describeFailure } from "../../src/cli/describe-failure.ts";
import { nodeProblem } from "../../src/cli/version.ts";
import { providerApis, wireDefinitions } from "../../src/client/providers.ts";
import { killLeftovers, runHere, runOutrigger } from "./support/spawn-outrigger.ts";

const manifest: unknown = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));

afterEach(killLeftovers);

describe("outrigger", () => {
  it("prints its help", async () => {
    const { code, stdout, stderr } = await runOutrigger(["--help"]);
    expect([code, stderr]).toEqual([0, ""]);
    for (const text of ["outrigger demo", "OPENAI_API_KEY=sk-... outrigger serve", "Exit codes:"]) {
      expect(stdout).toContain(text);
    }
  });

  it("prints its version", async () => {
    const { version } = manifest as { version: string };
    expect(await runHere(["--version"])).toEqual({ code: 0, stdout: `outrigger ${version}\n`, stderr: "" });
  });

  it("refuses to run on a version of Node on which each call would fail", () => {
    expect(nodeProblem("20.20.2")).toBe("Node.js 24 or newer is needed, found 20.20.2");
    expect(nodeProblem("24.0.0")).toBeUndefined();
    expect(nodeProblem("100.1.0")).toBeUndefined();
  });

  it("names the mistake in a command line on stderr, and exits with 2", async () => {
    expect(await runOutrigger(["sevre"])).toEqual({
      code: 2,
      stdout: "",
      stderr: 'outrigger: unknown command "sevre"; did you mean "serve"?\nTry "outrigger --help".\n',
    });
  });

  it.each([
    ["serve", "--default-provider NAME", "OUTRIGGER_LISTEN"],
    ["demo", "--admin-listen ADDRESS", "any free port"],
    ["simulate", "--alias NAME=MODEL", "sim-text:status=429"],
    ["healthcheck", "--timeout DURATION", "Exit codes: 0 ready"],
  ])("prints the help of %s, for both forms of the command", async (command, ...texts) => {
    const asked = await runHere([command, "--help"]);
    expect([asked.code, asked.stderr]).toEqual([0, ""]);
    for (const text of texts) expect(asked.stdout).toContain(text);
    expect(await runHere(["help", command])).toEqual(asked);
  });

  it("lists the APIs and the variables of all providers in the help of serve", async () => {
    const { stdout } = await runHere(["serve", "--help"]);
    expect(stdout).toContain(`# One of ${providerApis.join(", ")}\n`);
    for (const { environment, baseUrl } of wireDefinitions) {
      const { provider, registeredBy, key, baseUrl: urls, texts = {} } = environment;
      for (const variable of [...registeredBy, ...key, ...urls, ...Object.keys(texts)])
        expect(stdout).toMatch(new RegExp(`\\b${variable}\\b`));
      expect(stdout).toContain(`registers the provider "${provider}"`);
      expect(stdout).toContain(baseUrl.default ?? "");
    }
  });

  it("prints the help on stderr without a command", async () => {
    const { code, stdout, stderr } = await runHere([]);
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toContain("Usage: outrigger <command>");
  });

  it.each([
    [["fly"], 'unknown command "fly"'],
    [["help", "dmo"], 'unknown command "dmo"'],
    [["--listen", ":1"], "expected a command before --listen"],
    [["serve", "--lsten", ":1"], 'unknown option --lsten; did you mean "--listen"?'],
    [["serve", "--listen"], "Option '--listen <value>' argument missing"],
    [["serve", "now"], "Unexpected argument 'now'"],
    [["simulate", "--port", "many"], '--port: expected a number from 0 to 65535, found "many"'],
    [["simulate", "--alias", "gpt"], '--alias: expected NAME=MODEL, found "gpt"'],
    [["simulate", "--port", "0", "--defaults", "speed=1"], "--defaults: "],
    [["healthcheck", "--timeout", "soon"], '--timeout: expected a duration such as "2s", found "soon"'],
  ])("rejects %j with exit code 2", async (args, message) => {
    const { code, stdout, stderr } = await runHere(args);
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr.startsWith(`outrigger: ${message}`), stderr).toBe(true);
    expect(stderr.endsWith('\nTry "outrigger --help".\n'), stderr).toBe(true);
    expect(stderr.trim().split("\n")).toHaveLength(2);
  });
});

describe("describeFailure()", () => {
  it("describes failures with a remedy for the user", () => {
    expect(describeFailure(new ConfigurationError("no key"), {})).toEqual({ message: "no key", code: 3 });
    expect(describeFailure(new NetworkError("refused"), {})).toEqual({ message: "refused", code: 1 });
    const busy = Object.assign(new Error("listen EADDRINUSE"), { code: "EADDRINUSE" });
    const violations = [{ field: "admin_listen", description: "is busy" }];
    expect(describeFailure(new ConfigurationError("busy", { cause: busy, violations }), {})).toEqual({
      message: "busy\nChoose one with --admin-listen ADDRESS.",
      code: 4,
    });
  });

  it("shows no stack unless details are asked for", () => {
    const { message, code } = describeFailure(new TypeError("x is undefined"), {});
    expect(code).toBe(1);
    expect(message).toBe(
      "unexpected failure: TypeError: x is undefined\nSet OUTRIGGER_LOG_LEVEL=debug to see the stack trace.",
    );
    const detailed = describeFailure(new TypeError("x is undefined"), { OUTRIGGER_LOG_LEVEL: "debug" });
    expect(detailed.message).toContain("run.test.ts");
  });
});
