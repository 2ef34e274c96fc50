/** The adapter for OpenAI-compatible servers: wires the address, the headers and the translations of this folder. */

import type { ToolChoice_Mode } from "../../gen/outrigger/v1/request_pb.ts";
import { checkOptionalKey } from "../../kit/adapter/credentials.ts";
import {
  type AdapterCallOptions,
  HttpAdapter,
  type HttpAdapterOptions,
  type Protocol,
} from "../../kit/adapter/http-adapter.ts";
import { getRateLimit } from "../../kit/http/rate-limit.ts";
import { createHttpTransport } from "../../kit/http/transport.ts";
import { stringifyJson } from "../../kit/json/json-source.ts";
import { createMediaReader } from "../../kit/media/media-reader.ts";
import { createRequestMedia } from "../../kit/media/request-media.ts";
import { CHAT_COMPLETIONS_PATH } from "../../wire/openai-chat/request.ts";
import { createEmbeddingProtocol } from "../embeddings.ts";
import { getRequestId, toError } from "./error.ts";
import type { ServerProfile } from "./profile.ts";
import { getProfile } from "./profiles.ts";
import { toRequestBody } from "./request.ts";
import { toResponse } from "./response.ts";
import { createSourceProtocol } from "./source.ts";
import { ChatDecoder } from "./stream.ts";
import { acceptsToolChoice } from "./tools.ts";

/** Options of a server that speaks the Chat Completions API. */
export interface OpenAIChatAdapterOptions extends HttpAdapterOptions {
  /** Base of all paths, with its version: `https://api.groq.com/openai/v1`, `http://localhost:8000/v1`. Required. */
  readonly baseUrl: string;
  /** The key, if the server requires one. Leave it out if none is needed: undefined is an unset variable. */
  readonly apiKey?: string;
  /**
   * Differences of the server from others: the name of a known profile, or changes to the profile for the host of
   * `baseUrl`. Default: that profile, and the plain one for an unknown host.
   */
  readonly profile?: string | Partial<ServerProfile> | undefined;
  /** Query of every request (Azure: `api-version`). Not for keys: URLs end up in logs. */
  readonly query?: Readonly<Record<string, string>> | undefined;
}

/** The Chat Completions API, as OpenAI-compatible servers speak it. */
export class OpenAIChatAdapter extends HttpAdapter {
  readonly #profile: ServerProfile;

  /** @throws ConfigurationError if the address, the key or the profile cannot work. */
  constructor(options: OpenAIChatAdapterOptions) {
    const name = options.name ?? "compatible";
    checkOptionalKey(name, options);
    const { baseUrl, timeouts, localOnly, tls } = options;
    const profile = getProfile(options.profile, baseUrl);
    super({
      ...options,
      name,
      protocol: createProtocol(name, profile, options),
      transport: createHttpTransport({ baseUrl, timeouts, localOnly, tls }),
      headers: createHeaders(profile, options),
      catalogProvider: profile.catalog,
    });
    this.#profile = profile;
  }

  override supportsToolChoice(mode: ToolChoice_Mode, _model: string): boolean {
    return acceptsToolChoice(this.#profile, mode);
  }

  override supportsJsonSchema(model: string, options?: AdapterCallOptions): boolean {
    return this.#profile.supportsJsonSchema && super.supportsJsonSchema(model, options);
  }
}

function createHeaders(
  { keyHeader }: ServerProfile,
  { apiKey, defaultHeaders = {} }: OpenAIChatAdapterOptions,
): Record<string, string> {
  const key =
    apiKey === undefined ? {} : { [keyHeader]: keyHeader === "authorization" ? `Bearer ${apiKey}` : apiKey };
  return { ...key, ...defaultHeaders };
}

function createProtocol(
  provider: string,
  profile: ServerProfile,
  { query = {}, allowFilesUnder = [], maxMediaBytes }: OpenAIChatAdapterOptions,
): Protocol {
  const reader = createMediaReader({ allowFilesUnder });
  const path = pathWith(CHAT_COMPLETIONS_PATH, query);
  return {
    async toWire(request, streaming, models) {
      const media = createRequestMedia(reader, maxMediaBytes);
      const { body, ...facts } = await toRequestBody(request, streaming, {
        provider,
        profile,
        media,
        models,
      });
      return { ...facts, path, headers: {}, body: stringifyJson(body) };
    },
    source: createSourceProtocol(path, profile),
    toResponse: (body, facts) => toResponse(body, facts, profile),
    createDecoder: (facts, writer) => new ChatDecoder(facts, writer, profile),
    toError: (failure) => toError(failure, profile),
    embedding: createEmbeddingProtocol(provider, provider, (name) => pathWith(name, query)),
    getRateLimit: (headers) => getRateLimit(headers),
    getRequestId,
  };
}

function pathWith(path: string, query: Readonly<Record<string, string>>): string {
  const text = new URLSearchParams(query).toString();
  return text === "" ? path : `${path}?${text}`;
}
