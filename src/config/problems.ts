/** Descriptions of the mistakes in a configuration. */
import type * as z from "zod/mini";
import { readsLikeKey } from "../client/check-key.ts";
import { ConfigurationError } from "../core/errors.ts";
import type { Parsed } from "./watched-file.ts";

/** The path of a value: keys of mappings and indices of lists. */
export type Path = readonly PropertyKey[];

/** Describes the location of a value, for instance `outrigger.yaml:3:5 providers.main.api` or `OUTRIGGER_LISTEN`. */
export type Locate = (path: Path) => string;

/** Fields that hold secrets: their values are never shown. */
const SECRET_FIELDS: readonly PropertyKey[] = [
  "api_key",
  "authorization",
  "environment",
  "headers",
  "key",
  "password",
];

/** Name and password in a URL. */
const URL_CREDENTIALS = /(\/\/|:)[^/]*@/;

const MAX_SHOWN = 64;

/** Maximum number of described mistakes of one kind in one source. */
export const MAX_DESCRIBED = 50;

/** Context for describing values. */
export interface Description {
  readonly locate: Locate;
  /** Values that may hold a secret, because a variable was filled in. */
  readonly secrets: ReadonlySet<unknown>;
}

/**
 * Returns one line for each mistake that a schema found in a value: its location, what was expected and what was found.
 */
export function describeIssues(
  issues: readonly z.core.$ZodIssue[],
  value: unknown,
  description: Description,
): string[] {
  const lines: string[] = [];
  let count = 0;
  for (const issue of issues) {
    count += issue.code === "unrecognized_keys" ? issue.keys.length : 1;
    if (lines.length < MAX_DESCRIBED) lines.push(...toLines(issue, value, description));
  }
  const shown = lines.slice(0, MAX_DESCRIBED);
  return count > shown.length ? [...shown, `and ${count - shown.length} more`] : shown;
}

function toLines(issue: z.core.$ZodIssue, value: unknown, description: Description): string[] {
  if (issue.code !== "unrecognized_keys") return [describeIssue(issue, value, description)];
  const messages = issue.message.split("\n");
  const path = pathIn(value, issue.path);
  return issue.keys
    .slice(0, MAX_DESCRIBED)
    .map((key, index) => `${description.locate([...path, key])}: ${messages[index]}`);
}

/** Creates one error for all mistakes of a configuration. */
export function toConfigurationError(problems: readonly string[]): ConfigurationError {
  if (problems.length === 1) return new ConfigurationError(`the configuration is wrong: ${problems[0]}`);
  const lines = problems.map((problem) => `\n  ${problem}`).join("");
  return new ConfigurationError(`the configuration has ${problems.length} mistakes:${lines}`);
}

/** Returns a value that was read from a file; undefined if it has a problem, which is added to the others. */
export function unwrapParsed<Value>(
  read: Parsed<Value>,
  where: string,
  problems: string[],
): Value | undefined {
  if ("value" in read) return read.value;
  problems.push(`${where}: ${read.problem}`);
  return undefined;
}

/** Formats a path: `providers.main.timeouts.connect`, `listen[0]`. */
export function formatPath(path: Path): string {
  let formatted = "";
  for (const step of path) {
    if (typeof step === "number") formatted += `[${step}]`;
    else formatted += formatted === "" ? String(step) : `.${String(step)}`;
  }
  return formatted;
}

function describeIssue(issue: z.core.$ZodIssue, value: unknown, { locate, secrets }: Description): string {
  const path = pathIn(value, issue.path);
  const found = valueAt(value, path);
  if (secrets.has(found))
    return `${locate(path)}: ${withoutText(issue.message, String(found))}, found ${HIDDEN}`;
  const where = `${locate(path)}: ${issue.message}`;
  if (issue.code === "invalid_key") return where;
  // A text instead of a provider's settings, or instead of the whole file, usually is a key.
  if (issue.code !== "custom" && typeof found === "string") return `${where}, found a text`;
  const hint = issue.code === "custom" ? (issue.params?.hint ?? "") : "";
  return `${where}, found ${show(found, path)}${hint}`;
}

const HIDDEN = "a value from a variable, which is not shown";

const LIKE_KEY = "a text that reads like a key, which is not shown";

function withoutText(message: string, text: string): string {
  return text === "" ? message : message.replaceAll(text, "…");
}

/** Describes a word that is not among the expected ones. */
export function describeWord(word: string, { secrets }: Pick<Description, "secrets">): string {
  if (secrets.has(word)) return HIDDEN;
  return readsLikeKey(word) ? LIKE_KEY : JSON.stringify(word);
}

/** Returns the path as written in the source: without the index of a value that stands for a list with one item. */
export function pathIn(value: unknown, path: Path): Path {
  let parent = value;
  return path.filter((step) => {
    if (step === 0 && !Array.isArray(parent)) return false;
    parent = valueAt(parent, [step]);
    return true;
  });
}

function valueAt(value: unknown, path: Path): unknown {
  return path.reduce<unknown>((parent, step) => {
    return typeof parent === "object" && parent !== null ? Reflect.get(parent, step) : undefined;
  }, value);
}

function show(value: unknown, path: Path): string {
  if (value === undefined || value === null || value === "") return "nothing";
  if (Array.isArray(value)) return value.length === 0 ? "an empty list" : "a list";
  if (typeof value === "object") return "a mapping";
  if (path.some((step) => SECRET_FIELDS.includes(step))) return `a ${typeof value} that is not shown`;
  if (typeof value === "string" && readsLikeKey(value)) return LIKE_KEY;
  const text = JSON.stringify(value).replace(URL_CREDENTIALS, "$1…@");
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
}
