import { RunService } from "../../gen/outrigger/v1/run_service_pb.ts";
import { ThreadService } from "../../gen/outrigger/v1/thread_service_pb.ts";
import type { ModelClient } from "../../generation/loop/model-calls.ts";
import type { RunEngine } from "../../runs/run-engine.ts";
import type { CallsInProgress } from "../calls/call-context.ts";
import type { Service } from "../calls/service.ts";
import { createLazyService } from "../calls/service-methods.ts";

/**
 * Creates RunService over an engine. Independent of the protocol that carries a call.
 * @param client Calls the models for runs whose callers wait, so that these calls are in the callers' log lines.
 */
export function createRunService(engine: RunEngine, client: ModelClient): Service {
  const calls: CallsInProgress = new Set();
  return createLazyService(RunService, calls, async () => {
    const { RunCall, runMethods } = await import("./runs/methods.ts");
    return { methods: runMethods, createCall: (context) => new RunCall({ engine, client, calls }, context) };
  });
}

/** Creates ThreadService over an engine. @param client As for RunService; these methods call no model. */
export function createThreadService(engine: RunEngine, client: ModelClient): Service {
  const calls: CallsInProgress = new Set();
  return createLazyService(ThreadService, calls, async () => {
    const { RunCall, threadMethods } = await import("./runs/methods.ts");
    return {
      methods: threadMethods,
      createCall: (context) => new RunCall({ engine, client, calls }, context),
    };
  });
}
