import { describe, expect, it } from "vitest";
import { readTracing } from "../../src/config/tracing.ts";

const ENDPOINT = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://collector:4318" };

describe("tracing", () => {
  it.each([
    [{}, false],
    [ENDPOINT, true],
    [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "https://collector/v1/traces" }, true],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: " " }, false],
    [{ OTEL_TRACES_EXPORTER: "otlp" }, true],
    [{ ...ENDPOINT, OTEL_TRACES_EXPORTER: "none" }, false],
    [{ ...ENDPOINT, OTEL_SDK_DISABLED: "TRUE" }, false],
    [{ ...ENDPOINT, OTEL_SDK_DISABLED: "false" }, true],
  ])("with %o is on: %s", (environment, isOn) => {
    const { tracing, problems } = readTracing(environment);
    expect([tracing !== undefined, problems]).toEqual([isOn, []]);
  });

  it("has OpenTelemetry's defaults", () => {
    expect(readTracing(ENDPOINT).tracing).toEqual({
      protocol: "http/protobuf",
      sampler: "parentbased_always_on",
      ratio: 1,
      batch: {
        maxQueueSize: 2048,
        maxExportBatchSize: 512,
        scheduledDelayMillis: 5000,
        exportTimeoutMillis: 30_000,
      },
      recordsContent: false,
    });
  });

  it("takes the variables of the specification", () => {
    const { tracing } = readTracing({
      ...ENDPOINT,
      OTEL_EXPORTER_OTLP_PROTOCOL: "grpc",
      OTEL_TRACES_SAMPLER: "traceidratio",
      OTEL_TRACES_SAMPLER_ARG: "0.25",
      OTEL_BSP_MAX_QUEUE_SIZE: "100",
      OTEL_BSP_MAX_EXPORT_BATCH_SIZE: "10",
      OTEL_BSP_SCHEDULE_DELAY: "0",
      OTEL_BSP_EXPORT_TIMEOUT: "1000",
      OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: "true",
    });
    expect(tracing).toEqual({
      protocol: "grpc",
      sampler: "traceidratio",
      ratio: 0.25,
      batch: {
        maxQueueSize: 100,
        maxExportBatchSize: 10,
        scheduledDelayMillis: 0,
        exportTimeoutMillis: 1000,
      },
      recordsContent: true,
    });
    const both = { OTEL_EXPORTER_OTLP_PROTOCOL: "grpc", OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: "http/json" };
    expect(readTracing({ ...ENDPOINT, ...both }).tracing?.protocol).toBe("http/json");
  });

  it("names each variable that is wrong, with what was found and what was expected", () => {
    const { problems } = readTracing({
      OTEL_TRACES_EXPORTER: "otlp",
      OTEL_EXPORTER_OTLP_ENDPOINT: "user:secret@collector",
      OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: "thrift",
      OTEL_TRACES_SAMPLER: "some",
      OTEL_TRACES_SAMPLER_ARG: "1.5",
      OTEL_BSP_MAX_QUEUE_SIZE: "2.5",
      OTEL_BSP_SCHEDULE_DELAY: "-1",
      OTEL_SDK_DISABLED: "maybe",
    });
    expect(problems).toEqual([
      'OTEL_SDK_DISABLED: expected true or false, found "maybe"',
      "OTEL_EXPORTER_OTLP_ENDPOINT: expected an http: or https: URL, found another text",
      'OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: expected http/protobuf, http/json or grpc, found "thrift"',
      'OTEL_TRACES_SAMPLER: expected always_on, always_off, traceidratio, parentbased_always_on, parentbased_always_off or parentbased_traceidratio, found "some"',
      'OTEL_TRACES_SAMPLER_ARG: expected a number from 0 to 1, found "1.5"',
      'OTEL_BSP_MAX_QUEUE_SIZE: expected a whole number from 1 to 65536, found "2.5"',
      'OTEL_BSP_SCHEDULE_DELAY: expected a whole number from 0 to 600000, found "-1"',
    ]);
    expect(readTracing({ OTEL_TRACES_EXPORTER: "zipkin" }).problems).toEqual([
      'OTEL_TRACES_EXPORTER: expected otlp or none, found "zipkin"',
    ]);
  });

  it.each([
    ["OTEL_BSP_MAX_QUEUE_SIZE", 1, 65_536],
    ["OTEL_BSP_MAX_EXPORT_BATCH_SIZE", 1, 65_536],
    ["OTEL_BSP_SCHEDULE_DELAY", 0, 600_000],
    ["OTEL_BSP_EXPORT_TIMEOUT", 1, 600_000],
    ["OTEL_TRACES_SAMPLER_ARG", 0, 1],
  ])("takes a %s from %i to %i", (name, min, max) => {
    const isTaken = (value: number) => readTracing({ ...ENDPOINT, [name]: `${value}` }).problems.length === 0;
    expect([min - 1, min, max, max + 1].map(isTaken)).toEqual([false, true, true, false]);
  });
});
