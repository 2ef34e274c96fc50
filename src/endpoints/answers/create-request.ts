/** Creates parts of requests as object literals. `create` returns equal objects, but takes ten times as long. */

import type { ContentPart, Message } from "../../gen/outrigger/v1/message_pb.ts";
import { FinalResponse, LossPolicy, type Request, StatePolicy } from "../../gen/outrigger/v1/request_pb.ts";

/** Creates a request. */
export function createRequest(fields: Partial<Request>): Request {
  return {
    $typeName: "outrigger.v1.Request",
    model: "",
    messages: [],
    provider: "",
    tools: [],
    stopSequences: [],
    reasoningEffort: "",
    metadata: {},
    providerOptionsJson: {},
    lossPolicy: LossPolicy.UNSPECIFIED,
    foreignState: StatePolicy.UNSPECIFIED,
    includeRaw: false,
    finalResponse: FinalResponse.UNSPECIFIED,
    ...fields,
  };
}

/** Creates a message. */
export function createMessage(fields: Pick<Message, "role" | "content"> & Partial<Message>): Message {
  return { $typeName: "outrigger.v1.Message", name: "", toolCallId: "", ...fields };
}

/** Creates a text part. */
export function createTextPart(text: string): ContentPart {
  const part = { case: "text", value: text } as const;
  return { $typeName: "outrigger.v1.ContentPart", citations: [], refusal: false, part };
}
