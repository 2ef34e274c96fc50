import type { NamedModel } from "../client/model-names.ts";
import type { ProviderSettings } from "../client/providers.ts";
import { getBaseUrl } from "../client/providers.ts";
import {
  type Config,
  type ListenerTls,
  loadConfig,
  ServedClient,
  type TokenIssuer,
} from "../config/index.ts";
import type { RoutedAlias } from "../middleware/alias-routing.ts";
import { checkSetup } from "./check-setup.ts";
import { exitCodes } from "./exit-codes.ts";
import { UsageError } from "./flags.ts";
import type { Terminal } from "./terminal.ts";

/**
 * `outrigger check-config FILE`: prints what `serve` would serve, or every mistake. Opens no port and calls no
 * provider.
 */
export async function checkConfig(args: readonly string[], { env, stdout }: Terminal): Promise<number> {
  const [file, ...others] = args;
  if (file === undefined || file.startsWith("-") || others.length > 0)
    throw new UsageError("check-config: expected the path of one configuration file");
  const config = await loadConfig({ environment: env, flags: { config: file } });
  checkSetup(config);
  const log = { info: () => {}, warn: () => {} };
  await new ServedClient(config.client, { log }).close();
  stdout.write(`${describeConfig(config).join("\n")}\n`);
  return exitCodes.ok;
}

/** Describes what a configuration serves, one line each, without keys and passwords. */
function describeConfig({ listeners, access, client, mcp, runs, shared, notices }: Config): string[] {
  const { data, admin } = listeners;
  const first = client.defaultProvider ?? client.providers.keys().next().value;
  return [
    `calls:    ${data.addresses.join(", ")}${describeTls(data.tls)}`,
    `admin:    ${admin === undefined ? "off" : `${admin.address}${describeTls(admin.tls)}`}`,
    `callers:  ${describeCallers({ listeners, access })}`,
    ...(access.issuers ?? []).map((issuer) => `tokens:   ${describeIssuer(issuer)}`),
    ...[...client.providers].map(([name, settings]) => {
      const isDefault = name === first ? ", the default" : "";
      return `provider: ${name}, ${describeProvider(settings, client.keyOrigins?.get(name))}${isDefault}`;
    }),
    ...Object.entries(client.middleware.modelAliases).map(
      ([name, alias]) => `alias:    ${name}, ${describeAlias(alias)}`,
    ),
    ...client.models.map(({ id, provider }) => `model:    ${provider}/${id}`),
    ...[...mcp.servers].map(([label, { url }]) => `mcp:      ${label}, ${withoutSecrets(url)}`),
    `runs:     ${describeStore(runs.store)}`,
    ...(shared === undefined ? [] : [`shared:   ${describeShared(shared)}`]),
    ...notices.map((notice) => `notice:   ${notice}`),
  ];
}

function describeTls(tls: ListenerTls | undefined): string {
  if (tls === undefined) return "";
  const { subject, validToDate } = tls.material.certificate;
  const name = subject?.replaceAll("\n", ", ") || "no subject";
  return `, TLS as ${name} until ${validToDate.toISOString()}`;
}

function describeCallers({ listeners, access }: Pick<Config, "listeners" | "access">): string {
  const certificates = listeners.data.tls?.clientCertificates ?? "none";
  const keys = access.keys === undefined ? "" : access.keys.keys.map(({ name }) => name).join(", ");
  if (keys !== "") return certificates === "none" ? keys : `${keys}; certificates are ${certificates}`;
  if (access.issuers !== undefined) return "everyone with a token";
  return certificates === "required" ? "everyone with a certificate" : "everyone who reaches the address";
}

function describeIssuer({ issuer, audiences, rules, keys }: TokenIssuer): string {
  const source = keys.kind === "file" ? keys.path : withoutSecrets(keys.url.href);
  const allowed =
    rules === undefined ? "every model" : `${rules.length} ${rules.length === 1 ? "rule" : "rules"}`;
  return `${issuer} for ${audiences.join(", ")}, keys from ${source}, ${allowed}`;
}

function describeProvider(settings: ProviderSettings, keyOrigin: string | undefined): string {
  if (settings.api === "command") return "command";
  const key = keyOrigin === undefined ? "no key" : `key from ${keyOrigin}`;
  return `${settings.api}, ${withoutSecrets(getBaseUrl(settings))}, ${key}`;
}

function describeAlias(alias: RoutedAlias): string {
  if (!("targets" in alias)) return toName(alias);
  const { targets, choose = "weight" } = alias;
  const names = targets.map((target) =>
    choose === "weight" ? `${toName(target)} ${target.weight ?? 1}` : toName(target),
  );
  return `by ${choose}: ${names.join(", ")}`;
}

function toName({ provider, model }: NamedModel): string {
  return provider === undefined ? model : `${provider}/${model}`;
}

/** Returns an address without a query, in which some servers take keys. */
function withoutSecrets(address: string): string {
  const url = URL.parse(address);
  return url === null ? "an address" : `${url.origin}${url.pathname}`;
}

function describeStore(store: Config["runs"]["store"]): string {
  if (store.kind === "file") return `in ${store.path}`;
  if (store.kind === "postgres")
    return `in PostgreSQL at ${URL.parse(store.url)?.host || "the address of runs.store"}`;
  return `in ${store.kind}`;
}

function describeShared({ valkey, postgres, whenAway }: NonNullable<Config["shared"]>): string {
  const tls = valkey?.tls === undefined ? "" : " with TLS";
  const servers = [
    valkey && `in Valkey at ${valkey.host}:${valkey.port}${tls}`,
    postgres && `budgets in PostgreSQL at ${URL.parse(postgres.url)?.host || "the address of its URL"}`,
  ];
  return `${servers.filter((server) => server !== undefined).join(", ")}; when away: ${whenAway}`;
}
