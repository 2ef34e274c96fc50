import { setTimeout } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { InferenceService } from "../../src/gen/outrigger/v1/inference_service_pb.ts";
import { Shutdown, type ShutdownPart } from "../../src/server/shutdown.ts";
import { callGrpc, grpcClient } from "./support/clients.ts";
import { silence, textEvents } from "./support/scripted-inference.ts";
import { recordingLogger, useTestServers } from "./support/test-server.ts";

const servers = useTestServers();

/** A shutdown, the steps of its parts, and its log. */
function createShutdown(parts: (steps: string[]) => readonly ShutdownPart[], timeoutMs = 1000) {
  const steps: string[] = [];
  const { logger, lines } = recordingLogger();
  return { shutdown: new Shutdown({ parts: parts(steps), timeoutMs, logger }), steps, lines };
}

describe("Shutdown", () => {
  it("drains all parts at the same time, and closes them in order", async () => {
    const secondDrained = Promise.withResolvers<void>();
    const { shutdown, steps } = createShutdown(
      (steps) =>
        ["a", "b"].map((name) => ({
          name,
          async drain() {
            steps.push(`drain ${name}`);
            if (name === "a") await secondDrained.promise;
            steps.push(`drained ${name}`);
            secondDrained.resolve();
          },
          close: () => void steps.push(`close ${name}`),
        })),
      600_000,
    );
    await shutdown.drain();
    await shutdown.close();
    expect(steps).toEqual(["drain a", "drain b", "drained b", "drained a", "close a", "close b"]);
  });

  it("names the part that did not drain in time, and closes it", async () => {
    const { shutdown, steps, lines } = createShutdown(
      (steps) => [
        { name: "quick", drain: async () => {}, close: () => void steps.push("close quick") },
        { name: "slow", drain: () => new Promise(() => {}), close: () => void steps.push("close slow") },
      ],
      20,
    );
    await shutdown.drain();
    expect(steps).toEqual(["close slow"]);
    expect(lines).toMatchObject([
      { msg: "draining", timeout_ms: 20 },
      { level: 40, msg: "drain timed out, closing a part that did not finish", part: "slow", timeout_ms: 20 },
      { msg: "drained" },
    ]);
    await shutdown.close();
    expect(steps).toEqual(["close slow", "close quick"]);
  });

  it.each([2 ** 31, 1e15, Number.POSITIVE_INFINITY])(
    "waits for a part with a time of %d ms",
    async (timeoutMs) => {
      const { shutdown, lines } = createShutdown(
        () => [{ name: "slow", drain: () => setTimeout(30), close() {} }],
        timeoutMs,
      );
      await shutdown.drain();
      expect(lines.map(({ msg }) => msg)).toEqual(["draining", "drained"]);
    },
  );

  it("aborts the signal of a part when the time is over", async () => {
    const { shutdown, lines } = createShutdown(
      (steps) => [
        {
          name: "attentive",
          drain: (deadline) => new Promise((resolve) => deadline.addEventListener("abort", () => resolve())),
          close: () => void steps.push("close"),
        },
      ],
      20,
    );
    await shutdown.drain();
    expect(lines.at(-1)).toMatchObject({ msg: "drained" });
  });

  it("continues with the other parts if one fails", async () => {
    const { shutdown, steps, lines } = createShutdown((steps) => [
      {
        name: "broken",
        drain: async () => {
          throw new TypeError("secret");
        },
        close: () => {
          throw new RangeError("secret");
        },
      },
      { name: "sound", close: () => void steps.push("close sound") },
    ]);
    await shutdown.drain();
    await shutdown.close();
    expect(steps).toEqual(["close sound"]);
    expect(lines.filter(({ level }) => level === 50)).toMatchObject([
      { part: "broken", msg: "drain failed", fault: { type: "TypeError" } },
      { part: "broken", msg: "close failed", fault: { type: "RangeError" } },
    ]);
    expect(JSON.stringify(lines)).not.toContain("secret");
  });

  it("closes each part once, however often it is asked", async () => {
    const { shutdown, steps } = createShutdown((steps) => [
      { name: "a", close: () => void steps.push("close a") },
    ]);
    await Promise.all([shutdown.close(), shutdown.close(), shutdown.drain()]);
    expect(steps).toEqual(["close a"]);
  });
});

describe("the parts of a server", () => {
  it("end after its listeners, and the listener that did not drain in time is named", async () => {
    const closed: string[] = [];
    const part: ShutdownPart = { name: "mine", close: () => void closed.push("mine") };
    const server = await servers.start(
      {
        async *stream(call) {
          yield textEvents(call, ["a"]).slice(0, 1);
          await silence(call.signal);
        },
      },
      { parts: [part], drainTimeoutMs: 50 },
    );
    const client = grpcClient(server.authority);
    servers.onEnd(() => client.close());
    const call = callGrpc(client, InferenceService.method.stream, { model: "m" });
    await expect.poll(() => server.inference.calls.length).toBe(1);
    await server.drain();
    await call;
    expect(server.log).toContainEqual(expect.objectContaining({ level: 40, part: "data listener" }));
    expect(closed).toEqual([]);
    await server.close();
    expect(closed).toEqual(["mine"]);
  });

  it("are closed if the server cannot be started", async () => {
    const closed: string[] = [];
    const part: ShutdownPart = { name: "mine", close: () => void closed.push("mine") };
    await expect(servers.start({}, { parts: [part], adminListen: "nonsense" })).rejects.toThrow(
      "admin_listen",
    );
    expect(closed).toEqual(["mine"]);
  });
});
