/** The fields of a configuration about counts that sidecars share. */
import * as z from "zod/mini";
import { fields, notBoth } from "./fields.ts";
import { checkedText, choice, flag, leaf, positiveDuration, text } from "./leaves.ts";
import { clientTls } from "./tls-schema.ts";

/** How calls are handled while shared counts cannot be reached. */
const whenAway = choice(["local", "refuse", "allow"]);

/** The parts of a server's URL. */
export interface ValkeyAddress {
  readonly host: string;
  readonly port: number;
  readonly username: string | undefined;
  readonly password: string | undefined;
  readonly database: number;
  readonly hasTls: boolean;
}

const DEFAULT_PORT = 6379;

/** Parses a URL such as `rediss://user:password@host:6379/0`; undefined for other values. */
function parseValkeyUrl(value: unknown): ValkeyAddress | undefined {
  const url = typeof value === "string" ? URL.parse(value) : null;
  if (url === null || !/^(redis|rediss|valkey|valkeys):$/.test(url.protocol)) return undefined;
  const path = /^\/?(\d{1,5})?$/.exec(url.pathname);
  if (path === null || url.search !== "" || url.hash !== "" || url.hostname === "") return undefined;
  try {
    return {
      host: url.hostname.replace(/^\[|\]$/g, ""),
      port: url.port === "" ? DEFAULT_PORT : Number(url.port),
      username: decodeURIComponent(url.username) || undefined,
      password: decodeURIComponent(url.password) || undefined,
      database: Number(path[1] ?? "0"),
      hasTls: /^(rediss|valkeys):$/.test(url.protocol),
    };
  } catch {
    return undefined;
  }
}

const valkey = fields({
  url: leaf(
    'a URL such as "redis://valkey:6379", or "rediss://user@valkey.example.com:6380" with TLS',
    parseValkeyUrl,
  ),
  username: z.optional(text),
  password: z.optional(text),
  password_file: z.optional(text),
  tls: z.optional(clientTls),
  prefix: z.optional(
    checkedText("up to 100 letters, digits, dots, colons, underscores and hyphens", (value) =>
      /^[\w.:-]{1,100}$/.test(value),
    ),
  ),
  timeout: z.optional(positiveDuration),
}).check(
  z.superRefine(({ url, tls, password, password_file: file }, context) => {
    const add = (field: string, message: string) =>
      context.addIssue({ code: "custom", path: [field], message });
    if (tls !== undefined && !url.hasTls) add("tls", 'expected a url that begins with "rediss://"');
    const passwords = [url.password, password, file].filter((given) => given !== undefined);
    if (passwords.length > 1) add("url", "expected one password, in url, password or password_file");
  }),
);

/** Reports whether a text is the URL of a PostgreSQL database. */
export function isPostgresUrl(text: string): boolean {
  return /^postgres(?:ql)?:\/\/./.test(text);
}

const postgres = fields({
  url: z.optional(checkedText('a URL that begins with "postgres://"', isPostgresUrl)),
  url_file: z.optional(text),
  schema: z.optional(
    checkedText("up to 40 lower-case letters, digits and underscores, not beginning with a digit", (value) =>
      /^[a-z_][a-z0-9_]{0,39}$/.test(value),
    ),
  ),
  timeout: z.optional(positiveDuration),
}).check(notBoth("url", "url_file"));

/** The section `shared`. */
export const shared = fields({
  valkey: z.optional(valkey),
  postgres: z.optional(postgres),
  when_away: z.optional(whenAway),
});

/** The fields of a rule that sidecars may share. */
export const sharedFields = {
  shared: z.optional(flag),
  when_away: z.optional(whenAway),
};

/** The fields of a budget that sidecars may share. */
export const sharedBudgetFields = {
  shared: z.optional(
    leaf('true, false or "postgres"', (value) =>
      typeof value === "boolean" || value === "postgres" ? value : undefined,
    ),
  ),
  when_away: z.optional(whenAway),
};

/** The same for a cache, which never refuses calls. */
export const sharedCacheFields = { ...sharedFields, when_away: z.optional(choice(["local", "allow"])) };

/** Only shared rules can lose access to their counts. */
export const whenAwayNeedsShared = z.refine<{ readonly shared?: unknown; readonly when_away?: unknown }>(
  (rule) => rule.when_away === undefined || (rule.shared !== undefined && rule.shared !== false),
  { path: ["when_away"], error: "expected no when_away without shared: true" },
);
