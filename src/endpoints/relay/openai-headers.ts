import type { RelayedHeaders } from "./relayed-call.ts";

/** Headers of OpenAI's APIs and of Codex, and those by which OpenRouter identifies applications. */
export const OPENAI_HEADERS: RelayedHeaders = {
  request: [
    "http-referer",
    "idempotency-key",
    "openai-beta",
    "originator",
    "session-id",
    "thread-id",
    "x-client-request-id",
    "x-codex-*",
    "x-title",
  ],
  answer: ["openai-model", "openai-processing-ms", "openai-version", "x-codex-*", "x-ratelimit-*"],
};
