/** An amount that the calls of one caller may use in a window. At least one of `requests`, `tokens` and `usd`. */
export interface CallerBudget {
  /** Begins with an hour, a day or a month by UTC. */
  readonly window: "hour" | "day" | "month";
  readonly requests?: number | undefined;
  /** Tokens of prompts and answers together. */
  readonly tokens?: number | undefined;
  /** US dollars. */
  readonly usd?: number | undefined;
  /** Whether a call passes a limit in dollars if the price of its model is unknown. Default false. */
  readonly allowUnknownPrices?: boolean | undefined;
  /** Whether sidecars count it together, and whether in PostgreSQL if there is a Valkey as well. Default false. */
  readonly shared?: boolean | "postgres" | undefined;
  /** The fate of calls if the shared counts cannot be reached. Default: as configured for all rules. */
  readonly whenAway?: "local" | "refuse" | "allow" | undefined;
  /** The models whose calls count, as configured. Undefined: all. */
  readonly models?: readonly string[] | undefined;
  /** Reports whether calls of a model count. */
  countsModel(provider: string, model: string): boolean;
}

/** The caller of a call, as identified by its access key, token or certificate. */
export interface Caller {
  /** Owns everything that the call stores: the name of its access key, for instance. Empty if callers have no names. */
  readonly name: string;
  /** Reports whether the caller may use a model of a provider. The names are those after aliases were resolved. */
  allowsModel(provider: string, model: string): boolean;
  /** Whether any model is forbidden to the caller. */
  readonly isRestricted: boolean;
  /** Budgets of all calls of this caller together. The same list until the configuration changes. */
  readonly budgets?: readonly CallerBudget[] | undefined;
}

/** The anonymous caller if there are no access keys, who may use everything. */
export const anyCaller: Caller = { name: "", allowsModel: () => true, isRestricted: false };
