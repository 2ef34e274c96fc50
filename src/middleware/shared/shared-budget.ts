import {
  type Amount,
  type AmountLimits,
  add,
  type BudgetDecision,
  type BudgetPeriod,
  type BudgetStore,
  BudgetWindow,
  findExceeded,
  getBegin,
  NOTHING,
} from "../budget-window.ts";
import { UnavailableError, type WhenAway } from "./reconnecting-connection.ts";

/** The answer of a server that counts. */
export interface CountedBudget {
  /** The kind whose limit the call would exceed. Undefined if it was counted. */
  readonly exceeded: keyof Amount | undefined;
  /** When the window began and ends by the server's clock, in milliseconds since 1970. */
  readonly begin: number;
  readonly end: number;
  /** The sums after the call. */
  readonly sums: Amount;
}

/** The sums of one budget in a server. Both methods fail with an UnavailableError. */
export interface BudgetCounter {
  /**
   * Adds an amount if the sums stay within the limits, in one step.
   * @param owed An amount that is added in any case, if it belongs to the current window.
   */
  take(amount: Amount, limits: AmountLimits, owed: PendingCorrection): Promise<CountedBudget>;
  /** Adds an amount, which may be negative, unless its window is over. */
  correct(begin: number, amount: Amount): Promise<unknown>;
}

/** An amount that was spent while the server was away. */
export interface PendingCorrection {
  readonly begin: number;
  readonly amount: Amount;
}

/**
 * The sums of a budget that sidecars share. While the server is unavailable, its last sums are known, so that a sidecar
 * that counts alone begins with them. What it spends then is added to the server's sums later.
 */
export class SharedBudgetStore implements BudgetStore {
  readonly #counter: BudgetCounter;
  readonly #period: BudgetPeriod;
  readonly #whenAway: WhenAway;
  /** The amounts that the server does not know yet. */
  readonly #local: BudgetWindow;
  #last: { readonly begin: number; readonly sums: Amount } = { begin: Number.NaN, sums: NOTHING };

  constructor(counter: BudgetCounter, period: BudgetPeriod, whenAway: WhenAway) {
    this.#counter = counter;
    this.#period = period;
    this.#whenAway = whenAway;
    this.#local = new BudgetWindow(period, () => Date.now());
  }

  async take(amount: Amount, limits: AmountLimits): Promise<BudgetDecision> {
    const owed = this.#local.drain();
    try {
      const { exceeded, begin, end, sums } = await this.#counter.take(amount, limits, owed);
      this.#last = { begin, sums };
      if (exceeded !== undefined) return { exceeded, resetsAt: end };
      return { settle: (used) => void this.#settle(begin, add(used, amount, -1)) };
    } catch (thrown) {
      if (!(thrown instanceof UnavailableError)) throw thrown;
      this.#local.put(owed);
      this.#undo(thrown, amount, owed);
      return this.#takeAlone(amount, limits, thrown.message);
    }
  }

  /** Takes back what the server counts although its answer was too late. */
  #undo({ late }: UnavailableError, amount: Amount, owed: PendingCorrection): void {
    const undo = async () => {
      const answer = (await late) as CountedBudget | undefined;
      if (answer === undefined) return;
      const { exceeded, begin } = answer;
      const counted = exceeded === undefined ? amount : NOTHING;
      const twice = owed.begin === begin ? owed.amount : NOTHING;
      await this.#settle(begin, add(NOTHING, add(counted, twice, 1), -1));
    };
    undo().catch(() => {});
  }

  #takeAlone(amount: Amount, limits: AmountLimits, away: string): BudgetDecision {
    if (this.#whenAway === "refuse") return { away };
    const begin = getBegin(this.#period, Date.now(), 0);
    const known = this.#last.begin === begin ? this.#last.sums : NOTHING;
    const exceeded = findExceeded(add(known, this.#local.with(amount), 1), limits);
    if (exceeded !== undefined && this.#whenAway === "local") {
      return { exceeded, resetsAt: this.#local.resetsAt };
    }
    const taken = this.#local.take(amount);
    return { settle: (used) => this.#local.settle(taken, used) };
  }

  /** Sends a difference with the next call if the server cannot take it now. */
  async #settle(begin: number, difference: Amount): Promise<void> {
    try {
      await this.#counter.correct(begin, difference);
    } catch (thrown) {
      // An answer that comes late was counted, so it must not be counted again.
      const wasCounted = await (thrown instanceof UnavailableError &&
        thrown.late?.then(
          () => true,
          () => false,
        ));
      if (wasCounted !== true) this.#local.put({ begin, amount: difference });
    }
  }
}
