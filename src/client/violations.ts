import { type FieldViolation, invalidFields } from "../core/errors.ts";

/** Maximum number of violations in one error, so that it stays below 4 KB with its details. */
const MAX_VIOLATIONS = 10;

/** Maximum number of characters of a found value in an error. */
const MAX_SHOWN = 48;

/** Collects the violations of a request, so that one error reports them all. */
export class Violations {
  readonly #found: FieldViolation[] = [];
  #omitted = 0;

  /**
   * Records an invalid field.
   * @param field Path in proto names, for instance `messages[2].content[0].image`.
   * @param description The value that was found and what was expected. Holds no prompt text.
   */
  add(field: string, description: string): void {
    if (this.#found.length < MAX_VIOLATIONS) this.#found.push({ field, description });
    else this.#omitted += 1;
  }

  /** Throws InvalidRequestError if anything was recorded. */
  throwIfAny(): void {
    if (this.#found.length === 0) return;
    throw invalidFields(this.#omitted === 0 ? this.#found : [...this.#found, this.#rest()]);
  }

  #rest(): FieldViolation {
    return { field: "request", description: `has ${this.#omitted} more invalid fields that are not listed` };
  }
}

/** A value for an error message: quoted, on one line, bounded. Not for prompts, answers or keys. */
export function quote(value: string): string {
  return JSON.stringify(value.length > MAX_SHOWN ? `${value.slice(0, MAX_SHOWN)}…` : value);
}
