import { type FieldViolation, invalidFields } from "../core/errors.ts";

/** Violations that one error lists at the most; an error stays below 4 KB with its details. */
const MAX_VIOLATIONS = 10;

/** Characters of a found value that an error shows at the most. */
const MAX_SHOWN = 48;

/** Collects what is wrong with a request, so that a caller hears of everything at once. */
export class Violations {
  readonly #found: FieldViolation[] = [];
  #omitted = 0;

  /**
   * Notes a wrong field.
   * @param field Path in proto names, for instance `messages[2].content[0].image`.
   * @param description What was found and what was expected. Holds no prompt text.
   */
  add(field: string, description: string): void {
    if (this.#found.length < MAX_VIOLATIONS) this.#found.push({ field, description });
    else this.#omitted += 1;
  }

  /** Throws InvalidRequestError with everything that was noted. Does nothing where that is nothing. */
  throwIfAny(): void {
    if (this.#found.length === 0) return;
    throw invalidFields(this.#omitted === 0 ? this.#found : [...this.#found, this.#rest()]);
  }

  #rest(): FieldViolation {
    return { field: "request", description: `has ${this.#omitted} more wrong fields that are not listed` };
  }
}

/** A value as an error may show it: quoted, one line, bounded. Never for prompts, answers or keys. */
export function quote(value: string): string {
  return JSON.stringify(value.length > MAX_SHOWN ? `${value.slice(0, MAX_SHOWN)}…` : value);
}
