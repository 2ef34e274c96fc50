import type { Request } from "../gen/outrigger/v1/request_pb.ts";

/**
 * Copies a request for middleware to change: its fields, settings, lists and maps, down to the lists of parts. Parts,
 * which hold the images, and tools are shared: a middleware replaces one instead of changing it.
 */
export function copyRequest(request: Request): Request {
  const { toolChoice, responseFormat, timeouts } = request;
  return {
    ...request,
    ...(toolChoice === undefined ? {} : { toolChoice: { ...toolChoice } }),
    ...(responseFormat === undefined ? {} : { responseFormat: { ...responseFormat } }),
    ...(timeouts === undefined ? {} : { timeouts: { ...timeouts } }),
    messages: request.messages.map((message) => ({ ...message, content: [...message.content] })),
    tools: [...request.tools],
    stopSequences: [...request.stopSequences],
    metadata: { ...request.metadata },
    providerOptionsJson: { ...request.providerOptionsJson },
  };
}
