import type { Message } from "../../gen/outrigger/v1/message_pb.ts";

/**
 * Gives every tool call of an answer an id that is unique in the call and its history (law 5), even if the provider
 * repeats ids or gives none. The same sequence of provider ids gives the same ids, so that a streamed answer and a
 * whole one agree.
 */
export class ToolCallIdAllocator {
  readonly #history: readonly Message[];
  /** Filled for the first tool call: most answers have none, and the conversation may be long. */
  #used: Set<string> | undefined;
  /** By id: the suffix to try next, so that many calls with one id take linear time. */
  #nextSuffix: Map<string, number> | undefined;
  readonly #inferenceId: string;

  /** @param history The conversation so far; its ids are in use. */
  constructor(inferenceId: string, history: readonly Message[] = []) {
    this.#inferenceId = inferenceId;
    this.#history = history;
  }

  /** Returns the id of the next call: the provider's id if it is free. */
  take(id: string): string {
    // Some servers accept ids of at most 40 characters: without its prefix the inference id leaves room for a suffix.
    const base = id === "" ? `call_${this.#inferenceId.replace(/^inf_/, "")}` : id.toWellFormed();
    this.#used ??= collectToolCallIds(this.#history);
    const free = this.#freeFrom(base, this.#used);
    this.#used.add(free);
    return free;
  }

  /**
   * Returns the id itself, or the id with the first free numeric suffix. Continues after the last suffix that was
   * tried.
   */
  #freeFrom(base: string, used: ReadonlySet<string>): string {
    if (!used.has(base)) return base;
    this.#nextSuffix ??= new Map();
    let suffix = this.#nextSuffix.get(base) ?? 2;
    while (used.has(`${base}_${suffix}`)) suffix += 1;
    this.#nextSuffix.set(base, suffix + 1);
    return `${base}_${suffix}`;
  }
}

function collectToolCallIds(messages: readonly Message[]): Set<string> {
  const ids = new Set<string>();
  for (const { content } of messages)
    for (const { part } of content) if (part.case === "toolCall") ids.add(part.value.id);
  return ids;
}
