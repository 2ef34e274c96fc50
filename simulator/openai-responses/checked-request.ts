import type { AnyMember, ConversationItem, CreateRequest } from "../../src/wire/openai-responses/request.ts";

/** The checked body of `POST /v1/responses`. The API accepts null for every optional field. */
export interface CheckedRequest extends Nullable<Omit<CreateRequest, "input" | "model">> {
  readonly model: string;
  readonly input?: string | readonly CheckedItem[];
}

/** A checked item of a conversation: the fields that the simulator reads of any item. */
export interface CheckedItem extends Pick<AnyMember<ConversationItem>, ItemField> {
  /** Kind of the item, including items of hosted tools; an item without a kind is a message. */
  readonly type?: string;
  readonly id?: string | null;
  readonly call_id?: string;
  readonly name?: string;
}

type ItemField = "role" | "content" | "arguments" | "input" | "output" | "summary" | "encrypted_content";

type Nullable<T> = { readonly [Field in keyof T]?: T[Field] | null };
