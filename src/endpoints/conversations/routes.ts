/** `/v1/conversations`: threads that a caller creates, and their items. */

import { NotFoundError } from "../../core/errors.ts";
import type { Thread } from "../../gen/outrigger/v1/thread_pb.ts";
import type { EndpointRequest, EndpointResponse } from "../../http/endpoint.ts";
import { jsonResponse } from "../../http/json-response.ts";
import type { RouteDefinition } from "../../http/route-table.ts";
import type { NewMessage, ThreadInput } from "../../runs/engine.ts";
import { missing } from "../../runs/errors.ts";
import type { Threads } from "../../runs/threads.ts";
import { type Fields, invalidParameter, parseBody, quote, readMetadata } from "../openai/fields.ts";
import { type ItemLocation, parseItemId, toConversationId, toThreadId } from "../openai/ids.ts";
import { conversationNotFound } from "../openai/not-found.ts";
import { RequestNotes } from "../openai/request-notes.ts";
import { listItems, readPage, withinMemory } from "../responses/item-list.ts";
import { readInput } from "../responses/read-input.ts";
import { ReadingContext } from "../responses/reading-context.ts";
import { defaultSettings } from "../responses/settings.ts";
import { ToolNames } from "../responses/tool-names.ts";
import { toMessageItems } from "../responses/write-input-items.ts";
import { ItemWriter } from "../responses/write-items.ts";

/** Maximum number of items per request, as in OpenAI's API. */
const MAX_ITEMS = 20;

/** Creates the routes. */
export function conversationRoutes(threads: Threads): RouteDefinition[] {
  const routes = new ConversationRoutes(threads);
  const one = "/v1/conversations/{conversation_id}";
  const toRoute = (method: string, path: string, serve: Serve): RouteDefinition => ({
    method,
    path,
    serve: (request, id = "", item = "") =>
      serveConversation(id, item, () => serve.call(routes, request, id, item)),
  });
  return [
    toRoute("POST", "/v1/conversations", routes.create),
    toRoute("GET", one, routes.retrieve),
    toRoute("POST", one, routes.update),
    toRoute("DELETE", one, routes.delete),
    toRoute("GET", `${one}/items`, routes.listItems),
    toRoute("POST", `${one}/items`, routes.createItems),
    toRoute("GET", `${one}/items/{item_id}`, routes.retrieveItem),
    toRoute("DELETE", `${one}/items/{item_id}`, routes.deleteItem),
  ];
}

type Serve = (request: EndpointRequest, id: string, itemId: string) => Promise<EndpointResponse>;

/** Serves a request. Replaces errors of the engine about threads and messages, which this API does not show. */
async function serveConversation(
  id: string,
  itemId: string,
  serve: () => Promise<EndpointResponse>,
): Promise<EndpointResponse> {
  try {
    return await serve();
  } catch (error) {
    if (!(error instanceof NotFoundError)) throw error;
    if (error.message === missing("thread", toThreadId(id) ?? "").message) throw conversationNotFound(id);
    if (error.message === missing("message", parseItemId(itemId)?.messageId ?? "").message)
      throw itemNotFound(itemId);
    throw error;
  }
}

class ConversationRoutes {
  readonly #threads: Threads;

  constructor(threads: Threads) {
    this.#threads = threads;
  }

  async create(request: EndpointRequest): Promise<EndpointResponse> {
    const thread = await this.#threads.createThread(request.caller.name, await this.#readThread(request));
    return jsonResponse(toConversation(thread));
  }

