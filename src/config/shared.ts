/** The servers of counts that sidecars share, from the section `shared` and the files that it names. */
import { resolve } from "node:path";
import type { PostgresSettings } from "../middleware/shared/postgres-budget.ts";
import type { SharedRule, SharedSettings } from "../middleware/shared/shared-stores.ts";
import type { ValkeySettings } from "../middleware/shared/valkey.ts";
import type { AccessKeysConfig } from "./access-keys.ts";
import { readKeyFile } from "./key-files.ts";
import type { Locate, Path } from "./problems.ts";
import type { RunsConfig } from "./runs.ts";
import type { Settings } from "./schema.ts";
import type { ClientTlsFiles } from "./tls-files.ts";
import type { Parsed } from "./watched-file.ts";

type Section = NonNullable<Settings["shared"]>;

/** Milliseconds that a decision may take. A commit waits for a disk. */
const VALKEY_TIMEOUT_MS = 250;
const POSTGRES_TIMEOUT_MS = 1000;

const DEFAULT_SCHEMA = "outrigger";

/** The source of the section. */
export interface SharedSource {
  readonly settings: Settings;
  /** Base of relative paths. Undefined for the working directory. */
  readonly folder?: string | undefined;
  readonly locate: Locate;
}

/** Other parts of the configuration that count here. */
export interface SharedContext {
  readonly tls: ClientTlsFiles | undefined;
  readonly access: AccessKeysConfig | undefined;
  /** The place of stored runs, in whose database budgets may be as well. */
  readonly store: RunsConfig["store"];
}

/** Reads the section. The value is undefined if no rule is shared. */
export async function readShared(
  source: SharedSource,
  { tls, access, store }: SharedContext,
): Promise<Parsed<SharedSettings | undefined>> {
  const { settings, locate } = source;
  const rules = [...listRules(settings), ...listCallerRules(access)];
  const section: Section = settings.shared ?? {};
  const valkey = await readValkey(section, source, tls);
  const postgres = await readPostgres(section, source, store, rules);
  const problems = [valkey, postgres].flatMap((read) => ("problem" in read ? [read.problem] : []));
  if (!("value" in valkey && "value" in postgres)) return { problem: problems.join("\n") };
  const found = { valkey: valkey.value, postgres: postgres.value };
  const missing = rules.flatMap((rule) => {
    const expected = describeMissing(rule, found);
    return expected === undefined ? [] : [`${rule.where ?? locate(rule.path)}: ${expected}`];
  });
  if (missing.length > 0) return { problem: missing.join("\n") };
  const isUsed = found.valkey !== undefined || found.postgres !== undefined;
  return { value: isUsed ? { ...found, whenAway: section.when_away ?? "local" } : undefined };
}

/** A shared rule, and its place. */
interface PlacedRule {
  readonly shared: SharedRule["shared"];
  readonly isBudget: boolean;
  readonly path: Path;
  /** The place of a rule that is in another file. */
  readonly where?: string | undefined;
}

function describeMissing(
  { shared, isBudget }: PlacedRule,
  { valkey, postgres }: Pick<SharedSettings, "valkey" | "postgres">,
): string | undefined {
  if (shared === "postgres") {
    return postgres === undefined
      ? "expected shared.postgres with a url, or runs.store in PostgreSQL, found neither"
      : undefined;
  }
  if (valkey !== undefined || (isBudget && postgres !== undefined)) return undefined;
  return isBudget
    ? "expected shared.valkey or shared.postgres, which say where the counts are, found neither"
    : "expected shared.valkey, which says where the counts are, found nothing";
}

function listRules({ middleware, providers = {}, models = [], jwt = [] }: Settings): PlacedRule[] {
  const ofTokens = jwt.flatMap(({ rules = [] }) => rules);
  return [
    ...ofTokens.flatMap(({ budget, rate_limit: rateLimit }) =>
      listShared({ budgets: budget, rateLimit }, ["jwt"]),
    ),
    ...listShared(middleware?.rules ?? {}, ["middleware"]),
    ...Object.entries(providers).flatMap(([name, { rules }]) => listShared(rules, ["providers", name])),
    ...models.flatMap(({ rules }, index) => listShared(rules, ["models", index])),
  ];
}

/** The rules of one place, as far as they are shared. */
type SharedRules = {
  readonly [Name in "rateLimit" | "circuitBreaker" | "cache"]?: SharedRule | undefined;
} & {
  readonly budgets?: readonly SharedRule[] | undefined;
};

function listShared({ budgets, rateLimit, circuitBreaker, cache }: SharedRules, path: Path): PlacedRule[] {
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

function listCallerRules(access: AccessKeysConfig | undefined): PlacedRule[] {
  return (access?.keys ?? []).flatMap(({ name, budgets, rateLimit }) =>
    listShared({ budgets, rateLimit }, []).map((rule) => {
      const what = rule.isBudget ? "budget" : "rate limit";
      return { ...rule, where: `access_keys_file: the ${what} of ${name}` };
    }),
  );
}

async function readValkey(
  { valkey }: Section,
  { folder = "", locate }: SharedSource,
  tls: ClientTlsFiles | undefined,
): Promise<Parsed<ValkeySettings | undefined>> {
  if (valkey === undefined) return { value: undefined };
  const { url, username, password, password_file: file, prefix = "outrigger", timeout } = valkey;
  const path = file === undefined ? undefined : resolve(folder, file);
  const read = path === undefined ? { value: password ?? url.password } : await readKeyFile(path);
  if ("problem" in read) {
    return { problem: `${locate(["shared", "valkey", "password_file"])}: ${read.problem}` };
  }
  return {
    value: {
      host: url.host,
      port: url.port,
      username: username ?? url.username,
      database: url.database,
      prefix,
      timeoutMs: timeout ?? VALKEY_TIMEOUT_MS,
      readPassword: path === undefined ? async () => read.value : createPasswordReader(path, read.value),
      tls: url.hasTls ? (tls?.current ?? (() => ({}))) : undefined,
    },
  };
}

/** Reads the password of each connection: mounted secrets are rotated. Keeps the last one if there is none. */
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
  section: Section,
  { folder = "", locate }: SharedSource,
  store: RunsConfig["store"],
  rules: readonly PlacedRule[],
): Promise<Parsed<PostgresSettings | undefined>> {
  const { postgres = {} } = section;
  const { url, url_file: file, schema, timeout: timeoutMs = POSTGRES_TIMEOUT_MS } = postgres;
  if (file !== undefined) {
    const where = locate(["shared", "postgres", "url_file"]);
    const read = await readKeyFile(resolve(folder, file));
    if ("problem" in read) return { problem: `${where}: ${read.problem}` };
    if (!/^postgres(ql)?:\/\/./.test(read.value)) {
      return { problem: `${where}: expected a postgres:// URL in the file` };
    }
    return { value: { url: read.value, schema: schema ?? DEFAULT_SCHEMA, timeoutMs } };
  }
  if (url !== undefined) return { value: { url, schema: schema ?? DEFAULT_SCHEMA, timeoutMs } };
  const isNeeded = rules.some(({ shared, isBudget }) => {
    return shared === "postgres" || (isBudget && section.valkey === undefined);
  });
  if (store.kind !== "postgres" || !isNeeded) return { value: undefined };
  return { value: { url: store.url, schema: schema ?? store.schema ?? DEFAULT_SCHEMA, timeoutMs } };
}
