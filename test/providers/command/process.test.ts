import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  AbortError,
  ConfigurationError,
  RateLimitError,
  RequestTimeoutError,
  ServerError,
  StreamError,
} from "../../../src/core/errors.ts";
import { textOf, userMessage } from "../../../src/core/message.ts";
import { imagePart, textPart } from "../../../src/core/parts.ts";
import { jsonSchema } from "../../../src/core/response-format.ts";
import { CommandAdapter } from "../../../src/providers/command/adapter.ts";
import { waitUntil } from "../../kit/http/servers.ts";
import { failedStream, getAdapter, getEvents, isAlive, testFolder, toRequest } from "./programs.ts";

/** The number that a program has written to a file. */
async function pidIn(path: string): Promise<number> {
  await waitUntil(() => existsSync(path) && readFileSync(path, "utf8").endsWith("\n"));
  return Number(readFileSync(path, "utf8"));
}

function temporaryFolders(): string[] {
  return readdirSync(tmpdir()).filter((name) => name.startsWith("outrigger-command-"));
}

describe("a program", () => {
  it("gets the prompt over its standard input, and its output is the answer", async () => {
    const adapter = await getAdapter(`print("You said: " + input());`);
    const response = await adapter.complete(toRequest());
    expect(textOf(response)).toBe("You said: Say hello.");
    expect(response).toMatchObject({
      provider: "local",
      model: "m-1",
      finishReason: { raw: "exit status 0" },
    });
  });

  it("is streamed as it writes", async () => {
    const file = join(await testFolder(), "go-on");
    const adapter = await getAdapter(`
      print("one ");
      while (!existsSync(${JSON.stringify(file)})) await sleep(5);
      print("thrée");`);
    const deltas: string[] = [];
    for await (const { event } of adapter.stream(toRequest())) {
      if (event.case !== "textDelta") continue;
      deltas.push(event.value.delta);
      writeFileSync(file, "");
    }
    expect(deltas).toEqual(["one ", "thrée"]);
  });

  it("obeys the laws of a stream", async () => {
    const adapter = await getAdapter(`print("one "); await sleep(20); print("two");`);
    const events = await getEvents(adapter);
    expect(events.at(-1)?.event.case).toBe("finish");
  });

  it("gets nothing of the sidecar's environment, and runs in an empty folder that is removed afterwards", async () => {
    process.env.OUTRIGGER_TEST_SECRET = "secret";
    const script = `print(JSON.stringify({ env: process.env, cwd: process.cwd(), files: (await import("node:fs")).readdirSync(".") }));`;
    const adapter = await getAdapter(script, { environment: { CODEX_HOME: "/var/lib/x" } });
    const seen = JSON.parse(textOf(await adapter.complete(toRequest())));
    delete process.env.OUTRIGGER_TEST_SECRET;
    expect(Object.keys(seen.env).sort()).toEqual(["CODEX_HOME", "HOME", "LANG", "PATH"]);
    expect(seen.env.HOME).toBe(seen.cwd);
    expect(seen.files).toEqual([]);
    await waitUntil(() => !existsSync(seen.cwd));
  });

  it("gets images and the schema as files, which are removed afterwards", async () => {
    const script = `
      const [image, schema] = process.argv.slice(2);
      print(JSON.stringify({ image, bytes: [...readFileSync(image)], schema: readFileSync(schema, "utf8"), cwd: process.cwd() }));`;
    const folder = await testFolder();
    const adapter = await getAdapter(script, {
      command: ["{images}", "{schema}"],
      images: ["{file}"],
      schema: ["{file}"],
      folder,
    });
    expect(adapter.supportsJsonSchema()).toBe(true);
    const responseFormat = jsonSchema("thing", { type: "object" });
    const messages = [userMessage([imagePart(new Uint8Array([1, 2, 3])), textPart("What?")])];
    const response = await adapter.complete(toRequest({ messages, responseFormat }));
    const seen = JSON.parse(textOf(response));
    expect(seen).toMatchObject({ bytes: [1, 2, 3], schema: responseFormat.schemaJson, cwd: folder });
    await waitUntil(() => !existsSync(dirname(seen.image)));
  });

  it("runs in the folder of the configuration, which stays", async () => {
    const folder = await testFolder();
    const adapter = await getAdapter("print(process.cwd());", { folder });
    expect(textOf(await adapter.complete(toRequest()))).toBe(folder);
    expect(existsSync(folder)).toBe(true);
  });

  it("gets the prompt as its last argument, which is never an option", async () => {
    const adapter = await getAdapter("print(JSON.stringify(process.argv.slice(2)) + input());", {
      prompt: "argument",
      command: ["--model", "{model}"],
    });
    const request = toRequest({
      messages: [{ role: 2, content: [{ part: { case: "text", value: "--help; $(id)" } }] }],
    });
    expect(textOf(await adapter.complete(request))).toBe('["--model","m-1","--","--help; $(id)"]');
  });

  it("need not read its input", async () => {
    const adapter = await getAdapter(`process.stdin.destroy(); print("done");`);
    const value = "x".repeat(5_000_000);
    const request = toRequest({ messages: [{ role: 2, content: [{ part: { case: "text", value } }] }] });
    expect(textOf(await adapter.complete(request))).toBe("done");
  });

  it("writes a large answer without loss while its reader is slow", async () => {
    const adapter = await getAdapter(`for (let i = 0; i < 64; i += 1) print(String(i % 10).repeat(65536));`);
    let length = 0;
    for await (const batch of adapter.stream(toRequest()).batches()) {
      for (const { event } of batch) if (event.case === "textDelta") length += event.value.delta.length;
      if (length < 500_000) await new Promise((resolve) => setTimeout(resolve, 200));
    }
    expect(length).toBe(64 * 65536);
  });

  it("whose output is held open by a process that it leaves behind ends when it exits", async () => {
    const folder = await testFolder();
    const file = join(folder, "pid");
    const script = `
      const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"], { stdio: "inherit" });
      writeFileSync(${JSON.stringify(file)}, child.pid + "\\n");
      print("answer");
      child.unref();
      process.exit(0);`;
    const adapter = await getAdapter(script);
    expect(textOf(await adapter.complete(toRequest()))).toBe("answer");
    const pid = await pidIn(file);
    await waitUntil(() => !isAlive(pid));
  });

  it("whose output is held open by a process of another group ends as well", async () => {
    const folder = await testFolder();
    const file = join(folder, "pid");
    const script = `
      const idle = "setTimeout(() => {}, 20000)";
      const child = spawn(process.execPath, ["-e", idle], { stdio: "inherit", detached: true });
      writeFileSync(${JSON.stringify(file)}, child.pid + "\\n");
      print("answer");
      process.exit(0);`;
    const adapter = await getAdapter(script);
    expect(textOf(await adapter.complete(toRequest()))).toBe("answer");
    process.kill(await pidIn(file), "SIGKILL");
  });
});

