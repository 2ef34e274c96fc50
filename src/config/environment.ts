/** The environment variables of Outrigger itself. Those of the providers are read in src/client. */
import type { Environment } from "../client/from-env.ts";
import type { Locate } from "./problems.ts";
import { closestWord } from "./suggest.ts";

/** Variables that set a field of the configuration. */
const FIELDS: Readonly<Record<string, string>> = {
  OUTRIGGER_LISTEN: "listen",
  OUTRIGGER_ADMIN_LISTEN: "admin_listen",
  OUTRIGGER_DEFAULT_PROVIDER: "default_provider",
  OUTRIGGER_LOG_LEVEL: "log_level",
};

/** The variable that names the configuration file. */
export const configVariable = "OUTRIGGER_CONFIG";

/** Variables that register a provider; they are read in src/client. */
const PROVIDER_VARIABLES = ["OUTRIGGER_COMPATIBLE_BASE_URL", "OUTRIGGER_COMPATIBLE_API_KEY"];

const KNOWN = [...Object.keys(FIELDS), configVariable, ...PROVIDER_VARIABLES];

/** The variables in the shape of the configuration file. An empty variable counts as unset. */
export function readVariables(environment: Environment): Record<string, unknown> {
  const tree: Record<string, unknown> = {};
  for (const [variable, field] of Object.entries(FIELDS)) {
    const value = environment[variable]?.trim();
    if (value) tree[field] = field === "listen" ? splitList(value) : value;
  }
  return tree;
}

/** The variable that sets a field. */
export const locateVariable: Locate = ([field]) => {
  return Object.keys(FIELDS).find((variable) => FIELDS[variable] === field) ?? "";
};

/**
 * Variables with names close to one of Outrigger's. Other `OUTRIGGER_*` variables are not mistakes: Kubernetes sets
 * `OUTRIGGER_PORT` and others in every pod where a service is named `outrigger`.
 */
export function findMistypedVariables(environment: Environment): string[] {
  return Object.keys(environment).flatMap((variable) => {
    if (!variable.startsWith("OUTRIGGER_") || KNOWN.includes(variable)) return [];
    const meant = closestWord(variable, KNOWN);
    return meant === undefined ? [] : [`${variable} is set and has no meaning; did you mean ${meant}?`];
  });
}

function splitList(value: string): string[] {
  return value.split(",").map((item) => item.trim());
}
