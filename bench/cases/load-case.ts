/** Cases that consist of calls: their load is data, and the measurement is the same. */

import { EVENTS_AROUND_DELTAS, type ExchangeFiles } from "../exchange.ts";
import {
  type Implementation,
  type RunningImplementation,
  thatSpeak,
} from "../implementations/implementation.ts";
import { type CallReport, formatFailures, makeCalls, type Protocol, UPSTREAM_PATH } from "../load/load.ts";
import type { Sample } from "../measure/metrics.ts";
import { readCpuMicros, readResidentMb } from "../measure/process-stats.ts";
import type { CaseName } from "../options.ts";
import type { BenchCase, Round, RoundSettings } from "./case.ts";
import { type RoundContext, runLoadOnce, runLoadRound, type UpstreamShape } from "./round.ts";

/** A number of calls. */
export interface Burst {
  readonly calls: number;
  readonly concurrency: number;
  /** Maximum calls per second. Default: no limit. */
  readonly rate?: number;
  /** Milliseconds over which the first ones are spread. */
  readonly rampMs?: number;
}

/** The load of a case. */
export interface LoadPlan {
  readonly name: CaseName;
  readonly title: string;
  readonly rpc: "Complete" | "Stream";
  /** Default: gRPC. */
  readonly protocol?: Exclude<Protocol, "direct">;
  /**
   * Compares with third-party gateways, which are called by the provider's protocol, instead of the project's programs.
   */
  readonly besideGateways?: boolean;
  readonly upstream: UpstreamShape;
  /** Runs until code is compiled and connections are open. Only memory is measured. */
  readonly warmUp: Burst;
  /** Load for measuring CPU. */
  readonly busy: Burst;
  /** Load for measuring latency, if `busy` leaves no core idle. */
  readonly calm?: Burst;
}

/** Connections of HTTP/2 that the callers of gRPC share. */
const CONNECTIONS = 4;

/** Creates the case for a load. */
export function createLoadCase(plan: LoadPlan): BenchCase {
  const { name, title, upstream, besideGateways = false } = plan;
  return {
    name,
    title,
    besideGateways,
    runRound: (settings) => runRound(settings.quick ? quickened(plan) : plan, settings),
    runOnce(settings) {
      const effectivePlan = settings.quick ? quickened(plan) : plan;
      const implementations = getImplementations(plan, settings);
      return runLoadOnce({ ...settings, implementations }, upstream, (implementation, context) =>
        runOnce(effectivePlan, implementation, context),
      );
    },
  };
}

async function runRound(plan: LoadPlan, settings: RoundSettings): Promise<Round> {
  let direct: Sample | undefined;
  const implementations = getImplementations(plan, settings);
  const round = await runLoadRound(
    { ...settings, implementations },
    plan.upstream,
    async (implementation, context, failures) => {
      direct ??= latenciesIn(plan, await callDirectly(plan, context));
      const sample = await measure(plan, implementation, context, failures);
      return { ...sample, ...addedTo(direct, sample) };
    },
  );
  return { ...round, samples: { ...round.samples, ...(direct === undefined ? {} : { direct }) } };
}

function getImplementations(
  { protocol = "grpc", besideGateways }: LoadPlan,
  { implementations }: RoundSettings,
): readonly Implementation[] {
  return besideGateways ? implementations : thatSpeak(protocol, implementations);
}

/** A tenth of the calls. */
function quickened(plan: LoadPlan): LoadPlan {
  const fewer = (burst: Burst): Burst => ({ ...burst, calls: Math.ceil(burst.calls / 10) });
  const calm = plan.calm === undefined ? {} : { calm: fewer(plan.calm) };
  return { ...plan, warmUp: fewer(plan.warmUp), busy: fewer(plan.busy), ...calm };
}

