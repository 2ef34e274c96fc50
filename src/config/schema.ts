/**
 * The fields of a configuration in the form of the file. Variables and flags set some fields. Written with zod/mini, so
 * that a sidecar loads only the functions that are used here.
 */
import * as z from "zod/mini";
import { capabilityWords } from "../catalog/catalog-data.ts";
import { describeBaseUrlMistake } from "../client/check-base-url.ts";
import {
  commandFormats,
  fieldApis,
  getRequiredFields,
  profileNames,
  promptWays,
  providerApis,
} from "../client/providers.ts";
import { fields, list, named, oneOrMore } from "./fields.ts";
import { jwt } from "./jwt-schema.ts";
import {
  address,
  addressOrOff,
  apiKey,
  baseUrl,
  choice,
  count,
  day,
  dollars,
  duration,
  fileMode,
  flag,
  folder,
  headers,
  hostPattern,
  origin,
  positiveDuration,
  size,
  text,
} from "./leaves.ts";
import { mcp } from "./mcp-schema.ts";
import { middleware, ruleFields, withRules } from "./middleware-schema.ts";
import { runs } from "./runs-schema.ts";
import { shared } from "./shared-schema.ts";
import { clientTls, listenerTls } from "./tls-schema.ts";

/** Forms of levels and times in the log. */
const logFormats = ["numbers", "words"] as const;

const logLevels = ["trace", "debug", "info", "warn", "error", "fatal", "silent"] as const;

const timeouts = named(
  fields({
    connect: z.optional(duration),
    request: z.optional(duration),
    between_bytes: z.optional(duration),
  }),
  { connect: "connectMs", request: "requestMs", between_bytes: "betweenBytesMs" },
);

const limits = named(
  fields({
    max_connections: z.optional(count),
    max_admin_connections: z.optional(count),
    max_calls: z.optional(count),
    max_request_memory: z.optional(size),
    max_answer_memory: z.optional(size),
    max_history_memory: z.optional(size),
    max_read_memory: z.optional(size),
    max_kept_memory: z.optional(size),
    max_unsent_bytes: z.optional(size),
    max_message_bytes: z.optional(size),
    max_message_elements: z.optional(count),
    max_compression_ratio: z.optional(count),
    max_concurrent_streams: z.optional(count),
    max_header_list_bytes: z.optional(size),
    stream_reset_burst: z.optional(count),
    stream_reset_rate: z.optional(count),
    keepalive_interval: z.optional(positiveDuration),
    max_connection_idle: z.optional(positiveDuration),
    max_connection_age: z.optional(positiveDuration),
    max_connection_age_grace: z.optional(positiveDuration),
    protocol_timeout: z.optional(positiveDuration),
    headers_timeout: z.optional(positiveDuration),
    request_timeout: z.optional(positiveDuration),
    stall_timeout: z.optional(positiveDuration),
    idle_timeout: z.optional(positiveDuration),
    max_generation_steps: z.optional(count),
    max_request_media_bytes: z.optional(size),
    max_answer_bytes: z.optional(size),
    max_answer_event_bytes: z.optional(size),
    max_answer_events: z.optional(count),
    max_answer_parts: z.optional(count),
    max_answer_json_values: z.optional(count),
  }),
  {
    max_request_memory: "maxRequestMemoryBytes",
    max_answer_memory: "maxAnswerMemoryBytes",
    max_history_memory: "maxHistoryMemoryBytes",
    max_read_memory: "maxReadMemoryBytes",
    max_kept_memory: "maxKeptMemoryBytes",
    keepalive_interval: "keepaliveIntervalMs",
    max_connection_idle: "maxConnectionIdleMs",
    max_connection_age: "maxConnectionAgeMs",
    max_connection_age_grace: "maxConnectionAgeGraceMs",
    protocol_timeout: "protocolTimeoutMs",
    headers_timeout: "headersTimeoutMs",
    request_timeout: "requestTimeoutMs",
    stall_timeout: "stallTimeoutMs",
    idle_timeout: "idleTimeoutMs",
    max_request_media_bytes: "maxMediaBytes",
    max_answer_event_bytes: "maxAnswerEventChars",
  },
);

const environment = z.record(z.string().check(z.regex(/^[A-Za-z_][A-Za-z0-9_]*$/)), text, {
  error: (issue) =>
    issue.code === "invalid_key"
      ? "expected the name of a variable"
      : "expected a mapping of variables to texts",
});

const efforts = z.record(z.string(), z.array(text, { error: "expected a list of arguments" }), {
  error: "expected a mapping of efforts to lists of arguments",
});

