/** What a configuration may say, in the words of the file. Variables and flags say a part of it. */
import * as z from "zod";
import { profileNames, type WireApi, wireApis } from "../client/providers.ts";
import {
  address,
  addressOrOff,
  baseUrl,
  count,
  duration,
  flag,
  folder,
  oneOf,
  origin,
  positiveDuration,
  size,
  text,
} from "./leaves.ts";
import { didYouMean } from "./suggest.ts";

/** How much the log tells. */
const logLevels = ["trace", "debug", "info", "warn", "error", "fatal", "silent"] as const;

/** A mapping of known fields. An unknown field is an error, one line of its message for each. */
function fields<Shape extends z.core.$ZodLooseShape>(shape: Shape) {
  const known = Object.keys(shape);
  return z.strictObject(shape, {
    error: (issue) => {
      if (issue.code !== "unrecognized_keys") return `expected a mapping with some of ${known.join(", ")}`;
      return issue.keys.map((key) => `unknown field, ${describeKnown(key, known)}`).join("\n");
    },
  });
}

function describeKnown(key: string, known: readonly string[]): string {
  return `expected one of ${known.join(", ")}${didYouMean(key, known)}`;
}

function list<Item extends z.ZodType>(item: Item, expected: string) {
  return z.array(item, { error: `expected ${expected}` }).min(1, { error: `expected ${expected}` });
}

const timeouts = fields({
  connect: duration.optional(),
  request: duration.optional(),
  between_bytes: duration.optional(),
}).transform(({ connect, request, between_bytes }) =>
  compact({ connectMs: connect, requestMs: request, betweenBytesMs: between_bytes }),
);

const limits = fields({
  max_message_bytes: size.optional(),
  max_concurrent_streams: count.optional(),
  max_header_list_bytes: size.optional(),
  max_session_memory_mib: count.optional(),
  stream_reset_burst: count.optional(),
  stream_reset_rate: count.optional(),
  keepalive_interval: positiveDuration.optional(),
  max_connection_idle: positiveDuration.optional(),
  max_connection_age: positiveDuration.optional(),
  max_connection_age_grace: positiveDuration.optional(),
  protocol_timeout: positiveDuration.optional(),
  headers_timeout: positiveDuration.optional(),
  request_timeout: positiveDuration.optional(),
  idle_timeout: positiveDuration.optional(),
}).transform((found) =>
  compact({
    maxMessageBytes: found.max_message_bytes,
    maxConcurrentStreams: found.max_concurrent_streams,
    maxHeaderListBytes: found.max_header_list_bytes,
    maxSessionMemoryMiB: found.max_session_memory_mib,
    streamResetBurst: found.stream_reset_burst,
    streamResetRate: found.stream_reset_rate,
    keepaliveIntervalMs: found.keepalive_interval,
    maxConnectionIdleMs: found.max_connection_idle,
    maxConnectionAgeMs: found.max_connection_age,
    maxConnectionAgeGraceMs: found.max_connection_age_grace,
    protocolTimeoutMs: found.protocol_timeout,
    headersTimeoutMs: found.headers_timeout,
    requestTimeoutMs: found.request_timeout,
    idleTimeoutMs: found.idle_timeout,
  }),
);

const headerName = z.string().regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/);

const headers = z.record(headerName, text, {
  error: (issue) =>
    issue.code === "invalid_key"
      ? "expected the name of a header"
      : "expected a mapping of header names to texts",
});

/** Which entries may have a field that not every wire API has. */
const FIELD_APIS: Readonly<Record<string, readonly WireApi[]>> = {
  organization: ["openai-responses"],
  project: ["openai-responses"],
  store: ["openai-responses"],
  api_version: ["anthropic-messages", "gemini"],
  profile: ["openai-chat"],
  query: ["openai-chat"],
};

const provider = fields({
  api: oneOf(wireApis),
  api_key: text.optional(),
  api_key_file: text.optional(),
  base_url: baseUrl.optional(),
  headers: headers.optional(),
  timeouts: timeouts.optional(),
  organization: text.optional(),
  project: text.optional(),
  store: flag.optional(),
  api_version: text.optional(),
  profile: oneOf(profileNames).optional(),
  query: z.record(z.string(), text, { error: "expected a mapping of names to texts" }).optional(),
})
  .superRefine((entry, context) => {
    if (entry.api === "openai-chat" && entry.base_url === undefined) {
      context.addIssue({ code: "custom", path: ["base_url"], message: "expected the server's base URL" });
    }
    for (const [field, apis] of Object.entries(FIELD_APIS)) {
      const isSet = Reflect.get(entry, field) !== undefined;
      if (!isSet || apis.includes(entry.api)) continue;
      const message = `expected no ${field} with api ${entry.api}: only ${apis.join(" and ")} has it`;
      context.addIssue({ code: "custom", path: [field], message });
    }
  })
  .transform(({ api_key, api_key_file, api_version, base_url, headers: defaultHeaders, ...rest }) =>
    compact({
      ...rest,
      apiKey: api_key,
      apiKeyFile: api_key_file,
      apiVersion: api_version,
      baseUrl: base_url,
      defaultHeaders,
    }),
  );

const providerName = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/);

const providers = z.record(providerName, provider, {
  error: (issue) =>
    issue.code === "invalid_key"
      ? 'expected a name of at most 64 letters, digits, ".", "_" or "-"'
      : "expected a mapping of provider names to their settings",
});

/** All that a file, the variables and the flags may say. Whatever is left out is unset. */
export const settingsSchema = fields({
  listen: z.preprocess(asList, list(address, "an address or a list of addresses")).optional(),
  admin_listen: addressOrOff.optional(),
  default_provider: text.optional(),
  log_level: oneOf(logLevels).optional(),
  drain_timeout: duration.optional(),
  reflection: flag.optional(),
  limits: limits.optional(),
  cors: fields({ allowed_origins: list(origin, "a list of origins") })
    .transform(({ allowed_origins }) => ({ allowedOrigins: allowed_origins }))
    .optional(),
  timeouts: timeouts.optional(),
  media: fields({ allow_files_under: list(folder, "a list of absolute paths").optional() })
    .transform(({ allow_files_under }) => compact({ allowFilesUnder: allow_files_under }))
    .optional(),
  providers: providers.optional(),
});

/** What one source of the configuration says. */
export type Settings = z.output<typeof settingsSchema>;

/** A provider entry of the file, before its key is read. */
export type ProviderEntry = z.output<typeof provider>;

function asList(value: unknown): unknown {
  return typeof value === "string" ? [value] : value;
}

/** An object whose fields are absent where they were undefined. */
export type Compact<Fields> = {
  [Key in keyof Fields as undefined extends Fields[Key] ? never : Key]: Fields[Key];
} & {
  [Key in keyof Fields as undefined extends Fields[Key] ? Key : never]?: Exclude<Fields[Key], undefined>;
};

/** An object without its undefined fields. */
export function compact<Fields extends object>(object: Fields): Compact<Fields> {
  const entries = Object.entries(object).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as Compact<Fields>;
}
