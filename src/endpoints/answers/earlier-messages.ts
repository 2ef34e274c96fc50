import { NotFoundError } from "../../core/errors.ts";
import { measureMemory } from "../../core/memory-pool.ts";
import type { Message } from "../../gen/outrigger/v1/message_pb.ts";
import type { StoredMessage } from "../../runs/store.ts";
import { invalidParameter, quote } from "../openai/fields.ts";
import type { ItemLocation } from "../openai/ids.ts";

/** Maximum number of messages that the items of one request may look up. */
const MAX_MESSAGES = 256;

/** Maximum memory of these messages: as much as the largest request. */
const MAX_BYTES = 32 * 1024 * 1024;

/** Finds messages of the caller. */
export interface MessageSource {
  /** Returns a message by its id. Throws NotFoundError. */
  getMessage(messageId: string): Promise<MessageWithId>;
  /** Returns the latest message whose first tool call has this id. */
  findCall(toolCallId: string): Promise<MessageWithId | undefined>;
}

/** The fields of a stored message that are read here. */
export type MessageWithId = Pick<StoredMessage, "id" | "message">;

/** A message of an earlier response. */
export interface EarlierMessage {
  readonly id: string;
  readonly message: Message;
}

/** The messages of earlier responses that the items of one request refer to. Each is read once. */
export class EarlierMessages {
  readonly #source: MessageSource;
  #bytes = 0;
  readonly #known = new Map<string, Promise<EarlierMessage | undefined>>();

  constructor(source: MessageSource) {
    this.#source = source;
  }

  /**
   * Returns the message of an item.
   * @param path Path of its id, for the error if there is no such message.
   */
  async find(location: ItemLocation, id: string, path: string): Promise<Message> {
    const kept = await this.withId(location.messageId);
    if (kept !== undefined) return kept.message;
    throw invalidParameter(path, "invalid_value", `${quote(id)} is not the id of a stored item`);
  }

  /** Returns a message by its id. Undefined if there is none, or the request has looked up too much. */
  withId(messageId: string): Promise<EarlierMessage | undefined> {
    return this.#once(messageId, () => this.#source.getMessage(messageId));
  }

  /**
   * Returns the message whose first tool call has this id. Undefined if there is none, or the request has looked up too
   * much.
   */
  withCall(toolCallId: string): Promise<EarlierMessage | undefined> {
    return this.#once(`call ${toolCallId}`, () => this.#source.findCall(toolCallId));
  }

  #once(key: string, read: () => Promise<MessageWithId | undefined>): Promise<EarlierMessage | undefined> {
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    if (this.#known.size >= MAX_MESSAGES || this.#bytes >= MAX_BYTES) return Promise.resolve(undefined);
    const found = this.#load(read);
    this.#known.set(key, found);
    return found;
  }

  async #load(read: () => Promise<MessageWithId | undefined>): Promise<EarlierMessage | undefined> {
    try {
      const { id = "", message } = (await read()) ?? {};
      this.#bytes += measureMemory(message);
      return message && { id, message };
    } catch (thrown) {
      if (thrown instanceof NotFoundError) return undefined;
      throw thrown;
    }
  }
}
