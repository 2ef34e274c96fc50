/** The permissions and limits in a caller's entry, in the file with the access keys and in rules for tokens. */
import * as z from "zod/mini";
import type { Caller, CallerBudget } from "../core/caller.ts";
import type { CallerRate, SharedRule } from "../middleware/shared/shared-stores.ts";
import { fields, list, named } from "./fields.ts";
import { count, text } from "./leaves.ts";
import { callerBudgets } from "./middleware-schema.ts";
import { createModelCheck, type ModelNames, readModelGrant } from "./model-grants.ts";
import type { Locate, Path } from "./problems.ts";
import { sharedFields, whenAwayNeedsShared } from "./shared-schema.ts";

/** The permissions and limits of a caller. */
export interface CallerGrants extends Omit<Caller, "name"> {
  /** Undefined if there is no limit. */
  readonly rateLimit: AccessRateLimit | undefined;
}

/** An entry of the file with the access keys: a caller and the digests of its keys. */
export interface AccessKey extends Caller, CallerGrants {
  /** Name of the caller's certificate, which replaces a key. Undefined if it has none. */
  readonly certificate?: string | undefined;
  /** SHA-256 digests of the keys: none, one, or several while the key is rotated. 32 bytes each. */
  readonly digests: readonly Buffer[];
}

/** Limits how often a caller may call. */
export interface AccessRateLimit extends CallerRate, SharedRule {}

/** Maximum number of names and patterns of one entry: every call of its caller is compared with each. */
const MAX_MODELS = 256;

/** The fields of an entry. */
export const grantFields = {
  rate_limit: z.optional(
    z.pipe(
      named(
        fields({ requests_per_minute: count, burst: z.optional(count), ...sharedFields }).check(
          whenAwayNeedsShared,
        ),
      ),
      z.transform((limit): AccessRateLimit => ({ burst: limit.requestsPerMinute, ...limit })),
    ),
  ),
  models: z.optional(list(text, "a list of models", MAX_MODELS, "models")),
  budget: z.optional(callerBudgets),
};

/** The fields of an entry, as read. */
export type GrantEntry = { [Name in keyof typeof grantFields]?: z.output<(typeof grantFields)[Name]> };

/** Context for reading an entry. */
export interface GrantContext {
  readonly names: ModelNames;
  readonly locate: Locate;
  readonly path: Path;
  /** Receives the mistakes of the entry. */
  readonly problems: string[];
}

/** Returns the permissions and limits of an entry's caller. */
export function toGrants(
  { rate_limit: rateLimit, models, budget }: GrantEntry,
  context: GrantContext,
): CallerGrants {
  return {
    rateLimit,
    isRestricted: models !== undefined,
    allowsModel: toModelCheck(models, ["models"], context),
    budgets: budget?.map(
      (found, index): CallerBudget => ({
        ...found,
        countsModel: toModelCheck(found.models, ["budget", index, "models"], context),
      }),
    ),
  };
}

/** Returns a function that checks whether a list contains a model. Without a list, every model passes. */
function toModelCheck(
  models: readonly string[] | undefined,
  field: Path,
  { names, locate, path, problems }: GrantContext,
): (provider: string, model: string) => boolean {
  if (models === undefined) return () => true;
  const grants = models.flatMap((entry, index) => {
    const read = readModelGrant(entry, names);
    if ("grants" in read) return read.grants;
    problems.push(`${locate([...path, ...field, index])}: ${read.problem}`);
    return [];
  });
  return createModelCheck(grants);
}
