/** Fields that are a text or a list: the error of another value names both, in every API. */
import { describe, expect, it } from "vitest";
import { useTestServers } from "../server/support/test-server.ts";
import { startApi } from "./support/api-server.ts";

const servers = useTestServers();

const message = { role: "user", content: 5 };

describe("a number in place of a text or a list", () => {
  it.each([
    ["/v1/responses", { input: 5 }, "input: expected a text or a list of items, found a number"],
    [
      "/v1/responses",
      { input: [message] },
      "input[0].content: expected a text or a list of parts, found a number",
    ],
    [
      "/v1/chat/completions",
      { messages: [message] },
      "messages[0].content: expected a text or a list of parts",
    ],
    ["/v1/messages", { messages: [message] }, "messages[0].content: expected a text or a list of blocks"],
    [
      "/v1/messages",
      { messages: [{ ...message, content: "x" }], system: 5 },
      "system: expected a text or a list of text blocks",
    ],
  ])("is refused by %s: %j", async (path, fields, expected) => {
    const { fetch } = await startApi(servers);
    const init = {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ model: "sim-text", max_tokens: 9, ...fields }),
    };
    const response = await fetch(path, init);
    const { error } = (await response.json()) as { error: { message: string } };
    expect([response.status, error.message]).toEqual([400, expect.stringContaining(expected)]);
  });
});
