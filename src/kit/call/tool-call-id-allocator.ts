import type { Message } from "../../gen/outrigger/v1/message_pb.ts";

/**
 * Gives every tool call of an answer an id that is unique in the call and its history (law 5), even if the provider
 * repeats ids or gives none. The same sequence of provider ids gives the same ids, so that a streamed answer and a
 * whole one agree.
 */
export class ToolCallIdAllocator {
  readonly #used = new Set<string>();
  /** By id: the suffix to try next, so that many calls with one id take linear time. */
  #nextSuffix: Map<string, number> | undefined;
  readonly #inferenceId: string;

  /** @param history The conversation so far; its ids are in use. */
  constructor(inferenceId: string, history: readonly Message[] = []) {
    this.#inferenceId = inferenceId;
    for (const { content } of history) {
      for (const { part } of content) if (part.case === "toolCall") this.#used.add(part.value.id);
    }
  }

  /** Returns the id of the next call: the provider's id if it is free. */
  take(id: string): string {
    // Some servers accept ids of at most 40 characters: without its prefix the inference id leaves room for a suffix.
    const base = id === "" ? `call_${this.#inferenceId.replace(/^inf_/, "")}` : id;
    const free = this.#freeFrom(base);
    this.#used.add(free);
    return free;
  }

  /**
   * Returns the id itself, or the id with the first free numeric suffix. Continues after the last suffix that was
   * tried.
   */
  #freeFrom(base: string): string {
    if (!this.#used.has(base)) return base;
    this.#nextSuffix ??= new Map();
    let suffix = this.#nextSuffix.get(base) ?? 2;
    while (this.#used.has(`${base}_${suffix}`)) suffix += 1;
    this.#nextSuffix.set(base, suffix + 1);
    return `${base}_${suffix}`;
  }
}
