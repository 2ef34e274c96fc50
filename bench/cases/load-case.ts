/** Cases in which calls come one after another: their load is data, and what is done with it is the same. */
import type { RunningContestant } from "../contestants/contestant.ts";
import { EVENTS_AROUND_DELTAS } from "../exchange.ts";
import { type CallReport, makeCalls } from "../load/load.ts";
import type { Sample } from "../measure/metrics.ts";
import { cpuMicrosOf, residentMbOf } from "../measure/process-stats.ts";
import type { CaseName } from "../options.ts";
import { type Arena, exerciseRound, playRound, type UpstreamShape } from "./arena.ts";
import type { BenchCase, Round, RoundSettings } from "./case.ts";

/** A number of calls. */
export interface Burst {
  readonly calls: number;
  readonly concurrency: number;
  /** Calls per second at the most. Default: as many as go. */
  readonly rate?: number;
  /** Milliseconds over which the first ones are spread. */
  readonly rampMs?: number;
}

/** The load of a case. */
export interface LoadPlan {
  readonly name: CaseName;
  readonly title: string;
  readonly rpc: "Complete" | "Stream";
  readonly upstream: UpstreamShape;
  /** Until code is compiled and connections are open. Nothing of it is measured but memory. */
  readonly warmUp: Burst;
  /** What CPU is measured under. */
  readonly busy: Burst;
  /** What latency is measured under, where `busy` leaves no core idle. */
  readonly calm?: Burst;
}

/** Connections of HTTP/2 that the callers share. */
const CONNECTIONS = 4;

/** Makes the case of a load. */
export function createLoadCase(plan: LoadPlan): BenchCase {
  const { name, title, upstream } = plan;
  return {
    name,
    title,
    runRound: (settings) => runRound(settings.quick ? quickened(plan) : plan, settings),
    exercise(settings) {
      const own = settings.quick ? quickened(plan) : plan;
      return exerciseRound(settings, upstream, (contestant, arena) => exercise(own, contestant, arena));
    },
  };
}

async function runRound(plan: LoadPlan, settings: RoundSettings): Promise<Round> {
  let direct: Sample | undefined;
  const round = await playRound(settings, plan.upstream, async (contestant, arena, failures) => {
    direct ??= latenciesIn(plan, await callDirectly(plan, arena));
    const sample = await measure(plan, contestant, arena, failures);
    return { ...sample, ...addedTo(direct, sample) };
  });
  return { ...round, samples: { ...round.samples, ...(direct === undefined ? {} : { direct }) } };
}

/** A tenth of the calls. */
function quickened(plan: LoadPlan): LoadPlan {
  const fewer = (burst: Burst): Burst => ({ ...burst, calls: Math.ceil(burst.calls / 10) });
  const calm = plan.calm === undefined ? {} : { calm: fewer(plan.calm) };
  return { ...plan, warmUp: fewer(plan.warmUp), busy: fewer(plan.busy), ...calm };
}

async function measure(
  plan: LoadPlan,
  contestant: RunningContestant,
  arena: Arena,
  failures: string[],
): Promise<Sample> {
  await callContestant(plan, plan.warmUp, contestant, arena);
  const residentWarm = residentMbOf(contestant.pid);
  const before = cpuMicrosOf(contestant.pid);
  const busy = await callContestant(plan, plan.busy, contestant, arena);
  const used = cpuMicrosOf(contestant.pid) - before;
  const calm = plan.calm === undefined ? busy : await callContestant(plan, plan.calm, contestant, arena);
  failures.push(...failuresOf(contestant, busy), ...(calm === busy ? [] : failuresOf(contestant, calm)));
  return { ...costsIn(plan, busy, used), ...latenciesIn(plan, calm), residentWarm, failed: busy.failed };
}

async function exercise(plan: LoadPlan, contestant: RunningContestant, arena: Arena): Promise<Sample> {
  await callContestant(plan, plan.warmUp, contestant, arena);
  await callContestant(plan, plan.busy, contestant, arena);
  return {};
}

function callContestant(
  { rpc, upstream }: LoadPlan,
  burst: Burst,
  { address }: RunningContestant,
  { files }: Arena,
): Promise<CallReport> {
  return makeCalls({
    ...burst,
    target: address,
    method: `/outrigger.v1.InferenceService/${rpc}`,
    request: files.grpcRequest,
    connections: CONNECTIONS,
    messages: rpc === "Stream" ? upstream.deltas + EVENTS_AROUND_DELTAS : 1,
  });
}

function callDirectly(plan: LoadPlan, { files, upstream }: Arena): Promise<CallReport> {
  const request = plan.rpc === "Stream" ? files.directStreamRequest : files.directRequest;
  return makeCalls({ ...(plan.calm ?? plan.busy), target: upstream, request });
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

/** Latencies in milliseconds; those that were not measured are left out. */
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

/** What a contestant adds to what the upstream itself takes. */
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

function failuresOf({ name }: RunningContestant, { failed, calls, failures }: CallReport): string[] {
  return failed === 0 ? [] : [`${name}: ${failed} of ${calls} calls failed: ${(failures ?? []).join("; ")}`];
}
