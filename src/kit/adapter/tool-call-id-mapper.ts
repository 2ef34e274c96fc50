import { hash } from "node:crypto";
import type { LossReport } from "../call/loss-report.ts";

/** The tool-call ids that a provider accepts. */
export interface ToolCallIdRule {
  /** Matches an accepted id as a whole. Without the flags `g` and `y`. */
  readonly pattern: RegExp;
  /** Prefix of generated ids. */
  readonly prefix: string;
  /** Number of letters and digits after the prefix, at most 32. Prefix and digits together match the pattern. */
  readonly length: number;
}

const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/**
 * Maps the tool-call ids of one conversation to ids that a provider accepts, each used once: an id that the provider
 * rejects, or that an earlier call has, is replaced by a derived one. Call it in the order of the conversation. Later
 * calls do not change earlier ids, so that each turn begins with the same bytes as the previous one. Replacements are
 * reported once.
 */
export class ToolCallIdMapper {
  readonly #rule: ToolCallIdRule;
  readonly #loss: LossReport;
  readonly #used = new Set<string>();
  /**
   * By id: the last attempt to derive another id that succeeded. The next one continues there, so that many calls with
   * one id take linear time.
   */
  readonly #lastAttempt = new Map<string, number>();
  readonly #latest = new Map<string, string>();
  #isReported = false;

  constructor(rule: ToolCallIdRule, loss: LossReport) {
    this.#rule = rule;
    this.#loss = loss;
  }

  /**
   * Returns the id of a call on the wire.
   * @param field Path of the call's id in the request, for the warning.
   */
  ofCall(id: string, field: string): string {
    const taken = this.#rule.pattern.test(id) && !this.#used.has(id) ? id : this.#make(id);
    this.#used.add(taken);
    this.#latest.set(id, taken);
    if (taken !== id) this.#report(field);
    return taken;
  }

  /** Returns the id on the wire of the call that a result belongs to: the latest call with that id. */
  ofResult(id: string): string {
    return this.#latest.get(id) ?? (this.#rule.pattern.test(id) ? id : this.#make(id));
  }

  /** Returns the first free id derived from an id. Continues after the last attempt for that id. */
  #make(id: string): string {
    for (let attempt = this.#lastAttempt.get(id) ?? 0; ; attempt += 1) {
      const made = this.#rule.prefix + digest(`${attempt} ${id}`, this.#rule.length);
      if (this.#used.has(made)) continue;
      this.#lastAttempt.set(id, attempt);
      return made;
    }
  }

  #report(field: string): void {
    if (this.#isReported) return;
    this.#isReported = true;
    const message =
      "the provider does not accept this tool-call id; such ids are replaced in calls and results, in the same way in every turn";
    this.#loss.note(field, "converted_content", message);
  }
}

function digest(text: string, length: number): string {
  const digest = hash("sha256", text, "buffer");
  let letters = "";
  for (let index = 0; index < length; index += 1)
    letters += ALPHABET[digest.readUInt8(index) % ALPHABET.length];
  return letters;
}
