import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { toBatches } from "../../../src/core/batches.ts";
import { anyCaller } from "../../../src/core/caller.ts";
import { ServerError } from "../../../src/core/errors.ts";
import { RequestSchema } from "../../../src/gen/outrigger/v1/request_pb.ts";
import { createBackgroundClient } from "../../../src/server/calls/background-calls.ts";
import { createCallLog } from "../../../src/server/telemetry/logging.ts";
import { createMetrics } from "../../../src/server/telemetry/metrics.ts";
import {
  oneByOne,
  type Script,
  scriptedInference,
  textEvents,
  textResponse,
} from "../support/scripted-inference.ts";
import { recordingLogger } from "../support/test-server.ts";

const request = create(RequestSchema, { model: "m-1" });
const { signal } = new AbortController();

function observed(script: Script) {
  const { logger, lines } = recordingLogger();
  const metrics = createMetrics({ version: "0.0.0-test" });
  const client = createBackgroundClient(scriptedInference(script), [metrics, createCallLog(logger)]);
  return { client, lines, metrics };
}

describe("a provider call of a run in the background", () => {
  it("is logged and counted as a separate call", async () => {
    const { client, lines, metrics } = observed({
      complete: async (call) => textResponse(call, "a"),
      stream: (call) => oneByOne(textEvents(call, ["a"])),
    });
    const caller = { ...anyCaller, name: "key-1" };
    await client.complete(request, { signal, caller });
    for await (const _batch of toBatches(client.stream(request, { signal, caller })));
    const line = { rpc: "background run", caller: "key-1", model: "m-1", code: "OK", input_tokens: 7 };
    expect(lines).toMatchObject([line, { ...line, first_output_ms: expect.any(Number) }]);
    const text = metrics.render();
    expect(text).toContain('outrigger_provider_calls_total{rpc="background run"} 2\n');
    expect(text).toContain('outrigger_caller_tokens_total{caller="key-1",direction="input"} 14\n');
    expect(text).toContain("outrigger_inflight 0\n");
  });

  it("is logged with its failure, which the run gets", async () => {
    const failure = new ServerError("overloaded");
    const { client, lines } = observed({ complete: () => Promise.reject(failure) });
    await expect(client.complete(request, { signal })).rejects.toBe(failure);
    expect(lines).toMatchObject([{ rpc: "background run", code: "UNAVAILABLE", error_kind: "SERVER" }]);
  });

  it("has ended when its stream is left", async () => {
    const { client, metrics } = observed({ stream: (call) => oneByOne(textEvents(call, ["a", "b"])) });
    for await (const _batch of toBatches(client.stream(request, { signal }))) break;
    expect(metrics.render()).toContain("outrigger_inflight 0\n");
  });
});
