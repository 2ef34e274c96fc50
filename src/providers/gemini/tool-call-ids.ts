import { asString } from "../../kit/json/json.ts";
import type { FunctionCall } from "../../wire/gemini/request.ts";
import type { Untrusted } from "../../wire/untrusted.ts";

/**
 * Returns the API's id of a call. Undefined for models before Gemini 3, which give none: the ids that callers see for
 * these were generated here, and are not sent.
 */
export function getNativeId(call: Untrusted<FunctionCall>): string | undefined {
  return asString(call.id);
}

/** Finds the calls of a conversation that wait for their results, by the ids that the caller uses. */
export class WaitingCalls<Call> {
  /** Ids are unique within one assistant message; of two messages with the same id the later one is found first. */
  readonly #byId = new Map<string, Call[]>();

  /** Adds a call. */
  add(id: string, call: Call): void {
    const calls = this.#byId.get(id);
    if (calls === undefined) this.#byId.set(id, [call]);
    else calls.push(call);
  }

  /** Takes the call that a result belongs to; undefined if no call with that id waits. */
  take(id: string): Call | undefined {
    return this.#byId.get(id)?.pop();
  }
}
