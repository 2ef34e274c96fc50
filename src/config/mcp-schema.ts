/** The fields of a configuration about MCP servers. */
import * as z from "zod/mini";
import { parseAddressPattern } from "../runs/mcp/settings.ts";
import { fields, list, notBoth, toNamed } from "./fields.ts";
import { baseUrl, count, headers, leaf, positiveDuration, size, text } from "./leaves.ts";
import { clientTls } from "./tls-schema.ts";

/** An address pattern for servers that callers may name. */
const addressPattern = leaf(
  'an origin such as "https://mcp.example.com", "https://*.example.com" or "http://127.0.0.1:8080"',
  (value) => (typeof value === "string" ? parseAddressPattern(value) : undefined),
);

const server = fields({
  url: baseUrl,
  authorization: z.optional(text),
  authorization_file: z.optional(text),
  headers: z.optional(headers),
  tls: z.optional(clientTls),
}).check(notBoth("authorization", "authorization_file"));

const label = z.string().check(z.regex(/^[A-Za-z0-9_-]{1,64}$/));

const servers = z.record(label, server, {
  error: (issue) =>
    issue.code === "invalid_key"
      ? 'expected a label of at most 64 letters, digits, "_" or "-"'
      : "expected a mapping of labels to servers",
});

/** The section `mcp`. */
export const mcp = z.pipe(
  fields({
    servers: z.optional(servers),
    allow_urls: z.optional(list(addressPattern, "a list of origins")),
    list_timeout: z.optional(positiveDuration),
    call_timeout: z.optional(positiveDuration),
    max_tools: z.optional(count),
    max_listing_bytes: z.optional(size),
    max_answer_bytes: z.optional(size),
    max_answer_json_values: z.optional(count),
  }),
  z.transform(({ servers = {}, allow_urls: allowedUrls = [], ...limits }) => ({
    servers,
    allowedUrls,
    limits: toNamed(limits, {
      list_timeout: "listMs",
      call_timeout: "callMs",
      max_answer_json_values: "maxAnswerValues",
    }),
  })),
);
