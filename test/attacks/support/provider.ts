/** A provider of Chat Completions in this process, which gives the answers that a test chooses. */
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import { onTestFinished } from "vitest";

/** An entry of `providers` in the configuration. */
export type ProviderEntry = Readonly<Record<string, unknown>>;

/** A whole answer. */
export const WHOLE_ANSWER = JSON.stringify({
  id: "chatcmpl-1",
  object: "chat.completion",
  created: 1,
  model: "m",
  choices: [{ index: 0, message: { role: "assistant", content: "ok" }, finish_reason: "stop" }],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
});

/**
 * Starts a provider that reads every request to its end and then answers.
 * @param answer Writes the answer, with its headers.
 */
export async function startProvider(answer: (response: ServerResponse) => void): Promise<ProviderEntry> {
  const server = createServer((request, response) => {
    response.on("error", () => {});
    request.resume().on("end", () => answer(response));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("a TCP server has no port");
  return { api: "openai-chat", base_url: `http://127.0.0.1:${address.port}/v1` };
}
