/** Wiring of the adapter: URL, headers, and the translation in this folder. */
import { requireCredential } from "../../kit/adapter/credentials.ts";
import { HttpAdapter, type Protocol } from "../../kit/adapter/http-adapter.ts";
import { createHttpTransport, type HttpTimeouts } from "../../kit/http/transport.ts";
import { toError } from "./error.ts";
import { toRequestBody } from "./request.ts";
import { toResponse } from "./response.ts";
import { EchoDecoder } from "./stream.ts";

/** Options of a server that speaks this API. */
export interface EchoAdapterOptions {
  readonly apiKey: string;
  readonly keyOrigin?: string | undefined;
  readonly baseUrl?: string | undefined;
  readonly name?: string | undefined;
  readonly timeouts?: Partial<HttpTimeouts> | undefined;
  readonly localOnly?: boolean | undefined;
}

/** The smallest wire API. */
export class EchoAdapter extends HttpAdapter {
  constructor({ name = "echo", apiKey, keyOrigin, timeouts = {}, localOnly, baseUrl }: EchoAdapterOptions) {
    requireCredential(name, apiKey, "an API key");
    super({
      name,
      keyOrigin,
      protocol: PROTOCOL,
      transport: createHttpTransport({
        baseUrl: baseUrl ?? "https://echo.example.com",
        timeouts,
        localOnly,
      }),
      headers: { authorization: `Bearer ${apiKey}` },
    });
  }
}

const PROTOCOL: Protocol = {
  async toWire(request, streaming) {
    const { body, warnings } = toRequestBody(request, streaming);
    return { path: "/echo", headers: {}, body: JSON.stringify(body), warnings };
  },
  toResponse: (body, facts) => toResponse(body, facts),
  createDecoder: (_facts, writer) => new EchoDecoder(writer),
  toError,
  getRateLimit: () => undefined,
  getRequestId: (headers) => headers.get("x-request-id") ?? "",
};