  async retrieve({ caller }: Pick<EndpointRequest, "caller">, id: string): Promise<EndpointResponse> {
    return jsonResponse(toConversation(await this.#threads.getThread(caller.name, requireThreadId(id))));
  }

  async update(request: EndpointRequest, id: string): Promise<EndpointResponse> {
    const threadId = requireThreadId(id);
    const metadata = readMetadata(parseBody(await request.readBody()));
    return jsonResponse(
      toConversation(await this.#threads.updateThread(request.caller.name, threadId, metadata)),
    );
  }

  async delete({ caller }: EndpointRequest, id: string): Promise<EndpointResponse> {
    await this.#threads.deleteThread(caller.name, requireThreadId(id));
    return jsonResponse({ id, object: "conversation.deleted", deleted: true });
  }

  listItems(request: EndpointRequest, id: string): Promise<EndpointResponse> {
    const { caller, query } = request;
    const threadId = requireThreadId(id);
    const page = { owner: caller.name, source: { threadId }, ...readPage(query) };
    return listItems(withinMemory(this.#threads, request), page, createWriter(query));
  }

  async createItems(request: EndpointRequest, id: string): Promise<EndpointResponse> {
    const threadId = requireThreadId(id);
    const owner = request.caller.name;
    const added = await this.#threads.appendMessages(owner, threadId, await this.#readAddition(request));
    const writer = createWriter(request.query);
    const data = added.flatMap((message) => toMessageItems(message, writer));
    const ids = { first_id: data[0]?.id ?? "", last_id: data.at(-1)?.id ?? "" };
    return jsonResponse({ object: "list", data, ...ids, has_more: false });
  }

  async retrieveItem(
    { caller, query, readStored }: EndpointRequest,
    id: string,
    itemId: string,
  ): Promise<EndpointResponse> {
    const read = () => this.#getItems(caller.name, requireThreadId(id), itemId, createWriter(query));
    const items = await readStored(read);
    const item = items.find((each) => each.id === itemId);
    if (item === undefined) throw itemNotFound(itemId);
    return jsonResponse(item);
  }

  /** Deletes the message of an item. The items of one turn of the model are deleted together. */
  async deleteItem(
    { caller, query }: EndpointRequest,
    id: string,
    itemId: string,
  ): Promise<EndpointResponse> {
    const threadId = requireThreadId(id);
    const items = await this.#getItems(caller.name, threadId, itemId, createWriter(query));
    if (!items.some((each) => each.id === itemId)) throw itemNotFound(itemId);
    if (items.length > 1)
      throw invalidParameter(
        "item_id",
        "invalid_value",
        `is one of ${items.length} items of a turn, which cannot be deleted separately`,
      );
    await this.#threads.deleteMessage(caller.name, threadId, requireLocation(itemId).messageId);
    return this.retrieve({ caller }, id);
  }

  /** Returns the items of the message to which an item of the conversation belongs. */
  async #getItems(owner: string, threadId: string, itemId: string, writer: ItemWriter) {
    await this.#threads.getThread(owner, threadId);
    const { messageId } = requireLocation(itemId);
    return toMessageItems(await this.#threads.getMessage(owner, messageId, threadId), writer);
  }

  // A suspended function keeps all its variables alive. So the next functions read the body and return before anything
  // is stored.

  async #readThread(request: EndpointRequest): Promise<ThreadInput> {
    const body = await request.readBody();
    const fields = parseBody(body.length === 0 ? NO_FIELDS : body);
    const metadata = readMetadata(fields);
    const messages = fields.has("items") ? await this.#readItems(fields, request.caller.name) : [];
    return { metadata, messages };
  }

  async #readAddition(request: EndpointRequest): Promise<readonly NewMessage[]> {
    const fields = parseBody(await request.readBody());
    if (!fields.has("items")) fields.missing("items", "a list of items");
    return this.#readItems(fields, request.caller.name);
  }

  /** The model that will read the items is not known yet, so items of OpenAI's API are stored unchanged. */
  async #readItems(fields: Fields, owner: string): Promise<readonly NewMessage[]> {
    fields.list("items", { max: MAX_ITEMS });
    const context = new ReadingContext({
      served: { provider: "openai", model: "", api: "openai-responses" },
      names: new ToolNames([]),
      notes: new RequestNotes(),
      isStateful: true,
      messages: {
        getMessage: (messageId) => this.#threads.getMessage(owner, messageId),
        findCall: (callId) => this.#threads.findCall(owner, callId),
      },
    });
    const { messages, approvals } = await readInput(fields, "items", () => context);
    if (approvals.length > 0)
      throw invalidParameter(
        "items",
        "unsupported_value",
        "contains an approval, which belongs in the input of a response",
      );
    return messages;
  }
}

const NO_FIELDS = Buffer.from("{}");

function toConversation({ id, createdAt, metadata }: Thread): object {
  const created_at = Number(createdAt?.seconds ?? 0);
  return { id: toConversationId(id), object: "conversation", created_at, metadata };
}

function requireThreadId(id: string): string {
  const threadId = toThreadId(id);
  if (threadId !== undefined) return threadId;
  throw conversationNotFound(id);
}

function requireLocation(itemId: string): ItemLocation {
  const location = parseItemId(itemId);
  if (location !== undefined) return location;
  throw itemNotFound(itemId);
}

function itemNotFound(itemId: string): NotFoundError {
  return new NotFoundError(`the item ${quote(itemId)} is not in the conversation`);
}

/**
 * Creates a writer for items with the fields that the query asks for: `include=a&include=b`, or `include[]=a` as some
 * SDKs write it.
 */
function createWriter(query: URLSearchParams): ItemWriter {
  return new ItemWriter({
    ...defaultSettings,
    include: [...query.getAll("include"), ...query.getAll("include[]")],
  });
}
