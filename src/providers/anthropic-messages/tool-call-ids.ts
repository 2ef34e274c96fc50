import { createHash } from "node:crypto";
import type { LossReport } from "../../kit/adapter/loss-report.ts";

/**
 * Ids of tool calls as the API takes them: `^[a-zA-Z0-9_-]+$`, and none twice in a conversation.
 * Ids of other providers are rewritten, in the same way in every turn.
 */
export class ToolIds {
  readonly #loss: LossReport;
  readonly #used = new Set<string>();
  readonly #latest = new Map<string, string>();

  constructor(loss: LossReport) {
    this.#loss = loss;
  }

  /** The id of a call on the wire. @param field Path of the call, for the warning. */
  ofCall(id: string, field: string): string {
    const base = TAKEN.test(id) ? id : `toolu_${digestOf(id)}`;
    let free = base;
    for (let n = 2; this.#used.has(free); n += 1) free = `${base}_${n}`;
    this.#used.add(free);
    this.#latest.set(id, free);
    if (free !== id) {
      const message = `the id of the tool call was rewritten to ${free}, here and in its result`;
      this.#loss.note(`${field}.tool_call.id`, "converted_content", message);
    }
    return free;
  }

  /** The id of the call that a result answers: of the latest one with that id. */
  ofResult(id: string): string {
    return this.#latest.get(id) ?? id;
  }
}

const TAKEN = /^[a-zA-Z0-9_-]+$/;

function digestOf(id: string): string {
  return createHash("sha256").update(id).digest("hex").slice(0, 24);
}
