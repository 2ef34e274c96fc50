import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ContentPart, ContentPartSchema } from "../../gen/outrigger/v1/message_pb.ts";
import { createPart } from "../responses/read-content.ts";

/** Creates a part with the data that its provider needs back, if there is any. */
export function createPartWithState(
  part: NonNullable<MessageInitShape<typeof ContentPartSchema>["part"]>,
  state: ContentPart["providerState"],
): ContentPart {
  return state === undefined ? createPart({ part }) : createPart({ part, providerState: state });
}