describe("a program that fails", () => {
  it("is an error of the provider, with the last line that it wrote to standard error", async () => {
    const adapter = await getAdapter(
      `print("half an"); console.error("starting\\nnot logged in"); process.exitCode = 3;`,
    );
    const { cases, error } = await failedStream(adapter);
    expect(cases.at(-1)).toBe("error");
    expect(cases).not.toContain("finish");
    expect(error).toBeInstanceOf(ServerError);
    expect(error).toMatchObject({
      message: "local reported a failure (exit status 3): not logged in",
      provider: "local",
      outputStarted: true,
      retryable: true,
    });
    await expect(adapter.complete(toRequest())).rejects.toMatchObject({ errorCode: "exit status 3" });
  });

  it("does not repeat the prompt or the secrets of its environment", async () => {
    const environment = { API_KEY: "very-secret-value" };
    const echo = await getAdapter(`console.error("cannot handle: " + input()); process.exit(1);`);
    await expect(echo.complete(toRequest())).rejects.toThrow(/repeats the prompt and was left out/);
    const leak = await getAdapter(`console.error("bad key " + process.env.API_KEY); process.exit(1);`, {
      environment,
    });
    await expect(leak.complete(toRequest())).rejects.toThrow(/bad key \(key\)$/);
    const raw = leak.complete(toRequest({ includeRaw: true }));
    await expect(raw).rejects.toMatchObject({ rawJson: expect.not.stringContaining("very-secret") });
  });

  it("is an error if a signal ends it in the middle of a line", async () => {
    const adapter = await getAdapter(
      `print('{"text":"cut of'); await sleep(50); process.kill(process.pid, "SIGKILL");`,
      {
        format: "json-lines",
      },
    );
    const { cases, error } = await failedStream(adapter).catch((thrown) => ({ cases: [], error: thrown }));
    expect(cases).not.toContain("finish");
    expect(error).toMatchObject({ errorCode: "SIGKILL" });
    await expect(adapter.complete(toRequest())).rejects.toMatchObject({ errorCode: "SIGKILL" });
  });

  it("is a broken stream if its output ends within a character", async () => {
    const adapter = await getAdapter(`process.stdout.write(Buffer.from("caf\\u00e9").subarray(0, 4));`);
    const { cases, error } = await failedStream(adapter);
    expect(cases).not.toContain("finish");
    expect(error).toBeInstanceOf(StreamError);
  });

  it("is an error of the configuration if it cannot be started", async () => {
    const adapter = new CommandAdapter({ command: ["/nowhere/at-all"], format: "text", name: "gone" });
    await expect(adapter.complete(toRequest())).rejects.toMatchObject({
      message: "the program of provider gone cannot be started (ENOENT)",
    });
    await expect(adapter.complete(toRequest())).rejects.toBeInstanceOf(ConfigurationError);
  });

  it("is ended if its answer is too large", async () => {
    const folder = await testFolder();
    const file = join(folder, "pid");
    const script = `writeFileSync(${JSON.stringify(file)}, process.pid + "\\n"); for (;;) { print("x".repeat(65536)); await sleep(1); }`;
    const adapter = await getAdapter(script, { answerLimits: { maxBytes: 1_000_000 } });
    const { error } = await failedStream(adapter);
    expect(error).toMatchObject({ message: expect.stringContaining("max_answer_bytes"), retryable: false });
    const pid = await pidIn(file);
    await waitUntil(() => !isAlive(pid));
  });
});