async function measure(
  plan: LoadPlan,
  implementation: RunningImplementation,
  context: RoundContext,
  failures: string[],
): Promise<Sample> {
  await callImplementation(plan, plan.warmUp, implementation, context);
  const residentWarm = readResidentMb(implementation.pid);
  const before = readCpuMicros(implementation.pid);
  const busy = await callImplementation(plan, plan.busy, implementation, context);
  const used = readCpuMicros(implementation.pid) - before;
  const calm =
    plan.calm === undefined ? busy : await callImplementation(plan, plan.calm, implementation, context);
  failures.push(
    ...getFailures(implementation, busy),
    ...(calm === busy ? [] : getFailures(implementation, calm)),
  );
  return { ...costsIn(plan, busy, used), ...latenciesIn(plan, calm), residentWarm, failed: busy.failed };
}

async function runOnce(
  plan: LoadPlan,
  implementation: RunningImplementation,
  context: RoundContext,
): Promise<Sample> {
  await callImplementation(plan, plan.warmUp, implementation, context);
  await callImplementation(plan, plan.busy, implementation, context);
  return {};
}

function callImplementation(
  plan: LoadPlan,
  burst: Burst,
  { name, address, headers }: RunningImplementation,
  { files }: RoundContext,
): Promise<CallReport> {
  const { rpc, protocol = "grpc", upstream } = plan;
  if (plan.besideGateways && name !== "outrigger")
    return callAsProvider(plan, burst, address, files, headers);
  const isBinary = protocol === "grpc" || protocol === "connect+proto";
  return makeCalls({
    ...burst,
    target: address,
    protocol,
    path: `/outrigger.v1.InferenceService/${rpc}`,
    request: isBinary ? files.binaryRequest : files.jsonRequest,
    connections: CONNECTIONS,
    messages: rpc === "Stream" ? upstream.deltas + EVENTS_AROUND_DELTAS : 1,
  });
}

function callDirectly(plan: LoadPlan, { files, upstream }: RoundContext): Promise<CallReport> {
  return callAsProvider(plan, plan.calm ?? plan.busy, upstream, files);
}

/** Calls the upstream, or a gateway that has the same API. */
function callAsProvider(
  { rpc }: LoadPlan,
  burst: Burst,
  target: string,
  files: ExchangeFiles,
  headers: readonly string[] = [],
): Promise<CallReport> {
  const request = rpc === "Stream" ? files.directStreamRequest : files.directRequest;
  return makeCalls({ ...burst, target, protocol: "direct", path: UPSTREAM_PATH, request, headers });
}

function costsIn({ rpc }: LoadPlan, report: CallReport, micros: number): Sample {
  const { calls, messages, frames, seconds } = report;
  const streamed = {
    cpuPerEvent: micros / messages,
    eventThroughput: messages / seconds,
    eventsPerFrame: messages / frames,
  };
  return {
    cpuPerCall: micros / calls,
    coreShare: (micros / (seconds * 1_000_000)) * 100,
    throughput: calls / seconds,
    ...(rpc === "Stream" ? streamed : {}),
  };
}

/** Latencies in milliseconds; those that were not measured are omitted. */
function latenciesIn({ rpc }: LoadPlan, { call, first, event }: CallReport): Sample {
  const whole = { callP50: call.p50 / 1000, callP99: call.p99 / 1000 };
  if (rpc === "Complete") return whole;
  return {
    ...whole,
    firstP50: first.p50 / 1000,
    firstP99: first.p99 / 1000,
    ...(event.count === 0 ? {} : { eventP50: event.p50 / 1000, eventP99: event.p99 / 1000 }),
  };
}

/** Returns the latency that an implementation adds to the upstream's. */
function addedTo(direct: Sample, sample: Sample): Sample {
  const added: Sample = {};
  for (const [measured, difference] of ADDED) {
    const [without, having] = [direct[measured], sample[measured]];
    if (without !== undefined && having !== undefined) added[difference] = having - without;
  }
  return added;
}

const ADDED = [
  ["callP50", "addedCallP50"],
  ["callP99", "addedCallP99"],
  ["firstP50", "addedFirstP50"],
  ["firstP99", "addedFirstP99"],
  ["eventP50", "addedEventP50"],
  ["eventP99", "addedEventP99"],
] as const;

function getFailures({ name }: RunningImplementation, { failed, calls, failures }: CallReport): string[] {
  return failed === 0 ? [] : [`${name}: ${failed} of ${calls} calls failed: ${formatFailures(failures)}`];
}
