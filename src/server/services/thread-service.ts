import { ThreadService } from "../../gen/outrigger/v1/thread_service_pb.ts";
import type { ModelClient } from "../../generation/loop/model-calls.ts";
import type { RunEngine } from "../../runs/engine.ts";
import { CallsInProgress } from "../calls/call-context.ts";
import { createService, type Service } from "../calls/service.ts";

/** Creates ThreadService over an engine. @param client As for RunService; these methods call no model. */
export function createThreadService(engine: RunEngine, client: ModelClient): Service {
  const calls = new CallsInProgress();
  const parts = { engine, client, calls };
  return createService(
    ThreadService,
    {
      createThread: async (request, context) => (await loadMethods()).createThread(parts, request, context),
      getThread: async (request, context) => (await loadMethods()).getThread(parts, request, context),
      updateThread: async (request, context) => (await loadMethods()).updateThread(parts, request, context),
      deleteThread: async (request, context) => (await loadMethods()).deleteThread(parts, request, context),
      appendMessages: async (request, context) =>
        (await loadMethods()).appendMessages(parts, request, context),
      listMessages: async (request, context) => (await loadMethods()).listMessages(parts, request, context),
      getMessage: async (request, context) => (await loadMethods()).getMessage(parts, request, context),
      deleteMessage: async (request, context) => (await loadMethods()).deleteMessage(parts, request, context),
    },
    { cutOff: () => calls.cutOff() },
  );
}

/** See RunService. */
function loadMethods() {
  return import("./runs/methods.ts");
}