describe("a program that takes too long", () => {
  it("is stopped at the time limit of the call, and at that between bytes", async () => {
    const slow = await getAdapter(`for (;;) { print("."); await sleep(20); }`, {
      timeouts: { requestMs: 700 },
    });
    const { cases, error } = await failedStream(slow);
    expect(cases).toContain("textDelta");
    expect(error).toBeInstanceOf(RequestTimeoutError);
    const silent = await getAdapter(`print("."); await sleep(20000);`, { timeouts: { betweenBytesMs: 500 } });
    await expect(silent.complete(toRequest())).rejects.toThrow(/wrote nothing for 500 ms/);
  });

  it("is ended with all that it started when the caller cancels, even if it ignores SIGTERM", async () => {
    const folder = await testFolder();
    const [first, other] = [join(folder, "first"), join(folder, "other")];
    const before = temporaryFolders();
    const script = `
      process.on("SIGTERM", () => {});
      const child = spawn(process.execPath, ["-e", "process.on('SIGTERM', () => {}); setInterval(() => {}, 1000)"]);
      writeFileSync(${JSON.stringify(first)}, process.pid + "\\n");
      writeFileSync(${JSON.stringify(other)}, child.pid + "\\n");
      print("begun");
      setInterval(() => {}, 1000);`;
    const adapter = await getAdapter(script);
    const controller = new AbortController();
    const failure = failedStream(adapter, toRequest(), controller.signal);
    const pids = [await pidIn(first), await pidIn(other)];
    controller.abort();
    expect((await failure).error).toBeInstanceOf(AbortError);
    await waitUntil(() => pids.every((pid) => !isAlive(pid)));
    await waitUntil(() => temporaryFolders().length <= before.length);
  });

  it("is ended when its stream is left", async () => {
    const file = join(await testFolder(), "pid");
    const script = `writeFileSync(${JSON.stringify(file)}, process.pid + "\\n"); for (;;) { print("."); await sleep(10); }`;
    const adapter = await getAdapter(script);
    for await (const { event } of adapter.stream(toRequest())) if (event.case === "textDelta") break;
    const pid = await pidIn(file);
    await waitUntil(() => !isAlive(pid));
  });

  it("is ended when the adapter is closed", async () => {
    const file = join(await testFolder(), "pid");
    const adapter = await getAdapter(
      `writeFileSync(${JSON.stringify(file)}, process.pid + "\\n"); await sleep(20000);`,
    );
    const waiting = adapter.complete(toRequest()).catch((error: unknown) => error);
    const pid = await pidIn(file);
    await adapter.close();
    expect(await waiting).toBeInstanceOf(AbortError);
    expect(isAlive(pid)).toBe(false);
  });

  it("leaves no folder behind if the adapter is closed right after its answer", async () => {
    const adapter = await getAdapter("print(process.cwd());");
    const folder = textOf(await adapter.complete(toRequest()));
    await adapter.close();
    expect(existsSync(folder)).toBe(false);
  });

  it("is not started for a call that is cancelled already", async () => {
    const file = join(await testFolder(), "pid");
    const adapter = await getAdapter(`writeFileSync(${JSON.stringify(file)}, "x");`);
    const signal = AbortSignal.abort();
    await expect(adapter.complete(toRequest(), { signal })).rejects.toBeInstanceOf(AbortError);
    expect(existsSync(file)).toBe(false);
  });
});

