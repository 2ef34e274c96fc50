import type { CallOptions } from "../core/adapter.ts";
import type { Caller } from "../core/caller.ts";
import type { ModelClient } from "../generation/model-calls.ts";

/**
 * A client for runs that nobody waits for: its calls are those of the run's owner.
 * @param callerOf Asked for each call, so that a key that was changed or taken out counts as it is now.
 */
export function createCallerClient(client: ModelClient, callerOf: () => Caller): ModelClient {
  const ownOptions = (options: CallOptions = {}) => ({ ...options, caller: callerOf() });
  return {
    complete: (request, options) => client.complete(request, ownOptions(options)),
    stream: (request, options) => client.stream(request, ownOptions(options)),
    supportsToolChoice: (mode, model, provider) => client.supportsToolChoice?.(mode, model, provider) ?? true,
    supportsJsonSchema: (model, provider) => client.supportsJsonSchema?.(model, provider) ?? true,
  };
}
