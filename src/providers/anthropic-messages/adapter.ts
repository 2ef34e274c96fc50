/** Wires up the Anthropic adapter: address, headers, and the translation in this folder. */

import type { ProviderModels } from "../../catalog/catalog.ts";
import { ConfigurationError } from "../../core/errors.ts";
import { ToolChoice_Mode as Mode, type Request } from "../../gen/outrigger/v1/request_pb.ts";
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
import { BETA_HEADER, MESSAGES_PATH } from "../../wire/anthropic-messages/request.ts";
import { PROVIDER_NAME, type RequestSettings } from "./context.ts";
import { toCount, toCountBody } from "./count-tokens.ts";
import { getRequestId, toError } from "./error.ts";
import { getRateLimit } from "./rate-limit.ts";
import { toRequestBody } from "./request.ts";
import { toResponse } from "./response.ts";
import { createSourceProtocol } from "./source.ts";
import { MessagesDecoder } from "./stream.ts";
import { canForceTools } from "./tools.ts";

/** Options of an account at Anthropic, or at a server with the same Messages API. */
export interface AnthropicAdapterOptions extends HttpAdapterOptions {
  /** The key, sent as `x-api-key`. A server under another `baseUrl` may need none. */
  readonly apiKey?: string | undefined;
  /** A token, sent as `Authorization: Bearer`. If both are set, the API uses the key. */
  readonly authToken?: string | undefined;
  /** Base of all paths, without a version; a trailing `/v1` is removed. Default `https://api.anthropic.com`. */
  readonly baseUrl?: string | undefined;
  /** Sent as `anthropic-version`. Versions from `2026-10-21` on accept no sampling settings. Default `2023-06-01`. */
  readonly apiVersion?: string | undefined;
  /** Headers of every request, which override the adapter's; `anthropic-beta` is joined with the request's betas. */
  readonly defaultHeaders?: Readonly<Record<string, string>> | undefined;
}

/** Anthropic's Messages API. */
export class AnthropicAdapter extends HttpAdapter {
  constructor(options: AnthropicAdapterOptions) {
    const name = options.name ?? PROVIDER_NAME;
    checkCredentials(name, options);
    const { baseUrl = DEFAULT_BASE_URL, timeouts, localOnly, tls } = options;
    super({
      ...options,
      name,
      protocol: createProtocol(name, options),
      transport: createHttpTransport({ baseUrl: baseUrl.replace(/\/v1\/?$/, ""), timeouts, localOnly, tls }),
      headers: createHeaders(options),
      catalogProvider: PROVIDER_NAME,
      pricesAnswers: true,
    });
  }

  /** Considers only the model: a request with a thinking budget cannot force a call with any model. */
  override supportsToolChoice(mode: Mode, model: string, options?: AdapterCallOptions): boolean {
    if (mode !== Mode.REQUIRED && mode !== Mode.NAMED) return true;
    return canForceTools(this.modelsFor(options).traitsOf(model));
  }
}

/** The provider's address. */
export const DEFAULT_BASE_URL = "https://api.anthropic.com";
const DEFAULT_API_VERSION = "2023-06-01";

/** One of two credentials may be an unset variable. A server under another address may need none at all. */
function checkCredentials(name: string, options: AnthropicAdapterOptions): void {
  const { apiKey, authToken, baseUrl } = options;
  if (apiKey !== undefined) requireCredential(name, apiKey, "an API key");
  if (authToken !== undefined) requireCredential(name, authToken, "a token");
  if (apiKey !== undefined || authToken !== undefined) return;
  if ("apiKey" in options || "authToken" in options || baseUrl === undefined)
    throw new ConfigurationError(`provider "${name}": expected an API key or a token, found neither`);
}

function createHeaders({
  apiKey,
  authToken,
  apiVersion = DEFAULT_API_VERSION,
  defaultHeaders = {},
}: AnthropicAdapterOptions): Record<string, string> {
  return {
    ...(apiKey === undefined ? {} : { "x-api-key": apiKey }),
    ...(authToken === undefined ? {} : { authorization: `Bearer ${authToken}` }),
    "anthropic-version": apiVersion,
    ...defaultHeaders,
  };
}

function createProtocol(provider: string, options: AnthropicAdapterOptions): Protocol {
  const { allowFilesUnder = [], maxMediaBytes, apiVersion = DEFAULT_API_VERSION } = options;
  const reader = createMediaReader({ allowFilesUnder });
  const defaultBetas = getBetas(options.defaultHeaders);
  const createSettings = (models: ProviderModels): RequestSettings => {
    const media = createRequestMedia(reader, maxMediaBytes);
    return { provider, apiVersion, media, models };
  };
  const translate = async (request: Request, streaming: boolean, models: ProviderModels) => {
    const { betas, ...translated } = await toRequestBody(request, streaming, createSettings(models));
    return { ...translated, headers: betaHeader([...defaultBetas, ...betas]) };
  };
  return {
    async toWire(request, streaming, models) {
      const { body, ...rest } = await translate(request, streaming, models);
      return { path: MESSAGES_PATH, body: stringifyJson(body), ...rest };
    },
    counting: {
      async toWire(request, models) {
        const { body, ...rest } = await translate(request, false, models);
        return { path: `${MESSAGES_PATH}/count_tokens`, body: stringifyJson(toCountBody(body)), ...rest };
      },
      toCount,
    },
    source: createSourceProtocol({
      translate: (request, streaming, models) =>
        toRequestBody(request, streaming, { ...createSettings(models), keepsBreakpoints: true }),
      toBetaHeader: (betas) => betaHeader([...defaultBetas, ...betas.flatMap(splitBetas)]),
    }),
    toResponse,
    createDecoder: (facts, writer) => new MessagesDecoder(facts, writer),
    toError,
    getRateLimit: (headers) => getRateLimit(headers),
    getRequestId,
  };
}

/** Returns the betas in the headers of every request. */
function getBetas(headers: Readonly<Record<string, string>> = {}): string[] {
  const values = Object.entries(headers).filter(([name]) => name.toLowerCase() === BETA_HEADER);
  return values.flatMap(([, value]) => splitBetas(value));
}

function splitBetas(header: string): string[] {
  const names = header.split(",").map((beta) => beta.trim());
  return names.filter((beta) => beta !== "");
}

function betaHeader(betas: readonly string[]): Record<string, string> {
  return betas.length === 0 ? {} : { [BETA_HEADER]: [...new Set(betas)].join(",") };
}
