/** The fields of a configuration that wrap calls in middleware. */

import * as z from "zod/mini";
import { compact } from "../core/compact.ts";
import { fallbackKinds, MAX_FALLBACK_TARGETS } from "../middleware/fallback.ts";
import { MAX_HEDGE_AFTER, MAX_HEDGES } from "../middleware/hedge.ts";
import type { LoggedContent } from "../middleware/logging.ts";
import { MAX_WAIT } from "../middleware/rate-limit.ts";
import { MAX_RETRIES } from "../middleware/retry-policy.ts";
import { STICKY_WORDS } from "../middleware/sticky-key.ts";
import {
  findDuplicateTarget,
  MAX_TARGETS,
  MAX_WEIGHT,
  type TargetStrategy,
} from "../middleware/target-choice.ts";
import {
  fields,
  list,
  type Named,
  type NoNames,
  named,
  type OtherNames,
  oneOrMore,
  toNamed,
} from "./fields.ts";
import {
  choice,
  count,
  flag,
  leaf,
  number,
  pattern,
  positiveSeconds,
  seconds,
  size,
  text,
  wholeNumber,
} from "./leaves.ts";
import { sharedBudgetFields, sharedCacheFields, sharedFields, whenAwayNeedsShared } from "./shared-schema.ts";
import { parseDuration } from "./units.ts";

/** Maximum number of calls that wait for a rate limit: each holds its request in memory. */
const MAX_QUEUE = 10_000;

/** Logged text stays in memory until it is written. */
const MAX_LOGGED_TEXT = 100_000;

const kindByWord = new Map(fallbackKinds.map((kind) => [kind.toLowerCase(), kind]));

/** Kinds of errors, in lower case in the file. */
const kinds = list(
  z.pipe(
    choice([...kindByWord.keys()]),
    z.transform((word) => kindByWord.get(word) ?? z.NEVER),
  ),
  "a list of kinds of errors",
);

const target = fields({ provider: z.optional(text), model: z.optional(text) }).check(
  z.refine(({ provider, model }) => provider !== undefined || model !== undefined, {
    error: "expected a provider, a model or both",
  }),
);

const targets = list(target, "a list of targets", MAX_FALLBACK_TARGETS, "targets");

const aliasTarget = fields({
  provider: z.optional(text),
  model: text,
  weight: z.optional(wholeNumber(0, MAX_WEIGHT)),
});

const stickyField = leaf(
  `${STICKY_WORDS.join(", ")} or metadata.<name>`,
  (value) =>
    STICKY_WORDS.find((word) => word === value) ??
    (typeof value === "string" && /^metadata\../.test(value) ? (value as `metadata.${string}`) : undefined),
);

const outlierEjection = named(
  fields({
    consecutive_failures: z.optional(count),
    failure_ratio: z.optional(number(0.01, 1)),
    latency_factor: z.optional(number(1.1, 1000)),
    min_calls: z.optional(wholeNumber(1, 256)),
    interval: z.optional(positiveSeconds),
    base_time: z.optional(positiveSeconds),
    max_time: z.optional(positiveSeconds),
    max_ejected: z.optional(number(0, 1)),
  }).check(
    z.refine(({ base_time = 30, max_time = 300 }) => max_time >= base_time, {
      path: ["max_time"],
      error: "expected at least base_time",
    }),
  ),
);

/** A time, or a percentile of the measured times. */
const hedgeAfter = leaf('a duration from "1ms" to "10m", or a percentile from "p50" to "p99"', (value) => {
  const [, digits] = typeof value === "string" ? (/^p(\d\d)$/.exec(value) ?? []) : [];
  if (digits !== undefined) return Number(digits) >= 50 ? { percentile: Number(digits) } : undefined;
  const after = (parseDuration(value) ?? 0) / 1000;
  return after > 0 && after <= MAX_HEDGE_AFTER ? { after } : undefined;
});

const hedge = z.pipe(
  fields({
    after: hedgeAfter,
    max: z.optional(wholeNumber(1, MAX_HEDGES)),
    budget: z.optional(number(0.001, 1)),
  }),
  z.transform(({ after, ...rest }) => compact({ ...after, ...rest })),
);

const strategies: readonly TargetStrategy[] = ["weight", "latency", "cost"];

