import type { WireApiDefinition } from "../../kit/adapter/definition.ts";
import { DEFAULT_BASE_URL, GeminiAdapter, type GeminiAdapterOptions } from "./adapter.ts";
import { PROVIDER_NAME } from "./context.ts";

/** Gemini's generateContent. */
export const gemini: WireApiDefinition<"gemini", GeminiAdapterOptions> = {
  api: "gemini",
  createAdapter: (options) => new GeminiAdapter(options),
  fields: ["api_version"],
  traceName: "gcp.gemini",
  catalogProvider: PROVIDER_NAME,
  baseUrl: {
    default: DEFAULT_BASE_URL,
    added: ["/v1beta/models", "/v1/models", "/v1beta", "/v1alpha", "/v1", "/models"],
  },
  environment: {
    provider: "gemini",
    registeredBy: ["GEMINI_API_KEY", "GOOGLE_API_KEY"],
    key: ["GEMINI_API_KEY", "GOOGLE_API_KEY"],
    // Google's SDKs read the second.
    baseUrl: ["GEMINI_BASE_URL", "GOOGLE_GEMINI_BASE_URL"],
  },
};
