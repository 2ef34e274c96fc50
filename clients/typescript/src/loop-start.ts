import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import type {
  GenerationLimitsSchema,
  GenerationTimeoutsSchema,
  RetryPolicySchema,
} from "../../../src/gen/outrigger/v1/generation_pb.ts";
import {
  type RunToolsRequest,
  RunToolsRequestSchema,
} from "../../../src/gen/outrigger/v1/generation_service_pb.ts";
import type { GenerationLimits } from "../../../src/generation/loop/loop-limits.ts";
import type { LoopOptions } from "../../../src/generation/loop/tool-loop.ts";

/** Returns the message that opens a tool loop on a sidecar. Tools and their time limits are this program's. */
export function loopStart(options: LoopOptions): RunToolsRequest {
  const { request, maxToolRounds, isStreamed } = options;
  const value = {
    options: {
      request,
      maxToolRounds,
      retry: retryOf(options),
      timeouts: toTimeouts(options),
      limits: limitsInit(options.limits),
    },
    passiveTools: executableNames(options).filter((name) => !options.executor.isActive(name)),
    omitEvents: !isStreamed,
    repairCalls: true,
  };
  return create(RunToolsRequestSchema, { message: { case: "start", value } });
}

/** Returns the names of the tools that a program may execute. */
export function executableNames({ request }: LoopOptions): string[] {
  return request.tools.flatMap(({ tool }) =>
    tool.case === "function" || tool.case === "custom" ? [tool.value.name] : [],
  );
}

function retryOf({ retry = {} }: LoopOptions): MessageInitShape<typeof RetryPolicySchema> {
  const { maxRetries, baseDelay, maxDelay, backoffMultiplier, jitter, retryTimeouts = false } = retry;
  return {
    retryTimeouts,
    ...(maxRetries === undefined ? {} : { maxRetries }),
    ...(baseDelay === undefined ? {} : { baseDelay: durationFromMs(Math.round(baseDelay * 1000)) }),
    ...(maxDelay === undefined ? {} : { maxDelay: durationFromMs(Math.round(maxDelay * 1000)) }),
    ...(backoffMultiplier === undefined ? {} : { backoffMultiplier }),
    ...(jitter === undefined ? {} : { jitter }),
  };
}

/** A time limit of 0 is none: this program ends its tools itself. */
function toTimeouts({ timeouts = {} }: LoopOptions): MessageInitShape<typeof GenerationTimeoutsSchema> {
  const { totalMs, perStepMs } = timeouts;
  return {
    perTool: durationFromMs(0),
    ...(totalMs === undefined ? {} : { total: durationFromMs(Math.ceil(totalMs)) }),
    ...(perStepMs === undefined ? {} : { perStep: durationFromMs(Math.ceil(perStepMs)) }),
  };
}

/** Limits in the contract's form. */
export function limitsInit(limits: GenerationLimits = {}): MessageInitShape<typeof GenerationLimitsSchema> {
  const { maxSteps, maxTotalTokens, maxCostNanoUsd, maxToolCalls, allowUnknownPrices = false } = limits;
  return {
    allowUnknownPrices,
    ...(maxSteps === undefined ? {} : { maxSteps }),
    ...(maxTotalTokens === undefined ? {} : { maxTotalTokens: Number(maxTotalTokens) }),
    ...(maxCostNanoUsd === undefined ? {} : { maxCostNanoUsd: BigInt(maxCostNanoUsd) }),
    ...(maxToolCalls === undefined ? {} : { maxToolCalls }),
  };
}
