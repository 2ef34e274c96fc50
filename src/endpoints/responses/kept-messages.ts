import { equals } from "@bufbuild/protobuf";
import { NotFoundError } from "../../core/errors.ts";
import { measureMemory } from "../../core/measure-memory.ts";
import { type ContentPart, ContentPartSchema, type Message } from "../../gen/outrigger/v1/message_pb.ts";
import type { ThreadMessage } from "../../gen/outrigger/v1/thread_pb.ts";
import { mistake, quote } from "./fields.ts";
import type { ItemPlace } from "./ids.ts";
import type { IdentifiedPart } from "./message-drafts.ts";

/** Messages that the items of one request may look up. */
const MAX_MESSAGES = 256;

/** Memory that they may take: as much as the largest request. */
const MAX_BYTES = 32 * 1024 * 1024;

/** The messages of earlier responses that the items of one request refer to. Each is read once. */
export class KeptMessages {
  readonly #read: (messageId: string) => Promise<ThreadMessage>;
  #bytes = 0;
  readonly #known = new Map<string, Promise<Message | undefined>>();

  /** @param read Reads a message of the caller. Throws NotFoundError. */
  constructor(read: (messageId: string) => Promise<ThreadMessage>) {
    this.#read = read;
  }

  /**
   * The message of an item.
   * @param path Path of its id, for the error that there is none.
   */
  async find(place: ItemPlace, id: string, path: string): Promise<Message> {
    const message = await this.#find(place.messageId);
    if (message !== undefined) return message;
    throw mistake(path, "invalid_value", `${quote(id)} is not the id of a stored item`);
  }

  /** Restores the stored state of the model's parts, of which clients return only the fields that they know. */
  async restoreStates(parts: readonly IdentifiedPart[]): Promise<void> {
    for (const { part, place } of parts) {
      if (part.providerState !== undefined) continue;
      const kept = (await this.#find(place.messageId))?.content[place.part];
      if (kept?.providerState !== undefined && isSame(part, kept)) part.providerState = kept.providerState;
    }
  }

  #find(messageId: string): Promise<Message | undefined> {
    const known = this.#known.get(messageId);
    if (known !== undefined) return known;
    if (this.#known.size >= MAX_MESSAGES || this.#bytes >= MAX_BYTES) return Promise.resolve(undefined);
    const found = this.#load(messageId);
    this.#known.set(messageId, found);
    return found;
  }

  async #load(messageId: string): Promise<Message | undefined> {
    try {
      const { message } = await this.#read(messageId);
      this.#bytes += measureMemory(message);
      return message;
    } catch (thrown) {
      if (thrown instanceof NotFoundError) return undefined;
      throw thrown;
    }
  }
}

/** Whether the client returned the content unchanged: signed content must not be changed. */
function isSame(returned: ContentPart, kept: ContentPart): boolean {
  return equals(ContentPartSchema, bare(returned), bare(kept));
}

/** A part by its content alone. */
function bare({ part }: ContentPart): ContentPart {
  return { $typeName: "outrigger.v1.ContentPart", citations: [], refusal: false, part };
}
