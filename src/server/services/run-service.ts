import { type Batches, BatchStream, lazyBatches } from "../../core/batches.ts";
import { RunService } from "../../gen/outrigger/v1/run_service_pb.ts";
import type { ModelClient } from "../../generation/loop/model-calls.ts";
import type { RunEngine } from "../../runs/engine.ts";
import { CallsInProgress } from "../calls/call-context.ts";
import { createService, type Service } from "../calls/service.ts";

/**
 * Creates RunService over an engine. Independent of the protocol that carries a call.
 * @param client Calls the models for runs whose callers wait, so that these calls are in the callers' log lines.
 */
export function createRunService(engine: RunEngine, client: ModelClient): Service {
  const calls = new CallsInProgress();
  const parts = { engine, client, calls };
  return createService(
    RunService,
    {
      createRun: async (request, context) => (await loadMethods()).createRun(parts, request, context),
      createRunStream: (request, context) =>
        lazyStream(async () => (await loadMethods()).createRunStream(parts, request, context)),
      getRun: async (request, context) => (await loadMethods()).getRun(parts, request, context),
      streamRun: (request, context) =>
        lazyStream(async () => (await loadMethods()).streamRun(parts, request, context)),
      submitToolResults: async (request, context) =>
        (await loadMethods()).submitToolResults(parts, request, context),
      cancelRun: async (request, context) => (await loadMethods()).cancelRun(parts, request, context),
      listRuns: async (request, context) => (await loadMethods()).listRuns(parts, request, context),
      deleteRun: async (request, context) => (await loadMethods()).deleteRun(parts, request, context),
    },
    { cutOff: () => calls.cutOff() },
  );
}

/** A sidecar whose callers store no runs never loads the rest, which saves memory and startup time. */
function loadMethods() {
  return import("./runs/methods.ts");
}

function lazyStream<Message>(open: () => Promise<Batches<Message>>): BatchStream<Message> {
  return new BatchStream(lazyBatches(open));
}
