/** The servers of counts that sidecars share, from the section `shared` and the files that it names. */
import { resolve } from "node:path";
import type { PostgresSettings } from "../middleware/shared/postgres-budget.ts";
import type { SharedRule, SharedSettings } from "../middleware/shared/shared-stores.ts";
import type { ValkeySettings } from "../middleware/shared/valkey.ts";
import type { AccessKeysConfig } from "./access-keys.ts";
import { readKeyFile } from "./key-files.ts";
import { type Path, toConfigurationError, unwrapParsed } from "./problems.ts";
import type { RunsConfig } from "./runs.ts";
import type { Settings } from "./schema.ts";
import { isPostgresUrl } from "./shared-schema.ts";
import type { ReadSource } from "./sources.ts";
import type { ClientTlsFiles } from "./tls-files.ts";

type Section = NonNullable<Settings["shared"]>;

/** The most milliseconds that a decision may take. PostgreSQL's is longer, because a commit waits for the disk. */
const VALKEY_TIMEOUT_MS = 250;
const POSTGRES_TIMEOUT_MS = 1000;

const DEFAULT_SCHEMA = "outrigger";

/** Other parts of the configuration that the section depends on. */
export interface SharedContext {
  readonly tls: ClientTlsFiles | undefined;
  readonly access: AccessKeysConfig | undefined;
  /** The location of stored runs. Its database can also hold budgets. */
  readonly store: RunsConfig["store"];
}

/**
 * Reads the section. Undefined if no rule is shared.
 * @throws ConfigurationError with all mistakes.
 */
export async function readShared(
  source: ReadSource,
  { tls, access, store }: SharedContext,
): Promise<SharedSettings | undefined> {
  const { settings, locate } = source;
  const rules = [...listRules(settings), ...listCallerRules(access)];
  const section: Section = settings.shared ?? {};
  const problems: string[] = [];
  const valkey = await readValkey(section, source, tls, problems);
  const postgres = await readPostgres(section, source, store, rules, problems);
  if (problems.length > 0) throw toConfigurationError(problems);
  const missing = rules.flatMap((rule) => {
    const expected = describeMissing(rule, { valkey, postgres });
    return expected === undefined ? [] : [`${rule.where ?? locate(rule.path)}: ${expected}`];
  });
  if (missing.length > 0) throw toConfigurationError(missing);
  const isUsed = valkey !== undefined || postgres !== undefined;
  return isUsed ? { valkey, postgres, whenAway: section.when_away ?? "local" } : undefined;
}

interface LocatedRule {
  readonly shared: SharedRule["shared"];
  readonly isBudget: boolean;
  readonly path: Path;
  /** The location of a rule that is in another file. */
  readonly where?: string | undefined;
}

function describeMissing(
  { shared, isBudget }: LocatedRule,
  { valkey, postgres }: Pick<SharedSettings, "valkey" | "postgres">,
): string | undefined {
  if (shared === "postgres") {
    return postgres === undefined
      ? "expected shared.postgres with a url, or runs.store in PostgreSQL, found neither"
      : undefined;
  }
  if (valkey !== undefined || (isBudget && postgres !== undefined)) return undefined;
  return isBudget
    ? "expected shared.valkey or shared.postgres to store the counts, found neither"
    : "expected shared.valkey to store the counts, found nothing";
}

function listRules({ middleware, providers = {}, models = [], jwt = [] }: Settings): LocatedRule[] {
  const tokenRules = jwt.flatMap(({ rules = [] }) => rules);
  return [
    ...tokenRules.flatMap(({ budget, rate_limit: rateLimit }) =>
      listShared({ budgets: budget, rateLimit }, ["jwt"]),
    ),
    ...listShared(middleware?.rules ?? {}, ["middleware"]),
    ...Object.entries(providers).flatMap(([name, { rules }]) => listShared(rules, ["providers", name])),
    ...models.flatMap(({ rules }, index) => listShared(rules, ["models", index])),
  ];
}

type SharedRules = {
  readonly [Name in "rateLimit" | "circuitBreaker" | "cache"]?: SharedRule | undefined;
} & {
  readonly budgets?: readonly SharedRule[] | undefined;
};

function listShared({ budgets, rateLimit, circuitBreaker, cache }: SharedRules, path: Path): LocatedRule[] {
  const named = [
    ...(budgets ?? []).map((rule) => ({ rule, name: "budget" })),
    { rule: rateLimit, name: "rate_limit" },
    { rule: circuitBreaker, name: "circuit_breaker" },
    { rule: cache, name: "cache" },
  ];
  return named.flatMap(({ rule, name }) => {
    const shared = rule?.shared;
    if (shared === undefined || shared === false) return [];
    return [{ shared, isBudget: name === "budget", path: [...path, name] }];
  });
}

function listCallerRules(access: AccessKeysConfig | undefined): LocatedRule[] {
  return (access?.keys ?? []).flatMap(({ name, budgets, rateLimit }) =>
    listShared({ budgets, rateLimit }, []).map((rule) => {
      const what = rule.isBudget ? "budget" : "rate limit";
      return { ...rule, where: `access_keys_file: the ${what} of ${name}` };
    }),
  );
}

async function readValkey(
  { valkey }: Section,
  { folder = "", locate }: ReadSource,
  tls: ClientTlsFiles | undefined,
  problems: string[],
): Promise<ValkeySettings | undefined> {
  if (valkey === undefined) return undefined;
  const { url, username, password, password_file: file, prefix = "outrigger", timeout } = valkey;
  const path = file === undefined ? undefined : resolve(folder, file);
  const where = locate(["shared", "valkey", "password_file"]);
  const first =
    path === undefined ? (password ?? url.password) : unwrapParsed(await readKeyFile(path), where, problems);
  return {
    host: url.host,
    port: url.port,
    username: username ?? url.username,
    database: url.database,
    prefix,
    timeoutMs: timeout ?? VALKEY_TIMEOUT_MS,
    readPassword: path === undefined ? async () => first : createPasswordReader(path, first),
    tls: url.hasTls ? (tls?.current ?? (() => ({}))) : undefined,
  };
}

/**
 * Returns a function that reads the password for each connection, since mounted secrets are rotated. While the file
 * cannot be read, it returns the latest password.
 */
function createPasswordReader(path: string, first: string | undefined): () => Promise<string | undefined> {
  let last = first;
  return async () => {
    const read = await readKeyFile(path);
    if ("value" in read) last = read.value;
    return last;
  };
}

/** If the section names no database, budgets use the database of stored runs. */
async function readPostgres(
  { postgres = {}, valkey }: Section,
  { folder = "", locate }: ReadSource,
  store: RunsConfig["store"],
  rules: readonly LocatedRule[],
  problems: string[],
): Promise<PostgresSettings | undefined> {
  const { url_file: file, schema = DEFAULT_SCHEMA, timeout: timeoutMs = POSTGRES_TIMEOUT_MS } = postgres;
  const where = locate(["shared", "postgres", "url_file"]);
  const url =
    file === undefined
      ? postgres.url
      : unwrapParsed(await readKeyFile(resolve(folder, file)), where, problems);
  if (file !== undefined && url !== undefined && !isPostgresUrl(url))
    problems.push(`${where}: expected a postgres:// URL in the file`);
  if (url !== undefined) return { url, schema, timeoutMs };
  const isNeeded = rules.some(({ shared, isBudget }) => {
    return shared === "postgres" || (isBudget && valkey === undefined);
  });
  if (store.kind !== "postgres" || !isNeeded) return undefined;
  return { url: store.url, schema: postgres.schema ?? store.schema ?? DEFAULT_SCHEMA, timeoutMs };
}
