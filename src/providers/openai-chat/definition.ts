import type { WireApiDefinition } from "../../kit/adapter/definition.ts";
import { OpenAIChatAdapter, type OpenAIChatAdapterOptions } from "./adapter.ts";

/** OpenAI's Chat Completions, as servers of many makers speak it. */
export const openaiChat: WireApiDefinition<"openai-chat", OpenAIChatAdapterOptions> = {
  api: "openai-chat",
  createAdapter: (options) => new OpenAIChatAdapter(options),
  fields: ["profile", "query"],
  requiredFields: { base_url: "the server's base URL" },
  needsNoKey: true,
  baseUrl: {
    added: ["/chat/completions", "/completions", "/responses", "/embeddings", "/models"],
    version: "/v1",
    host: "api.openai.com",
  },
  environment: {
    provider: "compatible",
    registeredBy: ["OUTRIGGER_COMPATIBLE_BASE_URL"],
    key: ["OUTRIGGER_COMPATIBLE_API_KEY"],
    baseUrl: ["OUTRIGGER_COMPATIBLE_BASE_URL"],
  },
  // The simulator has OpenAI's rules for schemas.
  simulatorOptions: { profile: { strictSchemas: "openai" } },
};
