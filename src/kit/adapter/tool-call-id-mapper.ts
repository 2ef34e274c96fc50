import { createHash } from "node:crypto";
import type { LossReport } from "./loss-report.ts";

/** Ids of tool calls that a provider takes. */
export interface ToolCallIdRule {
  /** Fits the ids that are taken, as a whole. Without the flags `g` and `y`. */
  readonly pattern: RegExp;
  /** How ids that are made here begin. */
  readonly prefix: string;
  /** Letters and digits that follow, at most 32. Together with the prefix they fit the pattern. */
  readonly length: number;
}

const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/**
 * Ids of the tool calls of one conversation as a provider takes them, none twice: an id that it
 * refuses, or that an earlier call has, is replaced by one made from it. To be asked in the order
 * of the conversation. What comes later does not change what was given before, so that each turn
 * begins with the same bytes as the one before it. That ids were replaced is told once.
 */
export class ToolCallIdMapper {
  readonly #rule: ToolCallIdRule;
  readonly #loss: LossReport;
  readonly #used = new Set<string>();
  /** By id: the attempt to make an id from it that succeeded last, so that many calls with one id take linear time. */
  readonly #nextAttempt = new Map<string, number>();
  readonly #latest = new Map<string, string>();
  #told = false;

  constructor(rule: ToolCallIdRule, loss: LossReport) {
    this.#rule = rule;
    this.#loss = loss;
  }

  /**
   * The id of a call on the wire.
   * @param field Path of the call's id in the request, for the note.
   */
  ofCall(id: string, field: string): string {
    const taken = this.#rule.pattern.test(id) && !this.#used.has(id) ? id : this.#make(id);
    this.#used.add(taken);
    this.#latest.set(id, taken);
    if (taken !== id) this.#tell(field);
    return taken;
  }

  /** The id of the call that a result answers: of the latest call with that id. */
  ofResult(id: string): string {
    return this.#latest.get(id) ?? (this.#rule.pattern.test(id) ? id : this.#make(id));
  }

  /** The first free one of the ids that are made from an id. Goes on where the last search for that id ended. */
  #make(id: string): string {
    for (let attempt = this.#nextAttempt.get(id) ?? 0; ; attempt += 1) {
      const made = this.#rule.prefix + digestOf(`${attempt} ${id}`, this.#rule.length);
      if (this.#used.has(made)) continue;
      this.#nextAttempt.set(id, attempt);
      return made;
    }
  }

  #tell(field: string): void {
    if (this.#told) return;
    this.#told = true;
    const message =
      "the provider takes no such id of a tool call; such ids are replaced, in calls and results, the same in every turn";
    this.#loss.note(field, "converted_content", message);
  }
}

function digestOf(text: string, length: number): string {
  const digest = createHash("sha256").update(text).digest().subarray(0, length);
  return Array.from(digest, (byte) => ALPHABET[byte % ALPHABET.length]).join("");
}
