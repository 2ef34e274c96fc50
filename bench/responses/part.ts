/** One of the measurements of `/v1/responses`. */

/** A build of Outrigger. */
export interface Program {
  /** File that starts it. */
  readonly start: string;
}

/** How to measure once. */
export interface RoundOptions {
  readonly program: Program;
  /** A tenth of the calls. */
  readonly quick: boolean;
  /** Whether two programs are compared, so that nothing else has to be measured. */
  readonly isCompared: boolean;
}

/** The numbers of one round, by labels that end in their units. */
export type Figures = Readonly<Record<string, number>>;

/** One of the measurements. */
export interface Part {
  /** Number of rounds by default. */
  readonly rounds: number;
  /** Measures once, with new processes. No figures: this machine cannot measure the part. */
  measure(options: RoundOptions): Promise<Figures>;
  /** The rounds as a table with a sentence before it. */
  describe(rounds: readonly Figures[], quick: boolean): string;
}
