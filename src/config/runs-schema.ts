/** The fields of a configuration for stored runs. */
import { isAbsolute } from "node:path";
import * as z from "zod/mini";
import { fields, list, named } from "./fields.ts";
import { choice, count, duration, flag, leaf, positiveDuration, size, text, wholeNumber } from "./leaves.ts";
import { isPostgresUrl } from "./shared-schema.ts";
import { parseDuration } from "./units.ts";

/** The location of stored runs, as one text. */
export type StoreLocation =
  | { readonly kind: "memory" }
  | { readonly kind: "file"; readonly path: string }
  | { readonly kind: "postgres"; readonly url: string };

const EXPECTED_STORE =
  '"memory", the absolute path of a file such as "/var/lib/outrigger/runs.db", or a URL that begins with "postgres://"';

/** Parses the location that a text names; undefined if it names none. */
export function parseStoreLocation(value: unknown): StoreLocation | undefined {
  if (typeof value !== "string") return undefined;
  if (value === "memory") return { kind: "memory" };
  if (isPostgresUrl(value)) return { kind: "postgres", url: value };
  return isAbsolute(value) && !value.endsWith("/") ? { kind: "file", path: value } : undefined;
}

/** A retention time, as milliseconds. Longer than other durations, so days are allowed. */
const age = leaf('an age such as "30d" or "12h", or 0 for no limit', (value) => {
  const [, days] = (typeof value === "string" && /^(\d{1,6})d$/.exec(value)) || [];
  return days === undefined ? parseDuration(value) : Number(days) * 24 * 3_600_000;
});

const postgres = named(
  fields({
    schema: z.optional(text),
    pool_size: z.optional(wholeNumber(1, 1000)),
    listen_url: z.optional(text),
    listen_url_file: z.optional(text),
  }),
);

const limits = named(
  fields({
    max_foreground_runs: z.optional(count),
    max_background_runs: z.optional(count),
    max_queued_runs: z.optional(count),
    max_tool_executions: z.optional(count),
    max_stream_readers: z.optional(count),
    max_steps: z.optional(count),
    thread_wait: z.optional(duration),
    lease: z.optional(positiveDuration),
  }),
  { thread_wait: "threadWaitMs", lease: "leaseMs" },
);

/** The section `runs`. */
export const runs = named(
  fields({
    store: z.optional(leaf(EXPECTED_STORE, parseStoreLocation)),
    store_file: z.optional(text),
    memory_size: z.optional(size),
    max_file_size: z.optional(size),
    durability: z.optional(choice(["normal", "full"])),
    max_body_bytes: z.optional(size),
    encryption_key_files: z.optional(list(text, "a list of paths")),
    postgres: z.optional(postgres),
    retention: z.optional(age),
    allow_unstored_continuation: z.optional(flag),
    keep_unstored_reasoning: z.optional(duration),
    limits: z.optional(limits),
  }),
  {
    retention: "retentionMs",
    allow_unstored_continuation: "allowsUnstoredContinuation",
    keep_unstored_reasoning: "keepUnstoredMs",
  },
);
