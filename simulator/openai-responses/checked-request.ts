import type { AnyOf, ConversationItem, CreateRequest } from "../../src/wire/openai-responses/request.ts";

/** The body of `POST /v1/responses` once it has been checked. The API takes null for every optional field. */
export interface CheckedRequest extends Nullable<Omit<CreateRequest, "input" | "model">> {
  readonly model: string;
  readonly input?: string | readonly CheckedItem[];
}

/** An item of a conversation that has been checked: the fields that the simulator reads of any item. */
export interface CheckedItem extends Pick<AnyOf<ConversationItem>, ItemField> {
  /** Kind of the item, also of a hosted tool's; a message where there is none. */
  readonly type?: string;
  readonly id?: string | null;
  readonly call_id?: string;
  readonly name?: string;
}

type ItemField = "role" | "content" | "arguments" | "input" | "output" | "summary" | "encrypted_content";

type Nullable<T> = { readonly [Field in keyof T]?: T[Field] | null };
