import { EVENTS_AROUND_DELTAS } from "../exchange.ts";
import type { Protocol } from "../load/load.ts";
import type { CaseName } from "../options.ts";
import { cancel } from "./cancel.ts";
import type { BenchCase } from "./case.ts";
import { createLoadCase } from "./load-case.ts";
import { stalled } from "./stalled.ts";

/** Deltas of a stream of which the caller sees 100 events. */
const DELTAS = 100 - EVENTS_AROUND_DELTAS;

const complete = createLoadCase({
  name: "complete",
  title: "Complete: 50 calls at once; latency at 100 calls per second",
  rpc: "Complete",
  upstream: { deltas: DELTAS, clocked: false, intervalMs: 0 },
  warmUp: { calls: 4_000, concurrency: 50 },
  busy: { calls: 10_000, concurrency: 50 },
  calm: { calls: 300, concurrency: 20, rate: 100 },
});

const stream = streamOver("stream", "grpc", "");
const connectJson = streamOver("connect-json", "connect+json", " as Connect JSON");
const connectProto = streamOver("connect-proto", "connect+proto", " as Connect's binary form");
const sse = streamOver("sse", "sse", " as server-sent events");

function streamOver(name: CaseName, protocol: Exclude<Protocol, "direct">, form: string): BenchCase {
  return createLoadCase({
    name,
    title: `Stream of 100 events${form}, unpaced: 20 at once; latency at 20 streams per second`,
    rpc: "Stream",
    protocol,
    upstream: { deltas: DELTAS, clocked: false, intervalMs: 0 },
    warmUp: { calls: 600, concurrency: 20 },
    busy: { calls: 3_000, concurrency: 20 },
    calm: { calls: 60, concurrency: 10, rate: 20 },
  });
}

const paced = createLoadCase({
  name: "paced",
  title: "Stream of 100 events at 20 ms: 500 at once, up to 25,000 events per second",
  rpc: "Stream",
  upstream: { deltas: DELTAS, clocked: true, intervalMs: 20 },
  warmUp: { calls: 500, concurrency: 500, rampMs: 2_000 },
  busy: { calls: 1_500, concurrency: 500, rampMs: 2_000 },
});

const pacedLight = createLoadCase({
  name: "paced-light",
  title: "Stream of 100 events at 20 ms: 100 at once, up to 5,000 events per second",
  rpc: "Stream",
  upstream: { deltas: DELTAS, clocked: true, intervalMs: 20 },
  warmUp: { calls: 200, concurrency: 100, rampMs: 2_000 },
  busy: { calls: 300, concurrency: 100, rampMs: 2_000 },
});

const gatewayComplete = createLoadCase({
  name: "gateway-complete",
  title: "Beside gateways of others, Complete: 20 calls at once; latency at 10 calls per second",
  rpc: "Complete",
  besideGateways: true,
  upstream: { deltas: DELTAS, clocked: false, intervalMs: 0 },
  warmUp: { calls: 1_000, concurrency: 20 },
  busy: { calls: 1_000, concurrency: 20 },
  calm: { calls: 50, concurrency: 5, rate: 10 },
});

const gatewayStream = createLoadCase({
  name: "gateway-stream",
  title: "Beside gateways of others, Stream of 100 events: 20 at once; latency at 2 streams per second",
  rpc: "Stream",
  besideGateways: true,
  upstream: { deltas: DELTAS, clocked: true, intervalMs: 0 },
  warmUp: { calls: 300, concurrency: 20 },
  busy: { calls: 300, concurrency: 20 },
  calm: { calls: 10, concurrency: 2, rate: 2 },
});

/** All cases by name. */
export const CASES: Readonly<Record<CaseName, BenchCase>> = {
  complete,
  stream,
  "connect-json": connectJson,
  "connect-proto": connectProto,
  sse,
  paced,
  "paced-light": pacedLight,
  stalled,
  cancel,
  "gateway-complete": gatewayComplete,
  "gateway-stream": gatewayStream,
};
