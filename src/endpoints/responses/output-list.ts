/** The items of a response in the order of their indices, as in their last events. */
import type { EventOutput } from "./event-output.ts";
import type { OutputPosition } from "./open-items.ts";
import type { WrittenItem } from "./write-items.ts";

/** Writes the first and the last event of each item, and keeps the items for the response object. */
export class OutputList {
  readonly #output: EventOutput;
  /** JSON text of the items; empty for an item that is not done. */
  readonly #items: string[];

  constructor(output: EventOutput, items: readonly string[] = []) {
    this.#output = output;
    this.#items = [...items];
  }

  /** Returns a copy with the current state. */
  copy(output: EventOutput): OutputList {
    return new OutputList(output, this.#items);
  }

  /** UTF-16 units of all items. */
  get units(): number {
    return this.#items.reduce((sum, { length }) => sum + length, 0);
  }

  /** Begins an item, at the next index. */
  add(item: WrittenItem): OutputPosition {
    const outputIndex = this.#items.push("") - 1;
    const members = `"output_index":${outputIndex},"item":${JSON.stringify(item)}`;
    this.#output.emit("response.output_item.added", members);
    return { id: item.id, outputIndex };
  }

  /** Ends an item. */
  finish({ outputIndex }: OutputPosition, item: WrittenItem): void {
    const text = JSON.stringify(item);
    this.#items[outputIndex] = text;
    this.#output.emit("response.output_item.done", `"output_index":${outputIndex},"item":${text}`);
  }

  /** Removes items from the response object. */
  drop(from: number, end?: number): void {
    this.#items.fill("", from, end);
  }

  /** Number of items. */
  get length(): number {
    return this.#items.length;
  }

  /** Returns the JSON text of the items before an index. */
  before(end: number): readonly string[] {
    return this.#items.slice(0, end).filter((text) => text !== "");
  }
}
