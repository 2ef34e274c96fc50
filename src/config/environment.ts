/** The environment variables of Outrigger itself. Provider variables are read in src/client. */
import type { Environment } from "../client/from-env.ts";
import type { Locate } from "./problems.ts";
import { closestWord } from "./suggest.ts";

/** Variables that set a field of the configuration, by its path. */
const FIELDS: Readonly<Record<string, string>> = {
  OUTRIGGER_LISTEN: "listen",
  OUTRIGGER_ADMIN_LISTEN: "admin_listen",
  OUTRIGGER_ALLOWED_HOSTS: "allowed_hosts",
  OUTRIGGER_TLS_CERTIFICATE_FILE: "tls.certificate_file",
  OUTRIGGER_TLS_KEY_FILE: "tls.key_file",
  OUTRIGGER_TLS_CLIENT_CA_FILE: "tls.client_ca_file",
  OUTRIGGER_ACCESS_KEYS_FILE: "access_keys_file",
  OUTRIGGER_ALLOW_UNAUTHENTICATED: "allow_unauthenticated",
  OUTRIGGER_LOCAL_ONLY: "local_only",
  OUTRIGGER_DEFAULT_PROVIDER: "default_provider",
  OUTRIGGER_LOG_LEVEL: "log_level",
  OUTRIGGER_LOG_FORMAT: "log_format",
  OUTRIGGER_RUNS_STORE: "runs.store",
};

/** Fields whose variable holds several values, with commas between them. */
const LISTS: ReadonlySet<string> = new Set(["listen", "allowed_hosts"]);

/** The variable that names the configuration file. */
export const configVariable = "OUTRIGGER_CONFIG";

/** Variables that register a provider; they are read in src/client. */
const PROVIDER_VARIABLES = ["OUTRIGGER_COMPATIBLE_BASE_URL", "OUTRIGGER_COMPATIBLE_API_KEY"];

const KNOWN = [...Object.keys(FIELDS), configVariable, ...PROVIDER_VARIABLES];

/** Returns the variables in the shape of the configuration file. An empty variable counts as unset. */
export function readVariables(environment: Environment): Record<string, unknown> {
  const tree: Record<string, unknown> = {};
  for (const [variable, field] of Object.entries(FIELDS)) {
    const value = environment[variable]?.trim();
    if (value) setField(tree, field, LISTS.has(field) ? splitList(value) : value);
  }
  return tree;
}

/** Returns the name of the variable that sets a field. */
export const locateVariable: Locate = (path) => {
  const getField = (variable: string) => FIELDS[variable]?.split(".") ?? [];
  const sets = (variable: string) => getField(variable).every((step, index) => step === path[index]);
  return Object.keys(FIELDS).find(sets) ?? "";
};

/** Sets a field, and keeps the other fields of its parent. */
function setField(tree: Record<string, unknown>, field: string, value: unknown): void {
  const [parent = "", child] = field.split(".");
  if (child === undefined) tree[parent] = value;
  else tree[parent] = { ...(tree[parent] as object | undefined), [child]: value };
}

/**
 * Returns notices for variables that look like settings but are not: all others that begin with `OUTRIGGER_`, and
 * variables whose names are close to one of Outrigger's.
 * @param used Names that the configuration file refers to.
 */
export function findUnknownVariables(environment: Environment, used: ReadonlySet<string>): string[] {
  return Object.keys(environment).flatMap((variable) => {
    if (KNOWN.includes(variable) || used.has(variable) || SERVICE_LINK.test(variable)) return [];
    const meant = closestWord(variable, KNOWN);
    if (meant !== undefined) return [`${variable} is set and has no meaning; did you mean ${meant}?`];
    return variable.startsWith("OUTRIGGER_")
      ? [`${variable} is set and has no meaning; "outrigger serve --help" lists the variables`]
      : [];
  });
}

/** Kubernetes sets these in every pod of a namespace with a service whose name begins with `outrigger`. */
const SERVICE_LINK = /^OUTRIGGER_(?:\w+_)?(?:SERVICE_HOST|SERVICE_PORT|PORT)(?:_\w+)?$/;

function splitList(value: string): string[] {
  return value.split(",").map((item) => item.trim());
}
