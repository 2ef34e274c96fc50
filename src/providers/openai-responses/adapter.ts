/** Wiring of the OpenAI adapter: URL, headers, and the translation in this folder. */

import type { ProviderModels } from "../../catalog/catalog.ts";
import type { Request } from "../../gen/outrigger/v1/request_pb.ts";
import { requireCredential } from "../../kit/adapter/credentials.ts";
import {
  HttpAdapter,
  type HttpAdapterOptions,
  type Protocol,
  type WireRequest,
} from "../../kit/adapter/http-adapter.ts";
import type { RequestBody } from "../../kit/adapter/request-context.ts";
import { getRateLimit } from "../../kit/http/rate-limit.ts";
import { createHttpTransport } from "../../kit/http/transport.ts";
import { stringifyJson } from "../../kit/json/json-source.ts";
import { createMediaReader } from "../../kit/media/media-reader.ts";
import { createRequestMedia, type RequestMedia } from "../../kit/media/request-media.ts";
import { createEmbeddingProtocol } from "../embeddings.ts";
import { type MediaSource, PROVIDER_NAME } from "./context.ts";
import { toCount, toCountBody } from "./count-tokens.ts";
import { toError } from "./error.ts";
import { RESPONSES_PATH, toRequestBody } from "./request.ts";
import { toResponse } from "./response.ts";
import { createSourceProtocol } from "./source.ts";
import { ResponsesDecoder } from "./stream.ts";

/** Options of an account at OpenAI, or at a server that speaks its Responses API. */
export interface OpenAIAdapterOptions extends HttpAdapterOptions {
  /** The key, sent as `Authorization: Bearer`. Required. */
  readonly apiKey: string;
  /** Base of all paths, with its version. Default `https://api.openai.com/v1`. */
  readonly baseUrl?: string | undefined;
  /** Sent as `OpenAI-Organization`. */
  readonly organization?: string | undefined;
  /** Sent as `OpenAI-Project`. */
  readonly project?: string | undefined;
  /** Whether OpenAI keeps the responses. Default false. */
  readonly store?: boolean | undefined;
}

/** OpenAI's Responses API. */
export class OpenAIAdapter extends HttpAdapter {
  constructor(options: OpenAIAdapterOptions) {
    const name = options.name ?? PROVIDER_NAME;
    requireCredential(name, options.apiKey, "an API key");
    const { baseUrl = DEFAULT_BASE_URL, timeouts, localOnly, tls } = options;
    super({
      ...options,
      name,
      protocol: createProtocol(name, options),
      transport: createHttpTransport({ baseUrl, timeouts, localOnly, tls }),
      headers: createHeaders(options),
      catalogProvider: PROVIDER_NAME,
    });
  }
}

/** The provider's address. */
export const DEFAULT_BASE_URL = "https://api.openai.com/v1";

function createHeaders({
  apiKey,
  organization,
  project,
  defaultHeaders = {},
}: OpenAIAdapterOptions): Record<string, string> {
  return {
    authorization: `Bearer ${apiKey}`,
    ...(organization === undefined ? {} : { "openai-organization": organization }),
    ...(project === undefined ? {} : { "openai-project": project }),
    ...defaultHeaders,
  };
}

function toWireRequest({ body, ...facts }: RequestBody): WireRequest {
  return { ...facts, path: RESPONSES_PATH, headers: NO_HEADERS, body: stringifyJson(body) };
}

const NO_HEADERS = {};

function createProtocol(
  provider: string,
  { store = false, allowFilesUnder = [], maxMediaBytes }: OpenAIAdapterOptions,
): Protocol {
  const reader = createMediaReader({ allowFilesUnder });
  const translate = (request: Request, streaming: boolean, models: ProviderModels) => {
    // Most requests have no media.
    let resolve: RequestMedia | undefined;
    const media: MediaSource = ({ value }, field) => {
      resolve ??= createRequestMedia(reader, maxMediaBytes);
      return resolve(value, field);
    };
    return toRequestBody(request, streaming, { provider, store, media, models });
  };
  return {
    toWire(request, streaming, models) {
      const translated = translate(request, streaming, models);
      return translated instanceof Promise ? translated.then(toWireRequest) : toWireRequest(translated);
    },
    source: createSourceProtocol(store),
    counting: {
      async toWire(request, models) {
        const { body, warnings } = await translate(request, false, models);
        return {
          path: `${RESPONSES_PATH}/input_tokens`,
          headers: {},
          body: stringifyJson(toCountBody(body)),
          warnings,
        };
      },
      toCount,
    },
    embedding: createEmbeddingProtocol(provider, PROVIDER_NAME),
    toResponse,
    createDecoder: (facts, writer) => new ResponsesDecoder(facts, writer),
    toError,
    getRateLimit,
    getRequestId: (headers) => headers.get("x-request-id") ?? "",
  };
}