const provider = withRules(
  fields({
    api: choice(providerApis),
    api_key: z.optional(apiKey),
    api_key_file: z.optional(text),
    base_url: z.optional(baseUrl),
    headers: z.optional(headers),
    timeouts: z.optional(timeouts),
    organization: z.optional(text),
    project: z.optional(text),
    store: z.optional(flag),
    api_version: z.optional(text),
    profile: z.optional(choice(profileNames)),
    tls: z.optional(clientTls),
    query: z.optional(z.record(z.string(), text, { error: "expected a mapping of names to texts" })),
    command: z.optional(list(text, "a list of the program and its arguments")),
    format: z.optional(choice(commandFormats)),
    prompt: z.optional(choice(promptWays)),
    environment: z.optional(environment),
    folder: z.optional(folder),
    efforts: z.optional(efforts),
    images: z.optional(list(text, "a list of arguments")),
    schema: z.optional(list(text, "a list of arguments")),
    max_processes: z.optional(count),
    local: z.optional(flag),
    ...ruleFields,
  }).check(
    z.superRefine((entry, context) => {
      for (const [field, what] of Object.entries(getRequiredFields(entry.api))) {
        if (Reflect.get(entry, field) !== undefined) continue;
        context.addIssue({ code: "custom", path: [field], message: `expected ${what}` });
      }
      for (const [field, apis] of Object.entries(fieldApis)) {
        const isSet = Reflect.get(entry, field) !== undefined;
        if (!isSet || apis.includes(entry.api)) continue;
        const message = `expected no ${field} with api ${entry.api}: only ${apis.join(" and ")} has it`;
        context.addIssue({ code: "custom", path: [field], message });
      }
      if (entry.api === "command" || entry.base_url === undefined) return;
      const message = describeBaseUrlMistake(entry.api, entry.base_url);
      if (message !== undefined) context.addIssue({ code: "custom", path: ["base_url"], message });
    }),
  ),
  { headers: "defaultHeaders" },
);

const providerName = z.string().check(z.regex(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/));

const providers = z.record(providerName, provider, {
  error: (issue) =>
    issue.code === "invalid_key"
      ? 'expected a name of at most 64 letters, digits, ".", "_" or "-"'
      : "expected a mapping of provider names to their settings",
});

const prices = named(
  fields({
    input: dollars,
    output: dollars,
    cache_read: z.optional(dollars),
    cache_write: z.optional(dollars),
    cache_write_long: z.optional(dollars),
    above_input_tokens: z.optional(count),
  }),
);

const model = withRules(
  fields({
    id: text,
    provider: text,
    display_name: z.optional(text),
    aliases: z.optional(list(text, "a list of names")),
    context_window: z.optional(count),
    max_output_tokens: z.optional(count),
    capabilities: z.optional(list(choice(capabilityWords), "a list of capabilities")),
    release_date: z.optional(day),
    prices: z.optional(oneOrMore(prices, "prices or a list of them")),
    ...ruleFields,
  }),
);

/** All fields of a file, the variables and the flags. Every field is optional. */
export const settingsSchema = fields({
  listen: z.optional(z.pipe(z.transform(asList), list(address, "an address or a list of addresses"))),
  admin_listen: z.optional(addressOrOff),
  allowed_hosts: z.optional(z.pipe(z.transform(asList), list(hostPattern, "a list of host names"))),
  unix_socket_mode: z.optional(fileMode),
  tls: z.optional(listenerTls),
  admin_tls: z.optional(listenerTls),
  default_provider: z.optional(text),
  log_level: z.optional(choice(logLevels)),
  log_format: z.optional(choice(logFormats)),
  drain_timeout: z.optional(duration),
  access_keys_file: z.optional(text),
  jwt: z.optional(jwt),
  allow_unauthenticated: z.optional(flag),
  local_only: z.optional(flag),
  reflection: z.optional(flag),
  limits: z.optional(limits),
  cors: z.optional(named(fields({ allowed_origins: list(origin, "a list of origins") }))),
  timeouts: z.optional(timeouts),
  media: z.optional(
    named(fields({ allow_files_under: z.optional(list(folder, "a list of absolute paths")) })),
  ),
  mcp: z.optional(mcp),
  middleware: z.optional(middleware),
  models: z.optional(list(model, "a list of models")),
  providers: z.optional(providers),
  runs: z.optional(runs),
  shared: z.optional(shared),
});

/** The settings of one source of the configuration. */
export type Settings = z.output<typeof settingsSchema>;

/** A provider entry of the file, before its key is read. */
export type ProviderEntry = z.output<typeof provider>;

function asList(value: unknown): unknown {
  return typeof value === "string" ? [value] : value;
}
