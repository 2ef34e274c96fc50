/**
 * Ids of the runs that this process creates, takes, executes or recovers. What the store says that it holds besides was
 * given up, or an answer of the store was lost.
 */
export class KnownRuns {
  /** How many parts of the program know each run: one may begin with it while another one still ends. */
  readonly #counts = new Map<string, number>();
  #search: Promise<unknown> | undefined;

  /** Registers a run before the store may give it to this process. Waits for a search that does not know it. */
  async add(runId: string): Promise<void> {
    while (this.#search !== undefined) await this.#search;
    this.addTaken(runId);
  }

  /** Registers a run that the store gave to the part of the program that searches as well. */
  addTaken(runId: string): void {
    this.#counts.set(runId, (this.#counts.get(runId) ?? 0) + 1);
  }

  delete(runId: string): void {
    const count = (this.#counts.get(runId) ?? 0) - 1;
    if (count > 0) this.#counts.set(runId, count);
    else this.#counts.delete(runId);
  }

  /** Searches for runs that are not known. Meanwhile no run is added. Never called twice at a time. */
  async search<Result>(find: (known: readonly string[]) => Promise<Result>): Promise<Result> {
    const search = find([...this.#counts.keys()]);
    this.#search = search.catch(() => undefined);
    try {
      return await search;
    } finally {
      this.#search = undefined;
    }
  }
}
