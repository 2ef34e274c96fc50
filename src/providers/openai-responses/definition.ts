import type { WireApiDefinition } from "../../kit/adapter/definition.ts";
import { DEFAULT_BASE_URL, OpenAIAdapter, type OpenAIAdapterOptions } from "./adapter.ts";
import { PROVIDER_NAME } from "./context.ts";

/** OpenAI's Responses API. */
export const openaiResponses: WireApiDefinition<"openai-responses", OpenAIAdapterOptions> = {
  api: "openai-responses",
  createAdapter: (options) => new OpenAIAdapter(options),
  fields: ["organization", "project", "store"],
  traceName: "openai",
  catalogProvider: PROVIDER_NAME,
  baseUrl: {
    default: DEFAULT_BASE_URL,
    added: ["/chat/completions", "/completions", "/responses", "/embeddings", "/models"],
    version: "/v1",
    host: "api.openai.com",
  },
  environment: {
    provider: "openai",
    registeredBy: ["OPENAI_API_KEY"],
    key: ["OPENAI_API_KEY"],
    baseUrl: ["OPENAI_BASE_URL"],
    texts: { OPENAI_ORG_ID: "organization", OPENAI_PROJECT_ID: "project" },
  },
};
