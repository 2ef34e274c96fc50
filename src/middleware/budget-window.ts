/** Windows of a budget: calendar hours, days or months in UTC. */
export type BudgetPeriod = "hour" | "day" | "month";

/** The amounts that a window counts. */
export interface Amount {
  readonly requests: number;
  readonly tokens: number;
  /** Billionths of a US dollar: whole numbers are exact up to 9 million dollars. */
  readonly nanoUsd: number;
}

/** The kinds of amounts, in the order in which limits are checked. */
export const AMOUNT_KINDS = ["requests", "tokens", "nanoUsd"] as const;

/** The limits of a window. An absent kind is unlimited. */
export type AmountLimits = Partial<Amount>;

/** The decision about a call: it is counted, it exceeds a limit, or the shared counts are unavailable. */
export type BudgetDecision =
  /** `settle` replaces the estimate by the used amount. Called once. */
  | { readonly settle: (used: Amount) => void }
  /** `resetsAt` is the end of the window, in milliseconds since 1970. */
  | { readonly exceeded: keyof Amount; readonly resetsAt: number }
  | { readonly away: string };

/** Keeps the sums of a budget. */
export interface BudgetStore {
  /** Adds the estimated amount of a call if the sums stay within the limits, as one step. */
  take(amount: Amount, limits: AmountLimits): BudgetDecision | Promise<BudgetDecision>;
}

/** Keeps the sums in memory. */
export class LocalBudgetStore implements BudgetStore {
  readonly #window: BudgetWindow;

  constructor(period: BudgetPeriod) {
    this.#window = new BudgetWindow(period, () => Date.now());
  }

  take(amount: Amount, limits: AmountLimits): BudgetDecision {
    const exceeded = findExceeded(this.#window.with(amount), limits);
    if (exceeded !== undefined) return { exceeded, resetsAt: this.#window.resetsAt };
    const taken = this.#window.take(amount);
    return { settle: (used) => this.#window.settle(taken, used) };
  }
}

/** Returns the first kind that is above its limit. */
export function findExceeded(sums: Amount, limits: AmountLimits): keyof Amount | undefined {
  return AMOUNT_KINDS.find((kind) => sums[kind] > (limits[kind] ?? Infinity));
}

/** An amount that was reserved in a window, to be replaced by the used amount. */
export interface Taken {
  readonly amount: Amount;
  /** The window, by its start in milliseconds since 1970. */
  readonly begin: number;
}

/** An amount of 0 of each kind. */
export const NOTHING: Amount = { requests: 0, tokens: 0, nanoUsd: 0 };

/** The sums of the current window of a budget. */
export class BudgetWindow {
  readonly #period: BudgetPeriod;
  readonly #now: () => number;
  #begin = Number.NaN;
  #sum = NOTHING;

  /** @param now Milliseconds since 1970. */
  constructor(period: BudgetPeriod, now: () => number) {
    this.#period = period;
    this.#now = now;
  }

  /** When the current window ends, in milliseconds since 1970. */
  get resetsAt(): number {
    return getBegin(this.#period, this.#now(), 1);
  }

  /** Returns the sum with an amount added. */
  with(amount: Amount): Amount {
    this.#roll();
    return add(this.#sum, amount, 1);
  }

  take(amount: Amount): Taken {
    this.#sum = this.with(amount);
    return { amount, begin: this.#begin };
  }

  /** Replaces the reserved amount by the used one, unless its window has ended. */
  settle({ amount, begin }: Taken, used: Amount): void {
    this.#roll();
    if (begin === this.#begin) this.#sum = add(add(this.#sum, amount, -1), used, 1);
  }

  /** Returns the sum and resets it to 0. Later settlements start from 0. */
  drain(): { readonly begin: number; readonly amount: Amount } {
    this.#roll();
    const amount = this.#sum;
    this.#sum = NOTHING;
    return { begin: this.#begin, amount };
  }

  /** Adds an amount, unless its window has ended. */
  put({ begin, amount }: { readonly begin: number; readonly amount: Amount }): void {
    this.#roll();
    if (begin === this.#begin) this.#sum = add(this.#sum, amount, 1);
  }

  #roll(): void {
    const begin = getBegin(this.#period, this.#now(), 0);
    if (begin === this.#begin) return;
    this.#begin = begin;
    this.#sum = NOTHING;
  }
}

/** Adds or subtracts an amount. */
export function add(left: Amount, right: Amount, sign: 1 | -1): Amount {
  return {
    requests: left.requests + sign * right.requests,
    tokens: left.tokens + sign * right.tokens,
    nanoUsd: left.nanoUsd + sign * right.nanoUsd,
  };
}

/** Returns the start of the window at a moment, or of a window that is some windows later. */
export function getBegin(period: BudgetPeriod, moment: number, later: number): number {
  const date = new Date(moment);
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
  if (period === "month") return Date.UTC(year, month + later);
  if (period === "day") return Date.UTC(year, month, date.getUTCDate() + later);
  return Date.UTC(year, month, date.getUTCDate(), date.getUTCHours() + later);
}
