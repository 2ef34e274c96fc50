/** The sources of a configuration: the flags, the variables and the file. */

import { dirname, resolve } from "node:path";
import type { Environment } from "../client/from-env.ts";
import { compact } from "../core/compact.ts";
import { ConfigurationError } from "../core/errors.ts";
import { isObject } from "../kit/json/json.ts";
import { locateVariable, readVariables } from "./environment.ts";
import { checkMcpTokens } from "./mcp.ts";
import { type Description, describeIssues, formatPath, type Locate, pathIn } from "./problems.ts";
import { type ProviderKeys, readProviderKeys } from "./provider-keys.ts";
import { type Settings, settingsSchema } from "./schema.ts";
import { getSystemCode, readSmallFile } from "./small-file.ts";

/** The flags of the command line, by their names. */
export interface ConfigFlags {
  /** Path of the configuration file. */
  readonly config?: string | undefined;
  readonly listen?: readonly string[] | undefined;
  readonly "admin-listen"?: string | undefined;
  readonly "default-provider"?: string | undefined;
  readonly "log-level"?: string | undefined;
  readonly "log-format"?: string | undefined;
}

/** The settings of a source, or its mistakes. */
export interface Source extends Description {
  readonly settings: Settings;
  readonly problems: readonly string[];
  /** Base of relative paths. Undefined: the working directory. */
  readonly folder?: string | undefined;
}

/** The settings of a source that has been read, with their locations for errors. */
export type ReadSource = Pick<Source, "settings" | "locate" | "folder">;

/** The configuration file as a source. */
export interface FileSource extends Source, ProviderKeys {
  /** The content of the file, before it is checked. */
  readonly tree: unknown;
  readonly providerNames: readonly string[];
  /** Base of relative paths. */
  readonly folder: string;
  /** Names of the variables that the file refers to. */
  readonly variables: ReadonlySet<string>;
}

const NONE: ReadonlySet<string> = new Set();

function readSource(tree: unknown, description: Description, unresolved: ReadonlySet<string> = NONE): Source {
  const result = settingsSchema.safeParse(tree);
  if (result.success) return { ...description, settings: result.data, problems: [] };
  const issues = result.error.issues.filter((issue) => !unresolved.has(formatPath(issue.path)));
  return { ...description, settings: {}, problems: describeIssues(issues, tree, description) };
}

const NO_FILE: FileSource = {
  tree: undefined,
  settings: {},
  problems: [],
  locate: () => "",
  secrets: NONE,
  variables: NONE,
  keys: new Map(),
  keyFiles: new Map(),
  keyOrigins: new Map(),
  providerNames: [],
  folder: "",
};

const MAX_FILE_BYTES = 256 * 1024;

/**
 * Reads the configuration file.
 * @throws ConfigurationError if it cannot be read.
 */
export async function readFileSource(
  path: string | undefined,
  environment: Environment,
): Promise<FileSource> {
  if (path === undefined || path === "") return NO_FILE;
  const text = await readSmallFile(path, MAX_FILE_BYTES).catch((error: unknown) => {
    throw new ConfigurationError(`cannot read the configuration file ${path} (${getSystemCode(error)})`);
  });
  if (text === undefined)
    throw new ConfigurationError(`the configuration file ${path} is over ${MAX_FILE_BYTES} bytes`);
  // Loaded only here: most sidecars have no file.
  const { parseYamlFile } = await import("./yaml-file.ts");
  const { value, problems, unresolved, substituted, variables, ...file } = parseYamlFile(
    path,
    text,
    environment,
  );
  const locate: Locate = (path) => file.locate(pathIn(value, path));
  const source = readSource(value, { locate, secrets: substituted }, unresolved);
  const providers = isObject(value) ? value.providers : undefined;
  const folder = dirname(resolve(path));
  const keys = await readProviderKeys(providers, folder, locate);
  const tokens = await checkMcpTokens(source.settings.mcp, folder, locate);
  return {
    ...source,
    ...keys,
    tree: value,
    folder,
    variables,
    problems: [...problems, ...source.problems, ...keys.problems, ...tokens],
    providerNames: isObject(providers) ? Object.keys(providers) : [],
  };
}

/** Reads the variables. */
export function readVariableSource(environment: Environment): Source {
  return readSource(readVariables(environment), { locate: locateVariable, secrets: NONE });
}

/** Reads the flags, which have the names of fields. */
export function readFlagSource({ config: _, ...flags }: ConfigFlags): Source {
  const fields = Object.entries(compact(flags)).map(([flag, value]) => [flag.replaceAll("-", "_"), value]);
  return readSource(Object.fromEntries(fields), { locate: locateFlag, secrets: NONE });
}

const locateFlag: Locate = ([field]) => `--${String(field).replaceAll("_", "-")}`;
