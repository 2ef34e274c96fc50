import { isDeepStrictEqual } from "node:util";
import { isObject } from "../kit/json/json.ts";
import type { Config } from "./config.ts";
import type { Settings } from "./schema.ts";

/** The fields of a configuration that a change touches, as paths: `providers.openai`, `log_level`. */
export interface ConfigChanges {
  /** Fields that may change while the sidecar runs. */
  readonly live: readonly string[];
  /** Fields that need a restart. */
  readonly fixed: readonly string[];
}

/** The fields that may change while the sidecar runs. */
const LIVE: ReadonlySet<string> = new Set<keyof Settings>([
  "default_provider",
  "jwt",
  "local_only",
  "log_level",
  "mcp",
  "media",
  "middleware",
  "models",
  "providers",
  "timeouts",
]);

/** Finds the fields in which two configurations differ, from the same flags and variables. */
export function findChanges(before: Config, after: Config): ConfigChanges {
  const live = [...LIVE].flatMap((name) => toPaths(name, getField(before, name), getField(after, name)));
  const isReordered = live.length === 0 && hasOtherOrder(before, after);
  const names = Object.keys({ ...before.settings, ...after.settings });
  const fixed = new Set(names.filter((name) => !LIVE.has(name) && hasOtherSetting(name, before, after)));
  if (hasOtherServers(before, after)) fixed.add("shared");
  // Whether requests need a token at all is decided at the start.
  if ((before.access.issuers === undefined) !== (after.access.issuers === undefined)) fixed.add("jwt");
  return { live: isReordered ? ["providers"] : live, fixed: [...fixed] };
}

function hasOtherSetting(name: string, before: Config, after: Config): boolean {
  return !isDeepStrictEqual(getSetting(before, name), getSetting(after, name));
}

function getField({ file }: Config, name: string): unknown {
  return isObject(file) ? file[name] : undefined;
}

function getSetting({ settings }: Config, name: string): unknown {
  return Object.entries(settings).find(([each]) => each === name)?.[1];
}

/** Names the members of a field that differ, if it has named members. */
function toPaths(name: string, before: unknown, after: unknown): string[] {
  if (isDeepStrictEqual(before, after)) return [];
  const [left, right] = [before ?? {}, after ?? {}];
  if (!isObject(left) || !isObject(right)) return [name];
  const members = new Set([...Object.keys(left), ...Object.keys(right)]);
  return [...members]
    .filter((member) => !isDeepStrictEqual(left[member], right[member]))
    .map((member) => `${name}.${member}`);
}

/** Servers of shared counts are opened at the start only. A new shared budget may be the first to need one. */
function hasOtherServers({ shared: before }: Config, { shared: after }: Config): boolean {
  const hasOther = (name: "valkey" | "postgres") =>
    (before?.[name] === undefined) !== (after?.[name] === undefined);
  return hasOther("valkey") || hasOther("postgres");
}

/** The first provider is the default, and the catalog's models belong to the first that has them. */
function hasOtherOrder({ client: before }: Config, { client: after }: Config): boolean {
  return [...before.providers.keys()].join() !== [...after.providers.keys()].join();
}
