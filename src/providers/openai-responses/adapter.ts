/** Wiring of the OpenAI adapter: URL, headers, and the translation in this folder. */

import type { Catalog } from "../../catalog/catalog.ts";
import { requireCredential } from "../../kit/adapter/credentials.ts";
import { HttpAdapter, type Protocol } from "../../kit/adapter/http-adapter.ts";
import type { AnswerLimits } from "../../kit/call/answer-limits.ts";
import { getRateLimit } from "../../kit/http/rate-limit.ts";
import { createHttpTransport, type HttpTimeouts } from "../../kit/http/transport.ts";
import { stringifyJson } from "../../kit/json/json-source.ts";
import { createMediaReader } from "../../kit/media/media-reader.ts";
import { createRequestMedia } from "../../kit/media/request-media.ts";
import { type MediaSource, PROVIDER_NAME } from "./context.ts";
import { toError } from "./error.ts";
import { toRequestBody } from "./request.ts";
import { toResponse } from "./response.ts";
import { ResponsesDecoder } from "./stream.ts";

/** Options of an account at OpenAI, or at a server that speaks its Responses API. */
export interface OpenAIAdapterOptions {
  /** The key, sent as `Authorization: Bearer`. Required. */
  readonly apiKey: string;
  /** Origin of the key, for the error if the provider refuses it: `OPENAI_API_KEY`, a field, a file. */
  readonly keyOrigin?: string | undefined;
  /** Base of all paths, with its version. Default `https://api.openai.com/v1`. */
  readonly baseUrl?: string | undefined;
  /** Name under which the adapter is registered. Default `openai`. */
  readonly name?: string | undefined;
  /** Sent as `OpenAI-Organization`. */
  readonly organization?: string | undefined;
  /** Sent as `OpenAI-Project`. */
  readonly project?: string | undefined;
  /** Further headers of every request. They replace headers of the same name. */
  readonly defaultHeaders?: Readonly<Record<string, string>> | undefined;
  /** Time limits; those left out keep their defaults. */
  readonly timeouts?: Partial<HttpTimeouts> | undefined;
  /** Connects only to this machine and to private networks, and to no proxy. Default false. */
  readonly localOnly?: boolean | undefined;
  /** Folders whose files a caller may name in a `url`. Default none. */
  readonly allowFilesUnder?: readonly string[] | undefined;
  /** Maximum bytes of all files of a request. Default 32 MiB. */
  readonly maxMediaBytes?: number | undefined;
  /** Limits of each answer; those left out keep their defaults. */
  readonly answerLimits?: Partial<AnswerLimits> | undefined;
  /** Whether OpenAI keeps the responses. Default false. */
  readonly store?: boolean | undefined;
  /** Catalog for models and prices. Default: the Client's catalog, else the shipped one. */
  readonly catalog?: Catalog | undefined;
}

/** OpenAI's Responses API. */
export class OpenAIAdapter extends HttpAdapter {
  constructor(options: OpenAIAdapterOptions) {
    const name = options.name ?? PROVIDER_NAME;
    requireCredential(name, options.apiKey, "an API key");
    super({
      name,
      catalog: options.catalog,
      keyOrigin: options.keyOrigin,
      protocol: createProtocol(name, options),
      answerLimits: options.answerLimits,
      transport: createHttpTransport({
        baseUrl: options.baseUrl ?? DEFAULT_BASE_URL,
        timeouts: options.timeouts ?? {},
        localOnly: options.localOnly,
      }),
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

function createProtocol(
  provider: string,
  { store = false, allowFilesUnder = [], maxMediaBytes }: OpenAIAdapterOptions,
): Protocol {
  const reader = createMediaReader({ allowFilesUnder });
  return {
    async toWire(request, streaming, models) {
      const resolve = createRequestMedia(reader, maxMediaBytes);
      const media: MediaSource = ({ value }, field) => resolve(value, field);
      const { body, warnings } = await toRequestBody(request, streaming, { provider, store, media, models });
      return { path: "/responses", headers: {}, body: stringifyJson(body), warnings };
    },
    toResponse,
    createDecoder: (facts, writer) => new ResponsesDecoder(facts, writer),
    toError,
    getRateLimit: (headers) => getRateLimit(headers),
    getRequestId: (headers) => headers.get("x-request-id") ?? "",
  };
}