describe("the limit of processes", () => {
  it("refuses a call that is one too many, and takes the next when one has ended", async () => {
    const adapter = await getAdapter(`await sleep(400); print("done");`, { maxProcesses: 2 });
    const running = [adapter.complete(toRequest()), adapter.complete(toRequest())];
    const refused = await adapter.complete(toRequest()).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(RateLimitError);
    expect(refused).toMatchObject({
      message: "local already runs 2 programs, the limit set by max_processes",
      retryable: true,
      retryAfter: 1,
    });
    await Promise.all(running);
    expect(textOf(await adapter.complete(toRequest()))).toBe("done");
  });
});

describe("a command", () => {
  const toProblem = (options: Partial<ConstructorParameters<typeof CommandAdapter>[0]>) => () =>
    new CommandAdapter({ command: ["/bin/cat"], format: "text", ...options });

  it("is refused if it cannot work", () => {
    expect(toProblem({ command: [] })).toThrow(/absolute path/);
    expect(toProblem({ command: ["cat"] })).toThrow(/absolute path/);
    expect(toProblem({ command: ["/bin/cat", "{prompt}"] })).toThrow(
      /has \{prompt\}; expected \{model\} or \{effort\}/,
    );
    expect(toProblem({ command: ["/bin/cat", "{effort}"] })).toThrow(
      /needs \{effort\} if efforts are configured/,
    );
    expect(toProblem({ efforts: { low: ["-l"] } })).toThrow(/needs \{effort\}/);
    expect(toProblem({ maxProcesses: 0 })).toThrow(/maxProcesses is 0/);
    expect(toProblem({ localOnly: true })).toThrow(/set `local: true`/);
    expect(toProblem({ localOnly: true, local: true })).not.toThrow();
    expect(toProblem({ timeouts: { requestMs: -1 } })).toThrow(/requestMs/);
  });
});
