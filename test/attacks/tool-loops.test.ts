/** Callers of RunTools that flood the sidecar, or open loops and leave them open. */
import type { ServerResponse } from "node:http";
import http2, { type ClientHttp2Session, type ClientHttp2Stream } from "node:http2";
import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { RunToolsRequestSchema } from "../../src/gen/outrigger/v1/generation_service_pb.ts";
import { frame, openStream } from "../server/support/raw-http2.ts";
import { startProvider } from "./support/provider.ts";
import { expectWithstood, useSidecars } from "./support/sidecar.ts";
import { SIZES } from "./support/sizes.ts";

const attacks = useSidecars();

const PATH = "/outrigger.v1.GenerationService/RunTools";

function toRequest(init: MessageInitShape<typeof RunToolsRequestSchema>): Buffer {
  return frame(toBinary(RunToolsRequestSchema, create(RunToolsRequestSchema, init)));
}

const START = toRequest({
  message: {
    case: "start",
    value: {
      options: {
        request: {
          model: "m",
          provider: "caller",
          tools: [{ tool: { case: "function", value: { name: "t" } } }],
        },
        prompt: "Call a tool.",
      },
    },
  },
});

/** A model that calls a tool. */
function callTool(response: ServerResponse): void {
  const call = { index: 0, id: "call_1", type: "function", function: { name: "t", arguments: "{}" } };
  const choice = { index: 0, delta: { tool_calls: [call] }, finish_reason: "tool_calls" };
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.write(`data: ${JSON.stringify({ id: "1", model: "m", choices: [choice] })}\n\n`);
  response.end("data: [DONE]\n\n");
}

function sessionTo(url: string): ClientHttp2Session {
  return http2.connect(url, { maxSessionMemory: 1000 }).on("error", () => {});
}

/** Opens loops, and sends their start. */
function openLoops(
  session: ClientHttp2Session,
  count: number,
  first: Buffer | undefined,
): ClientHttp2Stream[] {
  return Array.from({ length: count }, () => {
    const stream = openStream(session, PATH).on("error", () => {});
    if (first !== undefined) stream.write(first);
    return stream;
  });
}

/** Writes as fast as the other side takes it, for a time. Resolves with the bytes that were taken. */
async function flood(stream: ClientHttp2Stream, chunk: Buffer, ms: number): Promise<number> {
  let taken = 0;
  let isOver = false;
  const write = (): void => {
    if (isOver || stream.destroyed) return;
    stream.write(chunk, () => {
      taken += chunk.byteLength;
      write();
    });
  };
  for (let writes = 0; writes < 4; writes++) write();
  await new Promise((resolve) => setTimeout(resolve, ms));
  isOver = true;
  return taken;
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

const MIB = 1024 * 1024;

describe.each(SIZES)("a caller of RunTools, with $name", ({ heapMiB, maxPeakMiB }) => {
  it("that floods outputs and reads nothing is held back", { timeout: 120_000 }, async () => {
    const caller = await startProvider(callTool);
    const sidecar = await attacks.start({ heapMiB, providers: { caller } });
    const output = toRequest({
      message: { case: "output", value: { toolCallId: "nobody", output: { case: "failure", value: {} } } },
    });
    const outputs = Buffer.concat(Array.from({ length: 1000 }, () => output));
    const taken: number[] = [];
    const report = await sidecar.withstand(async () => {
      const session = sessionTo(sidecar.url);
      const streams = openLoops(session, 20, START);
      taken.push(...(await Promise.all(streams.map((stream) => flood(stream, outputs, 8000)))));
      session.destroy();
    });
    expectWithstood(report, maxPeakMiB);
    // The windows of the stream and its answer let through a fraction of what could be sent in that time.
    expect(Math.max(...taken)).toBeLessThan(16 * MIB);
    await sidecar.expectRecovered();
  });

  it("that floods outputs and reads the answers does not delay others", { timeout: 120_000 }, async () => {
    const caller = await startProvider(callTool);
    const sidecar = await attacks.start({ heapMiB, providers: { caller } });
    const text = "x".repeat(10_000);
    const result = { content: [{ part: { case: "text" as const, value: text } }] };
    const output = toRequest({
      message: { case: "output", value: { toolCallId: "nobody", output: { case: "result", value: result } } },
    });
    const report = await sidecar.withstand(async () => {
      const session = sessionTo(sidecar.url);
      const streams = openLoops(session, 20, START);
      for (const stream of streams) stream.resume();
      await Promise.all(streams.map((stream) => flood(stream, output, 8000)));
      session.destroy();
    });
    expectWithstood(report, maxPeakMiB);
    await sidecar.expectRecovered();
  });

  it("that opens streams and sends nothing yields to others", { timeout: 120_000 }, async () => {
    const sidecar = await attacks.start({ heapMiB });
    const report = await sidecar.withstand(async () => {
      const sessions = Array.from({ length: 3 }, () => sessionTo(sidecar.url));
      for (const session of sessions) openLoops(session, 900, undefined);
      await pause(8000);
      for (const session of sessions) session.destroy();
    });
    expectWithstood(report, maxPeakMiB);
    await sidecar.expectRecovered();
  });
});

it("1,000 loops whose tools are never answered leave memory for others, and end when their callers disconnect", {
  timeout: 120_000,
}, async () => {
  const caller = await startProvider(callTool);
  const sidecar = await attacks.start({ heapMiB: 512, providers: { caller } });
  let waiting = 0;
  const report = await sidecar.withstand(async () => {
    const sessions = Array.from({ length: 4 }, () => sessionTo(sidecar.url));
    const streams = sessions.flatMap((session) => openLoops(session, 250, START));
    for (const stream of streams) stream.once("data", () => (waiting += 1));
    await pause(10_000);
    for (const session of sessions) session.destroy();
  });
  expectWithstood(report, 512);
  expect(waiting).toBe(1000);
  await sidecar.expectRecovered();
  const metrics = await (await fetch(`${sidecar.adminUrl}/metrics`)).text();
  expect(metrics).toContain(
    'outrigger_requests_total{rpc="outrigger.v1.GenerationService/RunTools",code="CANCELLED"} 1000',
  );
});
