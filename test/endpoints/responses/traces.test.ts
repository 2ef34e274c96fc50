/** Runs that HTTP APIs and RunService create belong to the traces of their calls. */
import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { expect, it, vi } from "vitest";
import { readTraceContext } from "../../../src/core/trace-context.ts";
import { RunService } from "../../../src/gen/outrigger/v1/run_service_pb.ts";
import { useTestServers } from "../../server/support/test-server.ts";
import { startApi } from "../support/api-server.ts";

const servers = useTestServers();

const headers = {
  traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
  tracestate: "congo=t61rcWkgMzE",
};

it.each([true, false])(
  "a run has the trace of the call that creates it (background: %s)",
  async (background) => {
    const { engine, fetch, server } = await startApi(servers);
    const createRun = vi.spyOn(engine, "createRun");
    const body = JSON.stringify({ model: "openai/sim-text", input: "hi", background });
    const init = { method: "POST", body, headers: { ...headers, "content-type": "application/json" } };
    expect((await fetch("/v1/responses", init)).status).toBe(200);
    const runs = createClient(RunService, createGrpcTransport({ baseUrl: server.url }));
    const options = { prompt: "hi", request: { provider: "openai", model: "sim-text" } };
    await runs.createRun({ background, options }, { headers });
    await runs.createRun({ background, options });
    const trace = readTraceContext(headers);
    expect(createRun.mock.calls.map(([, given]) => given.trace)).toEqual([trace, trace, undefined]);
  },
);