const aliasFields = fields({
  provider: z.optional(text),
  model: z.optional(text),
  targets: z.optional(list(aliasTarget, "a list of targets", MAX_TARGETS, "targets")),
  choose: z.optional(choice(strategies)),
  sticky_by: z.optional(oneOrMore(stickyField, "a field of a call or a list of them")),
  outlier_ejection: z.optional(outlierEjection),
  fallbacks: z.optional(targets),
  fallback_on: z.optional(kinds),
  hedge: z.optional(hedge),
});

type AliasFields = z.output<typeof aliasFields>;

/** Finds the first field of an alias that contradicts another one. */
function findAliasMistake({
  provider,
  model,
  targets,
  choose,
  sticky_by,
  outlier_ejection,
}: AliasFields): AliasMistake | undefined {
  if (targets === undefined) {
    if (model === undefined) return { path: ["model"], message: "expected a text, or targets instead" };
    for (const [name, value] of Object.entries({ choose, sticky_by, outlier_ejection }))
      if (value !== undefined) return { path: [name], message: `expected no ${name} without targets` };
    return undefined;
  }
  for (const [name, value] of Object.entries({ provider, model }))
    if (value !== undefined) return { path: [name], message: `expected no ${name} together with targets` };
  return findTargetMistake(targets, choose) ?? findStickyMistake(choose, sticky_by);
}

interface AliasMistake {
  readonly path: (string | number)[];
  readonly message: string;
}

function findTargetMistake(
  targets: NonNullable<AliasFields["targets"]>,
  choose: TargetStrategy = "weight",
): AliasMistake | undefined {
  const duplicate = findDuplicateTarget(targets);
  if (duplicate !== undefined)
    return { path: ["targets", duplicate], message: "expected a target that is not listed twice" };
  if (targets.every(({ weight }) => weight === 0))
    return { path: ["targets"], message: "expected a target with a weight above 0" };
  const index = choose === "weight" ? -1 : targets.findIndex(({ weight = 0 }) => weight > 0);
  if (index < 0) return undefined;
  return {
    path: ["targets", index, "weight"],
    message: `expected 0 or no weight with "choose: ${choose}"`,
  };
}

function findStickyMistake(choose: TargetStrategy = "weight", stickyBy: unknown): AliasMistake | undefined {
  if (stickyBy === undefined || choose === "weight") return undefined;
  return { path: ["sticky_by"], message: `expected no sticky_by with "choose: ${choose}"` };
}

const modelAlias = z.pipe(
  aliasFields.check((context) => {
    const mistake = findAliasMistake(context.value);
    if (mistake !== undefined) context.issues.push({ code: "custom", input: context.value, ...mistake });
  }),
  z.transform(({ model = "", targets, ...rest }) => {
    const rules = toNamed(rest);
    return targets === undefined ? { ...rules, model } : { ...rules, targets: targets.map(compact) };
  }),
);

const fallback = fields({
  provider: z.optional(text),
  model: z.optional(text),
  targets,
  on: z.optional(kinds),
});

const retries = named(
  fields({
    max_retries: z.optional(wholeNumber(0, MAX_RETRIES)),
    base_delay: z.optional(seconds),
    max_delay: z.optional(seconds),
    backoff_multiplier: z.optional(number(1, 10)),
    jitter: z.optional(flag),
    retry_timeouts: z.optional(flag),
    budget: z.optional(
      named(fields({ ratio: z.optional(number(0, 10)), min_per_second: z.optional(number(0, 1000)) })),
    ),
  }),
);

const circuitBreaker = named(
  fields({
    failure_ratio: z.optional(number(0.01, 1)),
    min_calls: z.optional(count),
    window: z.optional(positiveSeconds),
    open_for: z.optional(positiveSeconds),
    ...sharedFields,
  }).check(whenAwayNeedsShared),
);

const rateLimit = named(
  fields({
    requests_per_minute: z.optional(count),
    tokens_per_minute: z.optional(count),
    max_wait: z.optional(seconds),
    max_queue: z.optional(wholeNumber(0, MAX_QUEUE)),
    ...sharedFields,
  }).check(
    whenAwayNeedsShared,
    z.refine((found) => found.requests_per_minute !== undefined || found.tokens_per_minute !== undefined, {
      error: "expected requests_per_minute, tokens_per_minute or both",
    }),
    z.refine(({ max_wait = 0 }) => max_wait <= MAX_WAIT, {
      path: ["max_wait"],
      error: 'expected at most "1h"',
    }),
  ),
);

