import type { ContentBlock } from "../../src/wire/anthropic-messages/response.ts";
import type { ContentBlockDelta } from "../../src/wire/anthropic-messages/stream.ts";

/**
 * A member of a union in the form in which it is sent: the API leaves out fields whose type in the SDK includes null.
 */
type Sent<Union> = Union extends unknown
  ? { readonly [Field in keyof Union as null extends Union[Field] ? never : Field]: Union[Field] } & {
      readonly [Field in keyof Union as null extends Union[Field] ? Field : never]?: Union[Field];
    }
  : never;

/** A content block in the form in which it is sent. */
export type SentBlock = Sent<ContentBlock>;

/** The `delta` of a `content_block_delta` in the form in which it is sent. */
export type SentDelta = Sent<ContentBlockDelta>;
