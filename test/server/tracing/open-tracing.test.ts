import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { afterEach, expect, it, onTestFinished, vi } from "vitest";
import { readTracing } from "../../../src/config/tracing.ts";
import { readTraceContext } from "../../../src/core/trace-context.ts";
import { openTracing, type Tracing } from "../../../src/server/tracing/open-tracing.ts";
import { createCall, toOutcome } from "../support/outcome.ts";

afterEach(() => vi.unstubAllEnvs());

/** What a collector got. */
interface Export {
  readonly path: string | undefined;
  readonly contentType: string | undefined;
  readonly body: string;
}

/** Starts a collector, and tracing that sends to it. */
async function open({
  status = 200,
  reason = "OK",
  env = {},
}: {
  readonly status?: number;
  readonly reason?: string;
  readonly env?: Readonly<Record<string, string>>;
} = {}) {
  const exports: Export[] = [];
  const collector = createServer(async (request, response) => {
    const { url: path, headers } = request;
    exports.push({ path, contentType: headers["content-type"], body: await text(request) });
    response.writeHead(status, reason).end();
  }).listen(0, "127.0.0.1");
  onTestFinished(() => void collector.close());
  await once(collector, "listening");
  const url = `http://127.0.0.1:${(collector.address() as AddressInfo).port}`;
  const variables = { OTEL_EXPORTER_OTLP_ENDPOINT: url, ...env };
  for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value);
  const { tracing: settings } = readTracing(variables);
  if (settings === undefined) throw new Error("expected tracing to be on");
  const reasons: string[] = [];
  const tracing = await openTracing(settings, {
    version: "1.2.3",
    getProviderName: (name) => name,
    onFailure: (failure) => reasons.push(failure),
  });
  return { tracing, exports, reasons };
}

/** Traces a call. @param traceparent The trace of its caller. */
function trace({ observer }: Tracing, traceparent?: string): void {
  const call = createCall({
    trace: traceparent === undefined ? undefined : readTraceContext({ traceparent }),
  });
  observer.begin?.(call);
  observer.end(call, toOutcome());
}

const SAMPLED = `00-${"a".repeat(32)}-${"b".repeat(16)}-01`;
const UNSAMPLED = SAMPLED.replace(/01$/, "00");

it("reports why a collector refuses spans, in at most 300 bytes", async () => {
  const { tracing, reasons } = await open({ status: 400, reason: "no ".repeat(1_000) });
  trace(tracing);
  await tracing.close();
  expect(reasons).toHaveLength(1);
  expect(reasons[0]).toContain("no no");
  expect(Buffer.byteLength(reasons[0] ?? "")).toBeLessThanOrEqual(300);
});

it("reports refused spans at most once a minute", async () => {
  const env = { OTEL_BSP_MAX_EXPORT_BATCH_SIZE: "1", OTEL_BSP_SCHEDULE_DELAY: "0" };
  const { tracing, reasons, exports } = await open({ status: 400, reason: "no", env });
  let minutes = 0;
  const now = performance.now.bind(performance);
  const clock = vi.spyOn(performance, "now").mockImplementation(() => now() + minutes * 60_000);
  onTestFinished(() => clock.mockRestore());
  for (const sent of [1, 2]) {
    trace(tracing);
    await expect.poll(() => exports.length).toBe(sent);
  }
  await expect.poll(() => reasons).toHaveLength(1);
  minutes = 1;
  trace(tracing);
  await tracing.close();
  expect([exports.length, reasons.length]).toEqual([3, 2]);
});

it.each([
  ["always_on", "", [true, true, true]],
  ["always_off", "", [false, false, false]],
  ["traceidratio", "0", [false, false, false]],
  ["traceidratio", "1", [true, true, true]],
  ["parentbased_always_on", "", [true, true, false]],
  ["parentbased_always_off", "", [false, true, false]],
  ["parentbased_traceidratio", "0", [false, true, false]],
  ["parentbased_traceidratio", "1", [true, true, false]],
])(
  "samples calls without a trace, with a sampled and an unsampled one by %s with %j: %j",
  async (sampler, ratio, expected) => {
    const sent: boolean[] = [];
    for (const traceparent of [undefined, SAMPLED, UNSAMPLED]) {
      const env = { OTEL_TRACES_SAMPLER: sampler, OTEL_TRACES_SAMPLER_ARG: ratio };
      const { tracing, exports } = await open({ env });
      trace(tracing, traceparent);
      await tracing.close();
      sent.push(exports.length > 0);
    }
    expect(sent).toEqual(expected);
  },
);

it.each([
  ["http/json", "application/json"],
  ["http/protobuf", "application/x-protobuf"],
])("sends spans by the protocol %s, as %s", async (protocol, contentType) => {
  const { tracing, exports } = await open({ env: { OTEL_EXPORTER_OTLP_PROTOCOL: protocol } });
  trace(tracing);
  await tracing.close();
  expect(exports).toMatchObject([{ path: "/v1/traces", contentType }]);
});

it("names the program, its version and a new instance, unless the environment names them", async () => {
  const readResource = async (env: Readonly<Record<string, string>>) => {
    const { tracing, exports } = await open({ env: { OTEL_EXPORTER_OTLP_PROTOCOL: "http/json", ...env } });
    trace(tracing);
    await tracing.close();
    const [{ resource, scopeSpans }] = JSON.parse(exports[0]?.body ?? "").resourceSpans;
    const attributes = resource.attributes.map(
      ({ key, value }: { key: string; value: { stringValue?: string } }) => [key, value.stringValue],
    );
    return { attributes: Object.fromEntries(attributes), scope: scopeSpans[0].scope };
  };
  const [first, second] = [await readResource({}), await readResource({})];
  expect(first.attributes).toMatchObject({ "service.name": "outrigger", "service.version": "1.2.3" });
  expect(first.attributes["service.instance.id"]).toMatch(/^[0-9a-f-]{36}$/);
  expect(second.attributes["service.instance.id"]).not.toBe(first.attributes["service.instance.id"]);
  expect(first.scope).toEqual({ name: "outrigger", version: "1.2.3" });
  const env = { OTEL_SERVICE_NAME: "shop", OTEL_RESOURCE_ATTRIBUTES: "service.instance.id=one,team=a" };
  expect((await readResource(env)).attributes).toMatchObject({
    "service.name": "shop",
    "service.instance.id": "one",
    team: "a",
  });
});
