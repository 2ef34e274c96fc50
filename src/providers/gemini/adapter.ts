/** Wiring of the Gemini adapter: URL, headers, and the translation in this folder. */

import type { ProviderModels } from "../../catalog/catalog.ts";
import type { Request, ToolChoice_Mode } from "../../gen/outrigger/v1/request_pb.ts";
import { requireCredential } from "../../kit/adapter/credentials.ts";
import {
  type AdapterCallOptions,
  HttpAdapter,
  type HttpAdapterOptions,
  type Protocol,
} from "../../kit/adapter/http-adapter.ts";
import { createHttpTransport } from "../../kit/http/transport.ts";
import { stringifyJson } from "../../kit/json/json-source.ts";
import { createMediaReader } from "../../kit/media/media-reader.ts";
import { createRequestMedia } from "../../kit/media/request-media.ts";
import { PROVIDER_NAME } from "./context.ts";
import { toCount, toCountBody } from "./count-tokens.ts";
import { createEmbeddingProtocol } from "./embeddings.ts";
import { toError } from "./error.ts";
import { toMethodPath, toPath, toRequestBody } from "./request.ts";
import { toResponse } from "./response.ts";
import { createSourceProtocol } from "./source.ts";
import { GeminiDecoder } from "./stream.ts";
import { acceptsToolChoice } from "./tools.ts";

/** Settings of a provider: Google's Gemini API, or a server with the same API. */
export interface GeminiAdapterOptions extends HttpAdapterOptions {
  /** The key, sent as `x-goog-api-key` and never in a URL. Required. */
  readonly apiKey: string;
  /** Base of all paths, without a version. Default `https://generativelanguage.googleapis.com`. */
  readonly baseUrl?: string | undefined;
  /** Version of the API, the first segment of all paths. Default `v1beta`, which has every field. */
  readonly apiVersion?: string | undefined;
}

/** Gemini's generateContent and streamGenerateContent. */
export class GeminiAdapter extends HttpAdapter {
  constructor(options: GeminiAdapterOptions) {
    const name = options.name ?? PROVIDER_NAME;
    requireCredential(name, options.apiKey, "an API key");
    const { baseUrl = DEFAULT_BASE_URL, timeouts, localOnly, tls } = options;
    super({
      ...options,
      name,
      protocol: createProtocol(name, options),
      transport: createHttpTransport({ baseUrl, timeouts, localOnly, tls }),
      headers: { "x-goog-api-key": options.apiKey, ...options.defaultHeaders },
      catalogProvider: PROVIDER_NAME,
    });
  }

  override supportsToolChoice(mode: ToolChoice_Mode, model: string, options?: AdapterCallOptions): boolean {
    return acceptsToolChoice(mode, this.modelsFor(options).traitsOf(model));
  }
}

/** The provider's address. */
export const DEFAULT_BASE_URL = "https://generativelanguage.googleapis.com";
const DEFAULT_VERSION = "v1beta";

function createProtocol(
  provider: string,
  { apiVersion = DEFAULT_VERSION, allowFilesUnder = [], maxMediaBytes }: GeminiAdapterOptions,
): Protocol {
  const reader = createMediaReader({ allowFilesUnder });
  const toBody = (request: Request, models: ProviderModels) =>
    toRequestBody(request, { provider, media: createRequestMedia(reader, maxMediaBytes), models });
  return {
    source: createSourceProtocol((model, streaming) => toPath(apiVersion, model, streaming)),
    async toWire(request, streaming, models) {
      const path = toPath(apiVersion, request.model, streaming);
      const { body, warnings } = await toBody(request, models);
      return { path, headers: {}, body: stringifyJson(body), warnings };
    },
    counting: {
      async toWire(request, models) {
        const path = toMethodPath(apiVersion, request.model, "countTokens");
        const { body, warnings } = await toBody(request, models);
        return { path, headers: {}, body: stringifyJson(toCountBody(request.model, body)), warnings };
      },
      toCount,
    },
    embedding: createEmbeddingProtocol(provider, apiVersion),
    toResponse,
    createDecoder: (facts, writer) => new GeminiDecoder(facts, writer),
    toError,
    getRateLimit: () => undefined,
    // The id is in the body.
    getRequestId: () => "",
  };
}
