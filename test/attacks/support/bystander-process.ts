/** The process of a bystander: its provider, its calls and its probes. Its parent sends an Order and gets an Answer. */
import http from "node:http";
import http2 from "node:http2";
import { setTimeout as sleep } from "node:timers/promises";
import { create, toBinary } from "@bufbuild/protobuf";
import { startSimulator } from "../../../simulator/index.ts";
import { Role } from "../../../src/gen/outrigger/v1/message_pb.ts";
import { RequestSchema } from "../../../src/gen/outrigger/v1/request_pb.ts";
import { type Answer, BYSTANDER_KEY, type Observed, type Order, type Target } from "./bystander.ts";

const INTERVAL_MS = 50;
const WARM_UP_CALLS = 20;
// A call that takes longer has failed. An idle machine needs a few hundred milliseconds at most, whatever the attack;
// the rest is for machines that are busy with something else.
const TIMEOUT_MS = 30_000;
const MAX_FAILURES = 5;

const message = toBinary(
  RequestSchema,
  create(RequestSchema, {
    model: "sim-text",
    messages: [{ role: Role.USER, content: [{ part: { case: "text", value: "Say hello." } }] }],
  }),
);
const frame = Buffer.concat([Buffer.from([0, 0, 0, 0, message.byteLength]), message]);

/** An action that is repeated. */
interface Watch {
  readonly failures: string[];
  count: number;
  slowestMs: number;
}

/** When calls end, and the pause after each. */
interface Pace {
  readonly isOver: (count: number) => boolean;
  readonly intervalMs: number;
}

const WARM_UP: Pace = { isOver: (count) => count >= WARM_UP_CALLS, intervalMs: 0 };

/** Performs an action to its end, and records its duration. */
async function repeat(name: string, { isOver, intervalMs }: Pace, act: () => Promise<void>): Promise<Watch> {
  const watch: Watch = { failures: [], count: 0, slowestMs: 0 };
  let count = 0;
  do {
    count += 1;
    const startedAt = performance.now();
    try {
      await act();
      watch.count += 1;
    } catch (error) {
      if (watch.failures.length < MAX_FAILURES) watch.failures.push(`${name}: ${error}`);
    }
    watch.slowestMs = Math.max(watch.slowestMs, performance.now() - startedAt);
    await sleep(intervalMs);
  } while (!isOver(count));
  return watch;
}

function call(session: http2.ClientHttp2Session): Promise<void> {
  return new Promise((resolve, reject) => {
    const stream = session.request({
      ":method": "POST",
      ":path": "/outrigger.v1.InferenceService/Complete",
      "content-type": "application/grpc",
      te: "trailers",
      // Sidecars without access keys do not look at it.
      authorization: `Bearer ${BYSTANDER_KEY}`,
    });
    let status: unknown;
    stream.setTimeout(TIMEOUT_MS, () => stream.destroy(new Error("no answer in time")));
    stream.on("response", (headers) => (status = headers["grpc-status"]));
    stream.on("trailers", (trailers) => (status = trailers["grpc-status"]));
    stream.on("error", reject);
    stream.on("close", () => (status === "0" ? resolve() : reject(new Error(`grpc-status ${status}`))));
    stream.resume().end(frame);
  });
}

/** Asks for `/livez` on a separate connection, as the kubelet does. */
function probe(adminUrl: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const request = http.get(`${adminUrl}/livez`, { agent: false, timeout: TIMEOUT_MS }, (response) => {
      response.resume().on("end", () => {
        if (response.statusCode === 200) resolve();
        else reject(new Error(`status ${response.statusCode}`));
      });
    });
    request.on("timeout", () => request.destroy(new Error("no answer in time"))).on("error", reject);
  });
}

async function observe({ url, adminUrl }: Target, pace: Pace): Promise<Observed> {
  const session = http2.connect(url).on("error", () => {});
  const [calls, probes] = await Promise.all([
    repeat("call", pace, () => call(session)),
    repeat("probe", pace, () => probe(adminUrl)),
  ]);
  session.destroy();
  return {
    calls: calls.count,
    slowestCallMs: calls.slowestMs,
    probes: probes.count,
    slowestProbeMs: probes.slowestMs,
    failures: [...calls.failures, ...probes.failures],
  };
}

const simulator = await startSimulator();
let isOver = true;

process.on("message", (order: Order) => {
  if (order === "end") {
    isOver = true;
    return;
  }
  isOver = false;
  const observed =
    "warmUp" in order
      ? observe(order.warmUp, WARM_UP)
      : observe(order.begin, { isOver: () => isOver, intervalMs: INTERVAL_MS });
  void observed.then((seen) => process.send?.({ observed: seen } satisfies Answer));
});
// The parent has ended.
process.on("disconnect", () => process.exit());
process.send?.({ providerUrl: simulator.openaiBaseUrl } satisfies Answer);
