import type { WireApiDefinition } from "../../kit/adapter/definition.ts";
import { AnthropicAdapter, type AnthropicAdapterOptions, DEFAULT_BASE_URL } from "./adapter.ts";
import { PROVIDER_NAME } from "./context.ts";

/** Anthropic's Messages API. */
export const anthropicMessages: WireApiDefinition<"anthropic-messages", AnthropicAdapterOptions> = {
  api: "anthropic-messages",
  createAdapter: (options) => new AnthropicAdapter(options),
  fields: ["api_version"],
  // The adapter removes "/v1" at the end.
  traceName: "anthropic",
  catalogProvider: PROVIDER_NAME,
  baseUrl: { default: DEFAULT_BASE_URL, added: ["/v1/messages", "/messages", "/v1/models"] },
  environment: {
    provider: "anthropic",
    registeredBy: ["ANTHROPIC_API_KEY"],
    key: ["ANTHROPIC_API_KEY"],
    baseUrl: ["ANTHROPIC_BASE_URL"],
  },
};
