import type { CallOptions } from "../core/adapter.ts";
import type { Caller } from "../core/caller.ts";
import type { MemoryShare } from "../core/memory-pool.ts";
import type { ModelClient } from "../generation/model-calls.ts";

/**
 * A client for background runs: its calls are made on behalf of the run's owner.
 * @param callerOf Called for each call, so that changes to the access keys take effect.
 * @param memory Memory for the answers.
 */
export function createCallerClient(
  client: ModelClient,
  callerOf: () => Caller,
  memory: MemoryShare,
): ModelClient {
  const ownOptions = (options: CallOptions = {}) => ({ ...options, caller: callerOf(), memory });
  return {
    complete: (request, options) => client.complete(request, ownOptions(options)),
    stream: (request, options) => client.stream(request, ownOptions(options)),
    resolveModel: (name) => client.resolveModel?.(name) ?? name,
    supportsToolChoice: (mode, model, provider) => client.supportsToolChoice?.(mode, model, provider) ?? true,
    supportsJsonSchema: (model, provider) => client.supportsJsonSchema?.(model, provider) ?? true,
  };
}
