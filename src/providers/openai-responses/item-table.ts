import { asInt32, objectIn } from "../../kit/json/json.ts";
import type { OutputItem } from "../../wire/openai-responses/response.ts";
import type { StreamEvent } from "../../wire/openai-responses/stream.ts";
import type { Untrusted } from "../../wire/untrusted.ts";
import type { OpenItem } from "./open-blocks.ts";

/**
 * The output items of one stream by their index: which are open, which are done, and which one an event belongs to,
 * even if the server omits the index.
 */
export class ItemTable {
  readonly #open = new Map<number, OpenItem>();
  readonly #done = new Map<number, Untrusted<OutputItem>>();
  /** Finished items whose index the server used again. */
  readonly #replaced: Untrusted<OutputItem>[] = [];
  #next = 0;

  /** All items that are done. */
  get done(): Untrusted<OutputItem>[] {
    return [...this.#replaced, ...this.#done.values()];
  }

  /** The items that have begun and are not done. */
  get open(): ReadonlyMap<number, OpenItem> {
    return this.#open;
  }

  /** Whether the item at an index is done. */
  isDone(index: number): boolean {
    return this.#done.has(index);
  }

  /** Returns the index of an announced item; undefined if it was announced before. */
  announce(event: Untrusted<StreamEvent>, item: Untrusted<OutputItem>): number | undefined {
    const index = asInt32(event.output_index) ?? this.#next;
    const done = this.#done.get(index);
    const isRepeated = done?.id === item.id && done?.type === item.type;
    if (this.#open.has(index) || (done !== undefined && isRepeated)) return undefined;
    // Some servers give several items one index.
    if (done !== undefined) this.#replaced.push(done);
    this.#done.delete(index);
    return index;
  }

  /** Records the item that begins at an index. */
  begin(index: number, open: OpenItem): void {
    this.#open.set(index, open);
    this.#next = Math.max(this.#next, index + 1);
  }

  /** Records the item at an index as done. */
  end(index: number, item: Untrusted<OutputItem>): void {
    this.#open.delete(index);
    this.#done.set(index, item);
    this.#next = Math.max(this.#next, index + 1);
  }

  /**
   * Returns the index that an event names, else the index of the item with its id, else of the last open item of its
   * type, else the next one.
   * @param type Type of the items that such an event is about.
   */
  indexOf(event: Untrusted<StreamEvent>, type: unknown): number {
    const index = asInt32(event.output_index);
    if (index !== undefined) return index;
    const id = objectIn<OutputItem>(event.item).id ?? event.item_id;
    const known = id === undefined ? undefined : this.#indexOfId(id);
    return known ?? this.#lastOfType(type) ?? this.#next;
  }

  #indexOfId(id: unknown): number | undefined {
    for (const [index, { item }] of this.#open) if (item.id === id) return index;
    for (const [index, item] of this.#done) if (item.id === id) return index;
    return undefined;
  }

  #lastOfType(type: unknown): number | undefined {
    return [...this.#open].findLast(([, { item }]) => item.type === type)?.[0];
  }
}
