import { AMOUNT_KINDS, type Amount, type AmountLimits, type BudgetPeriod } from "../budget-window.ts";
import { createScript, PRELUDE, readNumbers, WINDOW } from "./scripts.ts";
import type { BudgetCounter, CountedBudget, PendingCorrection } from "./shared-budget.ts";
import type { Valkey } from "./valkey.ts";

/**
 * Keys: a hash with the start of the window and its sums. Arguments: the period, three amounts, three limits or -1, the
 * start of the window in which something is owed, and three owed amounts. Expires a day after the window: until then
 * settlements of the last window find that it is over.
 */
const TAKE = createScript(`${PRELUDE}${WINDOW}
local names = {'requests', 'tokens', 'nano_usd'}
local begin, ends = window(ARGV[1], seconds)
local found = redis.call('HMGET', key, 'begin', unpack(names))
local isCurrent = tonumber(found[1]) == begin
local exceeded, sums, after = 0, {}, {}
for i = 1, 3 do
  sums[i] = isCurrent and tonumber(found[i + 1]) or 0
  if tonumber(ARGV[8]) == begin then sums[i] = sums[i] + tonumber(ARGV[8 + i]) end
  after[i] = sums[i] + tonumber(ARGV[1 + i])
  local limit = tonumber(ARGV[4 + i])
  if exceeded == 0 and limit >= 0 and after[i] > limit then exceeded = i end
end
if exceeded == 0 then sums = after end
redis.call('HSET', key, 'begin', string.format('%.0f', begin))
for i = 1, 3 do redis.call('HSET', key, names[i], string.format('%.0f', sums[i])) end
redis.call('EXPIREAT', key, ends + 86400)
return {exceeded, begin, ends, sums[1], sums[2], sums[3]}
`);

/** Arguments: the start of the window, and three amounts. */
const CORRECT = createScript(`${PRELUDE}
if tonumber(redis.call('HGET', key, 'begin')) ~= tonumber(ARGV[1]) then return 0 end
for i, name in ipairs({'requests', 'tokens', 'nano_usd'}) do
  local sum = (tonumber(redis.call('HGET', key, name)) or 0) + tonumber(ARGV[1 + i])
  redis.call('HSET', key, name, string.format('%.0f', sum))
end
return 1
`);

/** Counts a budget in Valkey. */
export class ValkeyBudgetCounter implements BudgetCounter {
  readonly #valkey: Valkey;
  readonly #key: string;
  readonly #period: BudgetPeriod;

  constructor(valkey: Valkey, key: string, period: BudgetPeriod) {
    this.#valkey = valkey;
    this.#key = `budget:${key}`;
    this.#period = period;
  }

  take(amount: Amount, limits: AmountLimits, owed: PendingCorrection): Promise<CountedBudget> {
    const args = [
      this.#period,
      ...AMOUNT_KINDS.map((kind) => String(amount[kind])),
      ...AMOUNT_KINDS.map((kind) => String(limits[kind] ?? -1)),
      String(owed.begin / 1000),
      ...AMOUNT_KINDS.map((kind) => String(owed.amount[kind])),
    ];
    return this.#valkey.run(TAKE, this.#key, args, toCounted);
  }

  correct(begin: number, amount: Amount): Promise<unknown> {
    const args = [begin / 1000, ...AMOUNT_KINDS.map((kind) => amount[kind])];
    return this.#valkey.run(CORRECT, this.#key, args.map(String), () => undefined);
  }
}

function toCounted(reply: unknown): CountedBudget {
  const [exceeded = 0, begin = 0, end = 0, requests = 0, tokens = 0, nanoUsd = 0] = readNumbers(reply);
  return {
    exceeded: AMOUNT_KINDS[exceeded - 1],
    begin: begin * 1000,
    end: end * 1000,
    sums: { requests, tokens, nanoUsd },
  };
}
