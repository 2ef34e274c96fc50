import { asString } from "../../kit/json/json.ts";
import type { FunctionCall } from "../../wire/gemini/request.ts";
import type { Untrusted } from "../../wire/untrusted.ts";

/**
 * The API's own id of a call. Models before Gemini 3 give none; the ids that callers see then were generated here, and
 * are not sent. Undefined there.
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

  /** Takes the call that a result is for; undefined where none with that id waits. */
  take(id: string): Call | undefined {
    return this.#byId.get(id)?.pop();
  }
}
