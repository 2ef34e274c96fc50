import type { Message } from "../../gen/outrigger/v1/message_pb.ts";

/**
 * Gives every tool call of a run an id of its own (law 5), also where the provider repeats ids
 * or gives none. The same sequence of ids from a provider gives the same ids here, so that a
 * streamed answer and a whole one agree.
 */
export class ToolCallIds {
  readonly #used = new Set<string>();
  readonly #inferenceId: string;

  /** @param history The conversation so far, whose ids are taken. */
  constructor(inferenceId: string, history: readonly Message[] = []) {
    this.#inferenceId = inferenceId;
    for (const { content } of history) {
      for (const { part } of content) if (part.case === "toolCall") this.#used.add(part.value.id);
    }
  }

  /** The id to use for the next call, given what the provider said: the same where that is free. */
  take(id: string): string {
    // Some servers accept ids of at most 40 characters: without its prefix the inference id leaves room for a suffix.
    const base = id === "" ? `call_${this.#inferenceId.replace(/^inf_/, "")}` : id;
    let free = base;
    for (let n = 2; this.#used.has(free); n += 1) free = `${base}_${n}`;
    this.#used.add(free);
    return free;
  }
}