const budgetFields = {
  window: choice(["hour", "day", "month"]),
  requests: z.optional(count),
  tokens: z.optional(count),
  usd: z.optional(number(0.000001, 1_000_000)),
  allow_unknown_prices: z.optional(flag),
  ...sharedBudgetFields,
};

/** The limits of a budget, each undefined if there is none. */
type BudgetLimits = Partial<Record<"requests" | "tokens" | "usd", number | undefined>>;

const hasLimit = z.refine<BudgetLimits>(
  ({ requests, tokens, usd }) => [requests, tokens, usd].some((limit) => limit !== undefined),
  { error: "expected requests, tokens, usd or several of them" },
);

const budget = named(fields(budgetFields).check(hasLimit, whenAwayNeedsShared));

const budgets = oneOrMore(budget, "a budget or a list of them");

/** Maximum number of budgets of a caller: each call passes them all. */
const MAX_CALLER_BUDGETS = 16;

const callerBudget = named(
  fields({ ...budgetFields, models: z.optional(list(text, "a list of models")) }).check(
    hasLimit,
    whenAwayNeedsShared,
  ),
);

/** The budgets of a caller, each for all calls or for some models. */
export const callerBudgets = oneOrMore(
  callerBudget,
  "a budget or a list of them",
  MAX_CALLER_BUDGETS,
  "budgets",
);

/** In memory, `max_bytes` limits each answer. */
const maxEntryBytesNeedsShared = z.refine<{ readonly shared?: unknown; readonly max_entry_bytes?: unknown }>(
  ({ shared, max_entry_bytes: bytes }) => bytes === undefined || shared === true,
  { path: ["max_entry_bytes"], error: "expected no max_entry_bytes without shared: true" },
);

const cache = named(
  fields({
    max_age: z.optional(positiveSeconds),
    max_bytes: z.optional(size),
    max_entries: z.optional(count),
    tool_calls: z.optional(flag),
    max_entry_bytes: z.optional(size),
    ...sharedCacheFields,
  }).check(whenAwayNeedsShared, maxEntryBytesNeedsShared),
);

const loggedContent: readonly LoggedContent[] = ["messages", "answer"];

const logging = named(
  fields({
    include: z.optional(list(choice(loggedContent), "a list of messages, answer or both")),
    max_text: z.optional(wholeNumber(1, MAX_LOGGED_TEXT)),
    redact: z.optional(list(pattern, "a list of regular expressions")),
  }),
  { max_text: "maxTextLength" },
);

/** The fields that rules may set for all calls, a provider or a model. */
export const ruleFields = {
  hedge: z.optional(hedge),
  retries: z.optional(retries),
  circuit_breaker: z.optional(circuitBreaker),
  rate_limit: z.optional(rateLimit),
  budget: z.optional(budgets),
  cache: z.optional(cache),
  logging: z.optional(logging),
};

/** Names in the code of rules that an entry can have several of. */
const RULE_NAMES = { budget: "budgets" } as const;

type RuleFields = { [Name in keyof typeof ruleFields]: z.output<(typeof ruleFields)[Name]> };

/** The rules of an entry. */
export type CallRules = Named<RuleFields, typeof RULE_NAMES>;

/** Renames the fields of an entry as `named` does, and separates its rules from its other fields. */
export function withRules<Fields extends object, const Names extends OtherNames<Fields> = NoNames>(
  schema: z.core.$ZodType<Fields>,
  names?: Names,
) {
  return z.pipe(
    schema,
    z.transform((entry: Fields) => {
      const isRule = ([name]: [string, unknown]) => name in ruleFields;
      const rules = Object.fromEntries(Object.entries(entry).filter(isRule)) as RuleFields;
      const others = Object.entries(entry).filter((field) => !isRule(field));
      const rest = Object.fromEntries(others) as Omit<Fields, keyof RuleFields>;
      return { ...toNamed(rest, names), rules: toNamed(rules, RULE_NAMES) };
    }),
  );
}

/** Settings of all calls. */
export const middleware = z.pipe(
  withRules(
    fields({
      ...ruleFields,
      model_aliases: z.optional(
        z.record(z.string().check(z.minLength(1)), modelAlias, {
          error: "expected a mapping of aliases to models",
        }),
      ),
      fallbacks: z.optional(list(fallback, "a list of fallbacks")),
    }),
  ),
  z.transform(({ modelAliases = {}, fallbacks = [], ...rest }) => ({ ...rest, modelAliases, fallbacks })),
);
