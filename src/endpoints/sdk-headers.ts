/** Headers that the SDKs for `/v1` add to their requests, also in a browser. */
export const SDK_HEADERS = [
  "openai-beta",
  "openai-organization",
  "openai-project",
  ...[
    "arch",
    "async",
    "helper-method",
    "lang",
    "os",
    "package-version",
    "poll-helper",
    "custom-poll-interval",
    "read-timeout",
    "retry-count",
    "runtime",
    "runtime-version",
    "timeout",
  ].map((name) => `x-stainless-${name}`),
];
