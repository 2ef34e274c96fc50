/** Requests of callers who speak the Messages API themselves. */
import type { SourceProtocol } from "../../kit/adapter/http-adapter.ts";
import { requestsStream, writeSourceBody } from "../../kit/adapter/source-body.ts";
import type { SseEvent } from "../../kit/stream/sse.ts";
import { BETA_HEADER, MESSAGES_PATH } from "../../wire/anthropic-messages/request.ts";

/** @param toBetaHeader Returns the header with the betas of every request, and with those of the caller. */
export function createSourceProtocol(
  toBetaHeader: (betas: string) => Readonly<Record<string, string>>,
): SourceProtocol {
  return {
    api: "anthropic-messages",
    toWire({ headers, restored, getMembers }, request, streaming) {
      // The API refuses to continue a tool loop without its reasoning.
      if (restored.hasReasoning) return undefined;
      const members = getMembers();
      // The name of `output_config.format` while it was in beta, which older clients write.
      if (members.has("output_format") || requestsStream(members) !== streaming) return undefined;
      return {
        path: MESSAGES_PATH,
        headers: { ...headers, ...toBetaHeader(headers[BETA_HEADER] ?? "") },
        body: writeSourceBody(members, request),
        warnings: [],
        relay: { reportsFailure },
      };
    },
  };
}

/** The official SDKs throw such an event. */
function reportsFailure({ type }: SseEvent): boolean {
  return type === "error";
}
