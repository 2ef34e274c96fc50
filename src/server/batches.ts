/**
 * What a service streams, if it knows which of its messages are ready together. A transport
 * that asks for the batches sends each in one write, without a step per message; one that
 * does not gets message after message.
 */
export interface Batched<Item> extends AsyncIterable<Item> {
  /** The items as they became ready; a batch may be empty. To be asked for once, instead of the items. */
  batches(): AsyncIterable<readonly Item[]>;
}

/** The batches of what a service streams; each message is one where the service does not know better. */
export function batchesOf<Item>(items: AsyncIterable<Item> | Batched<Item>): AsyncIterable<readonly Item[]> {
  return "batches" in items ? items.batches() : batchesOfOne(items);
}

async function* batchesOfOne<Item>(items: AsyncIterable<Item>): AsyncGenerator<readonly Item[]> {
  for await (const item of items) yield [item];
}
