/** The file with the access keys. Loaded only if a file is configured. */
import { createHash } from "node:crypto";
import * as z from "zod/mini";
import type { Environment } from "../client/from-env.ts";
import type { AccessKey } from "./caller-grants.ts";
import { grantFields, toGrants } from "./caller-grants.ts";
import { fields, list } from "./fields.ts";
import { checkedText, leaf } from "./leaves.ts";
import type { ModelNames } from "./model-grants.ts";
import { describeIssues, type Locate } from "./problems.ts";
import { parseYamlFile } from "./yaml-file.ts";

/** Largest file. */
export const MAX_ACCESS_KEYS_BYTES = 1024 * 1024;

/** Maximum number of entries. */
const MAX_ENTRIES = 256;

/** Maximum number of keys of one entry. */
const MAX_KEYS = 8;

/**
 * Maximum number of keys in all entries: the key of every request is compared with each, which takes about 0.1 ms for
 * this many.
 */
const MAX_ALL_KEYS = 512;

/** Context for reading a file with access keys. */
export interface AccessKeysContext extends ModelNames {
  readonly path: string;
  readonly environment: Environment;
}

/** The keys of a file, or all its mistakes. */
export type AccessKeysReading =
  | { readonly keys: readonly AccessKey[] }
  | { readonly problems: readonly string[] };

/** Reads the text of a file. No problem shows a key. */
export function readAccessKeys(content: string, context: AccessKeysContext): AccessKeysReading {
  const file = parseYamlFile(context.path, content, context.environment);
  const locate = withoutUnknownNames(file.locate);
  const result = fileSchema.safeParse(file.value);
  const problems = [...file.problems];
  if (!result.success) {
    const description = { locate, secrets: file.substituted };
    problems.push(...describeIssues(result.error.issues, file.value, description));
    return { problems };
  }
  problems.push(...listUnreachable(result.data.keys, locate), ...listDuplicates(result.data.keys, locate));
  problems.push(...findExcess(result.data.keys, locate));
  const keys = result.data.keys.map((entry, index): AccessKey => {
    const { name, key: digests = [], certificate } = entry;
    const path = ["keys", index];
    return { name, digests, certificate, ...toGrants(entry, { names: context, locate, path, problems }) };
  });
  return problems.length > 0 ? { problems } : { keys };
}

const EXPECTED_KEY =
  'a key of 16 to 512 letters, digits and punctuation marks, or "sha256:" and its digest of 64 hex digits, ' +
  "or a list of up to 8 of these";

/** One key or several, as digests. */
const secrets = leaf(EXPECTED_KEY, (value) => {
  const given: unknown[] = Array.isArray(value) ? value : [value];
  const digests = given.map(readDigest).filter((digest) => digest !== undefined);
  const isValid = digests.length === given.length && given.length > 0 && given.length <= MAX_KEYS;
  return isValid ? digests : undefined;
});

/** Returns the SHA-256 digest of a key, or the digest that is given in its place. */
function readDigest(key: unknown): Buffer | undefined {
  if (typeof key !== "string") return undefined;
  const [, hex] = /^sha256:(.*)$/s.exec(key) ?? [];
  if (hex !== undefined) return /^[0-9A-Fa-f]{64}$/.test(hex) ? Buffer.from(hex, "hex") : undefined;
  return /^[!-~]{16,512}$/.test(key) ? createHash("sha256").update(key).digest() : undefined;
}

const entrySchema = fields({
  name: checkedText('a name of at most 64 letters, digits, ".", "_" or "-"', (value) =>
    /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/.test(value),
  ),
  key: z.optional(secrets),
  certificate: z.optional(
    checkedText("a SPIFFE id, or the common name of a certificate, of at most 256 characters", (value) =>
      /^[\x20-\x7e]{1,256}$/.test(value),
    ),
  ),
  ...grantFields,
});

const fileSchema = fields({
  keys: list(entrySchema, "a list of keys, each with a name and a key", MAX_ENTRIES, "keys"),
});

/** Finds entries with neither a key nor a certificate, which no caller could match. */
function listUnreachable(entries: readonly Entry[], locate: Locate): string[] {
  return entries.flatMap(({ key, certificate }, index) => {
    if (key !== undefined || certificate !== undefined) return [];
    return [`${locate(["keys", index, "key"])}: expected ${EXPECTED_KEY}; or a certificate; found nothing`];
  });
}

type Entry = z.output<typeof entrySchema>;

const FIELDS = [
  ...["keys", "name", "key", "certificate", "rate_limit", "requests_per_minute", "burst", "models"],
  ...["budget", "window", "requests", "tokens", "usd", "allow_unknown_prices"],
];

/** Hides unknown field names, since someone may have written a key in place of a field's name. */
function withoutUnknownNames(locate: Locate): Locate {
  return (path) => {
    const unknown = path.filter((step) => typeof step === "string" && !FIELDS.includes(step));
    return unknown.reduce<string>((where, step) => where.replaceAll(String(step), "…"), locate(path));
  };
}

/** Finds names and keys that occur in two entries: a call with such a key would have two callers. */
function listDuplicates(entries: readonly Entry[], locate: Locate): string[] {
  const names = new Set<string>();
  const owners = new Map<string, string>();
  const certificates = new Set<string>();
  return entries.flatMap(({ name, key: digests = [], certificate }, index) => {
    const problems: string[] = [];
    if (names.has(name)) problems.push(`${locate(["keys", index, "name"])}: another key has the same name`);
    names.add(name);
    if (certificate !== undefined && certificates.has(certificate))
      problems.push(`${locate(["keys", index, "certificate"])}: another entry has the same certificate`);
    if (certificate !== undefined) certificates.add(certificate);
    for (const digest of digests) {
      const hex = digest.toString("hex");
      const owner = owners.get(hex);
      if (owner !== undefined)
        problems.push(`${locate(["keys", index, "key"])}: the entry ${owner} has the same key`);
      owners.set(hex, name);
    }
    return problems;
  });
}

/** Reports a file with more keys than every request can be compared with. */
function findExcess(entries: readonly Entry[], locate: Locate): string[] {
  const total = entries.reduce((sum, { key = [] }) => sum + key.length, 0);
  if (total <= MAX_ALL_KEYS) return [];
  return [
    `${locate(["keys"])}: expected at most ${MAX_ALL_KEYS} keys in all entries together, found ${total}`,
  ];
}
