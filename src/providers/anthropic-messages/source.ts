/** Requests of callers who speak the Messages API themselves. */
import type { ProviderModels } from "../../catalog/catalog.ts";
import type { Request } from "../../gen/outrigger/v1/request_pb.ts";
import type { SourceProtocol } from "../../kit/adapter/http-adapter.ts";
import { requestsStream, writeSourceBody } from "../../kit/adapter/source-body.ts";
import { isObject } from "../../kit/json/json.ts";
import { stringifyJson } from "../../kit/json/json-source.ts";
import type { SseEvent } from "../../kit/stream/sse.ts";
import { BETA_HEADER, MESSAGES_PATH } from "../../wire/anthropic-messages/request.ts";
import type { BetaRequestBody } from "./request.ts";

/** The translation of the same requests, for what the source form lacks. */
export interface SourceParts {
  /** Translates a request without breakpoints of the cache: in this API the caller sets them. */
  readonly translate: (
    request: Request,
    streaming: boolean,
    models: ProviderModels,
  ) => Promise<BetaRequestBody>;
  /** Returns the header with the betas of every request, and with these. */
  readonly toBetaHeader: (betas: readonly string[]) => Readonly<Record<string, string>>;
}

/** Creates the protocol. */
export function createSourceProtocol({ translate, toBetaHeader }: SourceParts): SourceProtocol {
  return {
    api: "anthropic-messages",
    toWire({ headers, restored, getMembers }, request, streaming, models) {
      const members = getMembers();
      // The name of `output_config.format` while it was in beta, which older clients write.
      if (members.has("output_format") || requestsStream(members) !== streaming) return undefined;
      const toWire = ({ changes, betas, warnings }: SourceChanges) => ({
        path: MESSAGES_PATH,
        headers: { ...headers, ...toBetaHeader([headers[BETA_HEADER] ?? "", ...betas]) },
        body: writeSourceBody(members, request, changes),
        warnings,
        relay: { reportsFailure },
      });
      if (!restored.hasReasoning) return toWire({ changes: {}, betas: [], warnings: [] });
      return translate(request, streaming, models).then((translated) => toWire(getChanges(translated)));
    },
  };
}

/** The difference between a request that is sent and its source form. */
interface SourceChanges extends Pick<BetaRequestBody, "betas" | "warnings"> {
  /** JSON text of the changed members, by their names. */
  readonly changes: Readonly<Record<string, string>>;
}

/**
 * Returns the changes for restored reasoning: the API refuses to continue a tool loop without it. The other members stay
 * as the caller spelled them, since newer models accept their reasoning only after the same tools.
 */
function getChanges({ body, betas, warnings }: BetaRequestBody): SourceChanges {
  const { system, messages, thinking } = body;
  const changes: Record<string, string> = { messages: stringifyJson(messages) };
  if (system !== undefined) changes.system = stringifyJson(system);
  if (isObject(thinking) && "block_binding" in thinking) changes.thinking = stringifyJson(thinking);
  return { changes, betas, warnings: warnings.filter(({ field }) => field.startsWith("messages")) };
}

/** The official SDKs throw such an event. */
function reportsFailure({ type }: SseEvent): boolean {
  return type === "error";
}
