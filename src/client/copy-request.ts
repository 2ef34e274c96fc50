import type { Request } from "../gen/outrigger/v1/request_pb.ts";

/**
 * A copy of a request for middleware to change: its fields, lists and maps, down to the lists of parts. The parts
 * themselves, which hold the images, are shared: a middleware replaces a part instead of changing it.
 */
export function copyRequest(request: Request): Request {
  return {
    ...request,
    messages: request.messages.map((message) => ({ ...message, content: [...message.content] })),
    tools: [...request.tools],
    stopSequences: [...request.stopSequences],
    metadata: { ...request.metadata },
    providerOptionsJson: { ...request.providerOptionsJson },
  };
}
