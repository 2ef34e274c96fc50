/** Windows of a budget, which begin with an hour, a day or a month by UTC. */
export type BudgetPeriod = "hour" | "day" | "month";

/** The amounts that a window counts. */
export interface Amount {
  readonly requests: number;
  readonly tokens: number;
  /** Billionths of a US dollar: whole numbers are exact up to 9 million dollars. */
  readonly nanoUsd: number;
}

/** An amount that was taken from a window, to be replaced by the amount that was used. */
export interface Taken {
  readonly amount: Amount;
  /** The window, by its start in milliseconds since 1970. */
  readonly begin: number;
}

const NOTHING: Amount = { requests: 0, tokens: 0, nanoUsd: 0 };

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

  /** Adds an amount. */
  take(amount: Amount): Taken {
    this.#sum = this.with(amount);
    return { amount, begin: this.#begin };
  }

  /** Replaces the amount that was taken by the amount that was used, unless its window is over. */
  settle({ amount, begin }: Taken, used: Amount): void {
    this.#roll();
    if (begin === this.#begin) this.#sum = add(add(this.#sum, amount, -1), used, 1);
  }

  #roll(): void {
    const begin = getBegin(this.#period, this.#now(), 0);
    if (begin === this.#begin) return;
    this.#begin = begin;
    this.#sum = NOTHING;
  }
}

function add(left: Amount, right: Amount, sign: 1 | -1): Amount {
  return {
    requests: left.requests + sign * right.requests,
    tokens: left.tokens + sign * right.tokens,
    nanoUsd: left.nanoUsd + sign * right.nanoUsd,
  };
}

/** Returns the start of the window at a moment, or of a window that is some windows later. */
function getBegin(period: BudgetPeriod, moment: number, later: number): number {
  const date = new Date(moment);
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
  if (period === "month") return Date.UTC(year, month + later);
  if (period === "day") return Date.UTC(year, month, date.getUTCDate() + later);
  return Date.UTC(year, month, date.getUTCDate(), date.getUTCHours() + later);
}
