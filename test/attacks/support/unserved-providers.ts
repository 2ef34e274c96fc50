import type { AttackedSidecar } from "./sidecar.ts";

const unserved = { base_url: "http://127.0.0.1:9", api_key: "sk-unserved" };
const unservedOpenai = { ...unserved, base_url: `${unserved.base_url}/v1` };

/** Providers of every wire API at an address without a server: the work of a request is done before it is sent. */
export const unservedProviders = {
  responses: { api: "openai-responses", ...unservedOpenai },
  messages: { api: "anthropic-messages", ...unserved },
  gemini: { api: "gemini", ...unserved },
  chat: { api: "openai-chat", profile: "mistral", ...unservedOpenai },
};

/** Sends a request for a provider. Returns the answer. */
export async function ask({ url }: AttackedSidecar, request: object): Promise<string> {
  const response = await fetch(`${url}/outrigger.v1.InferenceService/Complete`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ model: "m", ...request }),
  });
  return response.text();
}
