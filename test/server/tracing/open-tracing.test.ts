import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, it, vi } from "vitest";
import { readTracing } from "../../../src/config/tracing.ts";
import { openTracing } from "../../../src/server/tracing/open-tracing.ts";
import { createCall, toOutcome } from "../support/outcome.ts";

afterEach(() => vi.unstubAllEnvs());

it("tells why a collector refuses spans, in at most 300 bytes", async () => {
  const collector = createServer((request, response) => {
    request.resume();
    response.writeHead(400, "no ".repeat(1_000)).end();
  }).listen(0, "127.0.0.1");
  await once(collector, "listening");
  const url = `http://127.0.0.1:${(collector.address() as AddressInfo).port}`;
  vi.stubEnv("OTEL_EXPORTER_OTLP_ENDPOINT", url);
  const { tracing: settings } = readTracing({ OTEL_EXPORTER_OTLP_ENDPOINT: url });
  if (settings === undefined) throw new Error("expected tracing to be on");
  const reasons: string[] = [];
  const tracing = await openTracing(settings, {
    version: "1",
    getProviderName: (name) => name,
    onFailure: (reason) => reasons.push(reason),
  });
  const call = createCall();
  tracing.observer.begin?.(call);
  tracing.observer.end(call, toOutcome());
  await tracing.close();
  collector.close();
  expect(reasons).toHaveLength(1);
  expect(reasons[0]).toContain("no no");
  expect(Buffer.byteLength(reasons[0] ?? "")).toBeLessThanOrEqual(300);
});
