import { quote, type Violations } from "./violations.ts";

/**
 * Checks that every tool call of a conversation has exactly one result after it. Providers disagree on how to handle
 * others: some refuse the request, some ignore a result, and some answer as if the tool had returned nothing.
 */
export class CallResults {
  readonly #open: boolean;
  readonly #violations: Violations;
  /** Ids of all calls so far, and of the results that answer calls of an earlier part of the conversation. */
  readonly #known = new Set<string>();
  /** Paths of the calls that have no result yet, by id. Ids may repeat in later turns. */
  readonly #waiting = new Map<string, string[]>();

  /**
   * @param open Whether the results may also answer calls of an earlier part of the conversation, which the provider
   *   stores.
   */
  constructor(open: boolean, violations: Violations) {
    this.#open = open;
    this.#violations = violations;
  }

  /** Records a call. @param field Its path. */
  call(id: string, field: string): void {
    this.#known.add(id);
    const waiting = this.#waiting.get(id);
    if (waiting === undefined) this.#waiting.set(id, [field]);
    else waiting.push(field);
  }

  /** Records a result, which belongs to the latest call with its id that waits for one. @param field Path of the id. */
  result(id: string, field: string): void {
    if (id === "") {
      this.#violations.add(field, "is empty, expected the id of the tool call that is answered");
    } else if (this.#waiting.get(id)?.pop() === undefined) {
      this.#checkUnexpected(id, field);
    }
  }

  /** Called after the last message: reports the calls without a result. */
  end(): void {
    for (const [id, fields] of this.#waiting)
      for (const field of fields)
        this.#violations.add(
          field,
          `${quote(id)} has no result, expected one in a later message of ROLE_TOOL`,
        );
  }

  #checkUnexpected(id: string, field: string): void {
    if (this.#known.has(id)) {
      this.#violations.add(field, `${quote(id)} has a result already, expected one for each tool call`);
    } else if (!this.#open) {
      this.#violations.add(field, `${quote(id)} is not the id of an earlier tool call`);
    }
    if (this.#open) this.#known.add(id);
  }
}
