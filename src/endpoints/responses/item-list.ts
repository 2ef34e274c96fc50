/** Pages of items: of the input of a response, or of a conversation. */
import { invalidField } from "../../core/errors.ts";
import type { EndpointRequest, EndpointResponse } from "../../http/endpoint.ts";
import { jsonResponse } from "../../http/json-response.ts";
import type { MessageQuery, StoredMessage } from "../../runs/store.ts";
import type { Threads } from "../../runs/threads.ts";
import { quote } from "../openai/fields.ts";
import { parseItemId } from "../openai/ids.ts";
import { toMessageItems } from "./write-input-items.ts";
import type { ItemWriter, WrittenItem } from "./write-items.ts";

/** Selects items. */
export interface ItemQuery {
  readonly owner: string;
  /** The messages that contain the items. */
  readonly source: Pick<MessageQuery, "threadId" | "inputRunId">;
  /** Id of the last item of the previous page. Empty for the first page. */
  readonly after: string;
  readonly limit: number;
  readonly order: "asc" | "desc";
}

const DEFAULT_LIMIT = 20;
const MAX_LIMIT = 100;

/** Reads `after`, `limit` and `order` of a request. @throws InvalidRequestError that names the parameter. */
export function readPage(query: URLSearchParams): Pick<ItemQuery, "after" | "limit" | "order"> {
  const limit = query.get("limit") ?? String(DEFAULT_LIMIT);
  const order = query.get("order") ?? "desc";
  if (!/^\d{1,3}$/.test(limit) || Number(limit) < 1 || Number(limit) > MAX_LIMIT)
    throw invalidField("limit", `expected a whole number from 1 to ${MAX_LIMIT}, found ${quote(limit)}`);
  if (order !== "asc" && order !== "desc")
    throw invalidField("order", `expected "asc" or "desc", found ${quote(order)}`);
  return { after: query.get("after") ?? "", limit: Number(limit), order };
}

/** The source of items. */
export type ItemSource = Pick<Threads, "listMessages" | "getMessage">;

/** Reads items within the memory of a request. */
export function withinMemory(
  engine: ItemSource,
  { readStored }: Pick<EndpointRequest, "readStored">,
): ItemSource {
  return {
    listMessages: (owner, query) => readStored(() => engine.listMessages(owner, query)),
    getMessage: (owner, id) => readStored(() => engine.getMessage(owner, id)),
  };
}

/** Returns a page of items as a response. */
export async function listItems(
  engine: ItemSource,
  query: ItemQuery,
  writer: ItemWriter,
): Promise<EndpointResponse> {
  const { limit } = query;
  const reader = new ItemReader(engine, query, writer);
  const items = await readItems(reader, limit);
  const data = items.slice(0, limit);
  return jsonResponse({
    object: "list",
    data,
    first_id: data[0]?.id ?? "",
    last_id: data.at(-1)?.id ?? "",
    has_more: items.length > limit || reader.hasMore,
  });
}

/** Reads one item more than the page, to learn whether there are more. A page with large items ends early. */
async function readItems(reader: ItemReader, limit: number): Promise<readonly WrittenItem[]> {
  const items: WrittenItem[] = [];
  for await (const page of reader.pages()) {
    items.push(...page);
    if (items.length > limit || (reader.isCut && items.length > 0)) break;
  }
  return items;
}

class ItemReader {
  readonly #engine: ItemSource;
  readonly #query: ItemQuery;
  readonly #writer: ItemWriter;
  /** Whether the store ended the last page of messages early because they are large. */
  isCut = false;
  /** Whether there are messages after the last page. */
  hasMore = false;

  constructor(engine: ItemSource, query: ItemQuery, writer: ItemWriter) {
    this.#engine = engine;
    this.#query = query;
    this.#writer = writer;
  }

  /** Yields the items that follow `after` in its message, and then the items of each page of messages. */
  async *pages(): AsyncGenerator<readonly WrittenItem[]> {
    const { owner, after, limit, order, source } = this.#query;
    let last = "";
    if (after !== "") {
      const location = parseItemId(after);
      if (location === undefined) throw invalidField("after", `the item ${quote(after)} does not exist`);
      last = location.messageId;
      const items = this.#writeItems(await this.#engine.getMessage(owner, last));
      yield items.slice(items.findIndex(({ id }) => id === after) + 1);
    }
    const direction = order === "asc" ? "oldest first" : "latest first";
    do {
      const page = await this.#engine.listMessages(owner, {
        ...source,
        after: last,
        limit: limit + 1,
        order: direction,
      });
      last = page.elements.at(-1)?.id ?? "";
      this.hasMore = page.hasMore && last !== "";
      this.isCut = this.hasMore && page.elements.length <= limit;
      yield page.elements.flatMap((message) => this.#writeItems(message));
    } while (this.hasMore);
  }

  #writeItems(message: StoredMessage): readonly WrittenItem[] {
    const items = toMessageItems(message, this.#writer);
    return this.#query.order === "asc" ? items : items.toReversed();
  }
}
