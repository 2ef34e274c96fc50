import { readdirSync, readFileSync } from "node:fs";
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { type SimulatorLogLine, startSimulator } from "../../simulator/index.ts";
import { ask, post, textOf } from "./support.ts";

/** Timers and sockets of this process. */
function resources(): string[] {
  return process.getActiveResourcesInfo().filter((name) => /Timeout|TCP|Server|Immediate/.test(name));
}

async function untilReleased(before: readonly string[]): Promise<void> {
  for (let tries = 0; tries < 1000 && resources().length > before.length; tries += 1) await sleep(10);
}

describe("startSimulator()", () => {
  it("rejects when the port is taken", async () => {
    const first = await startSimulator();
    const port = Number(new URL(first.url).port);
    await expect(startSimulator({ port })).rejects.toMatchObject({ code: "EADDRINUSE" });
    await first.close();
  });

  it("rejects defaults that are not options", async () => {
    await expect(startSimulator({ defaults: "speed=3" })).rejects.toThrow("Unknown option 'speed'");
  });

  it("answers under aliases, with default options", async () => {
    const simulator = await startSimulator({
      aliases: { "gpt-5.6": "sim-echo" },
      defaults: "status=500,times=1",
    });
    expect((await post(simulator, { model: "gpt-5.6", input: "Hello" })).status).toBe(500);
    const response = await ask(simulator, { model: "gpt-5.6", input: "Hello" });
    expect(textOf(response)).toBe("Hello");
    expect(response).toMatchObject({ model: "gpt-5.6" });
    await simulator.close();
  });

  it("gives the same ids in each simulator", async () => {
    const ids: string[] = [];
    for (let each = 0; each < 2; each += 1) {
      const simulator = await startSimulator();
      const { id, output } = await ask(simulator, { model: "sim-text", input: "Hello" });
      ids.push(`${id} ${output[0]?.id}`);
      await simulator.close();
    }
    expect(ids[0]).toBe(ids[1]);
  });
});

describe("the log", () => {
  it("has a line for each request, without prompts and answers", async () => {
    const lines: SimulatorLogLine[] = [];
    const simulator = await startSimulator({ log: (line) => void lines.push(line) });
    await (await post(simulator, { model: "sim-text", input: "a secret question", stream: true })).text();
    await post(simulator, { model: "sim-text:drop=1", input: "x" }).catch(() => undefined);
    await simulator.waitForClose({ where: ({ number }) => number === 2 });
    expect(lines).toMatchObject([
      {
        method: "POST",
        path: "/v1/responses",
        model: "sim-text",
        status: 200,
        outcome: "answered",
        format: "openai-responses",
      },
      { model: "sim-text:drop=1", status: 0, outcome: "fault", events: 0 },
    ]);
    expect(JSON.stringify(lines)).not.toContain("secret");
    await simulator.close();
  });
});

describe("close()", () => {
  it("ends streams of every kind and leaves no open resources", async () => {
    const before = resources();
    const simulator = await startSimulator();
    const models = [
      "sim-text:stall_after=2",
      "sim-long:tokens=9999,rate=20",
      "sim-text:trickle_ms=50",
      "sim-text:stall_after=0,keepalive_ms=30",
    ];
    const answers = await Promise.all(
      models.map((model) => post(simulator, { model, input: "x", stream: true })),
    );
    const late = post(simulator, { model: "sim-text:delay_ms=60000", input: "x" });
    const bodies = [...answers.map((answer) => answer.text()), late];
    await simulator.waitForRequest({ where: ({ number }) => number === 5 });
    const waiting = simulator.waitForRequest({ where: () => false });
    const settled = Promise.allSettled([...bodies, waiting]);
    await simulator.close();
    expect((await settled).map((each) => each.status)).toEqual(Array.from({ length: 6 }, () => "rejected"));
    expect(simulator.requests.map((request) => [request.aborted, request.closedAt !== undefined])).toEqual(
      Array.from({ length: 5 }, () => [false, true]),
    );
    await untilReleased(before);
    expect(resources().length).toBeLessThanOrEqual(before.length);
  });
});

describe("a caller that disconnects during the upload", () => {
  it("is logged as a disconnected caller", async () => {
    const simulator = await startSimulator();
    const { hostname, port } = new URL(simulator.url);
    const socket = connect(Number(port), hostname);
    socket.write("POST /v1/responses HTTP/1.1\r\nhost: x\r\ncontent-length: 1000\r\n\r\n{");
    await sleep(20);
    socket.destroy();
    expect(await simulator.waitForClose()).toMatchObject({ aborted: true, status: undefined });
    await simulator.close();
  });
});

describe("the sources", () => {
  it("import nothing of the project but themselves and the types of the wire formats", () => {
    const root = new URL("../../simulator/", import.meta.url);
    const imports = readdirSync(root, { recursive: true, encoding: "utf8" })
      .filter((file) => file.endsWith(".ts"))
      .flatMap((file) => {
        const text = readFileSync(new URL(file, root), "utf8");
        return [...text.matchAll(/from "([^"]+)"/g)].map(
          ([, target = ""]) => new URL(target, new URL(file, root)).href,
        );
      });
    expect(imports.length).toBeGreaterThan(50);
    const allowed = ["node:", root.href, new URL("../src/wire/", root).href];
    expect(imports.filter((target) => !allowed.some((start) => target.startsWith(start)))).toEqual([]);
  });
});
