/** The issuers whose tokens identify callers, from the section `jwt`. Loaded only if there is one. */
import { resolve } from "node:path";
import type { CallerGrants } from "./caller-grants.ts";
import { toGrants } from "./caller-grants.ts";
import { type CallerPattern, parseCallerPattern } from "./claims.ts";
import { toMetadataUrl } from "./issuer-metadata.ts";
import { readKeyFile } from "./key-files.ts";
import { type KeySet, MAX_KEY_SET_BYTES, parseKeySet } from "./key-set.ts";
import type { ModelNames } from "./model-grants.ts";
import { type Locate, type Path, toConfigurationError, unwrapParsed } from "./problems.ts";
import type { Settings } from "./schema.ts";
import { getSystemCode, readSmallFile } from "./small-file.ts";
import { type ClientTlsFiles, openClientTls } from "./tls-files.ts";
import type { Parsed } from "./watched-file.ts";

/** An issuer of tokens. */
export interface TokenIssuer {
  /** Claim `iss` of its tokens. */
  readonly issuer: string;
  /** A token must have one of these in its claim `aud`. */
  readonly audiences: readonly string[];
  readonly caller: CallerPattern;
  /**
   * The first rule that matches applies, and a token that matches none is refused. Undefined: every token may do
   * everything.
   */
  readonly rules: readonly TokenRule[] | undefined;
  /** Allowed difference of clocks. */
  readonly clockToleranceMs: number;
  readonly keys: KeysFile | KeysUrl;
}

/** The permissions of the tokens with certain claims. */
export interface TokenRule {
  /** Patterns by paths of claims. Each claim must match one of its patterns. */
  readonly when: readonly (readonly [claim: string, patterns: readonly string[]])[];
  readonly grants: CallerGrants;
}

/** A file with the keys of an issuer. */
export interface KeysFile {
  readonly kind: "file";
  /** Absolute. */
  readonly path: string;
  /** The keys as read at the start. */
  readonly keys: KeySet;
}

/** The address of an issuer's keys, or of its metadata, which contains that address. */
export interface KeysUrl {
  readonly kind: "url" | "metadata";
  readonly url: URL;
  /** Absolute path of a file with a bearer token for the server of the address. */
  readonly tokenFile: string | undefined;
  readonly tls: ClientTlsFiles | undefined;
}

/** Context for reading the section. */
export interface JwtContext {
  readonly names: ModelNames;
  readonly locate: Locate;
  /** Base of relative paths. */
  readonly folder: string;
}

type Section = NonNullable<Settings["jwt"]>;

const DEFAULT_TOLERANCE_MS = 30_000;

const DEFAULT_CALLER = parseCallerPattern("{sub}") ?? { texts: [], claims: [] };

/** Reads the section with its files. @throws ConfigurationError with all mistakes. */
export async function readJwt(section: Section, context: JwtContext): Promise<readonly TokenIssuer[]> {
  const problems: string[] = [];
  const issuers: TokenIssuer[] = [];
  for (const [index, entry] of section.entries()) {
    const path = ["jwt", index];
    const keys = await readKeys(entry, path, context, problems);
    const rules = entry.rules?.map((rule, at): TokenRule => {
      const grants = toGrants(rule, { ...context, path: [...path, "rules", at], problems });
      return { when: Object.entries(rule.when ?? {}), grants };
    });
    if (keys === undefined) continue;
    issuers.push({
      issuer: entry.issuer,
      audiences: entry.audience,
      caller: entry.caller ?? DEFAULT_CALLER,
      clockToleranceMs: entry.clockToleranceMs ?? DEFAULT_TOLERANCE_MS,
      rules,
      keys,
    });
  }
  problems.push(...findConfusable(section, context));
  if (problems.length > 0) throw toConfigurationError(problems);
  return issuers;
}

async function readKeys(
  entry: Section[number],
  path: Path,
  context: JwtContext,
  problems: string[],
): Promise<KeysFile | KeysUrl | undefined> {
  const { keysFile, keysUrl } = entry;
  if (keysFile !== undefined) {
    const file = resolve(context.folder, keysFile);
    const keys = unwrapParsed(await readKeySet(file), context.locate([...path, "jwks_file"]), problems);
    return keys && { kind: "file", path: file, keys };
  }
  if (keysUrl !== undefined)
    return readAddress({ kind: "url", url: keysUrl }, entry, path, context, problems);
  const url = toMetadataUrl(entry.issuer);
  return url && readAddress({ kind: "metadata", url }, entry, path, context, problems);
}

async function readKeySet(file: string): Promise<Parsed<KeySet>> {
  try {
    const text = await readSmallFile(file, MAX_KEY_SET_BYTES);
    if (text === undefined) return { problem: `the file ${file} is over ${MAX_KEY_SET_BYTES} bytes` };
    const parsed = parseKeySet(text);
    return "problem" in parsed ? { problem: `${parsed.problem} (${file})` } : parsed;
  } catch (error) {
    return { problem: `cannot read ${file} (${getSystemCode(error)})` };
  }
}

/** Reads the files that belong to an address. The keys are fetched later, once the sidecar serves. */
async function readAddress(
  address: Pick<KeysUrl, "kind" | "url">,
  { keysTokenFile, tls: files }: Section[number],
  path: Path,
  { locate, folder }: JwtContext,
  problems: string[],
): Promise<KeysUrl> {
  const tokenFile = keysTokenFile && resolve(folder, keysTokenFile);
  if (tokenFile !== undefined)
    unwrapParsed(await readKeyFile(tokenFile), locate([...path, "jwks_token_file"]), problems);
  const reading = files && openClientTls(files, folder, locate([...path, "tls"]));
  if (reading !== undefined && "problem" in reading) problems.push(reading.problem);
  return { ...address, tokenFile, tls: reading && "value" in reading ? reading.value : undefined };
}

/** Finds issuers whose tokens could get the names of another issuer's callers. */
function findConfusable(section: Section, { locate }: JwtContext): string[] {
  return section.flatMap(({ issuer, caller = DEFAULT_CALLER }, index) => {
    const before = section.slice(0, index);
    if (before.some((other) => other.issuer === issuer))
      return [`${locate(["jwt", index, "issuer"])}: another entry has the same issuer`];
    const [beginning = ""] = caller.texts;
    const beginnings = before.map(({ caller: { texts } = DEFAULT_CALLER }) => texts[0] ?? "");
    const at = beginnings.findIndex((other) => other.startsWith(beginning) || beginning.startsWith(other));
    if (at < 0) return [];
    const expected = 'expected callers that begin with a text unique to their issuer, such as "ci/{sub}"';
    const found = `${quoteText(beginning)} here and ${quoteText(beginnings[at] ?? "")} in jwt[${at}]`;
    return [`${locate(["jwt", index, "caller"])}: ${expected}; found ${found}`];
  });
}

function quoteText(text: string): string {
  return text === "" ? "none" : JSON.stringify(text);
}
