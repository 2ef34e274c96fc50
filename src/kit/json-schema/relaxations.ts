import type { LossReport } from "../adapter/loss-report.ts";
import { fieldAt } from "./pointer.ts";

/** Places of one schema that are reported one by one; what is beyond is counted. */
const MAX_REPORTED = 16;

/** A schema that its dialect has no form for, so that nothing near enough can be sent. */
export class SchemaMisfit extends Error {
  /** The place that does not fit, as a JSON Pointer. */
  readonly pointer: string;

  /** @param message What was found and what was expected. Holds no text of the schema. */
  constructor(pointer: string, message: string) {
    super(message);
    this.pointer = pointer;
  }
}

/** Collects what a compilation changed, once for each place and keyword, until it is known to be of use. */
export class Relaxations {
  readonly #found = new Map<string, { readonly lost: boolean; readonly message: string }>();

  /** The schema that is sent fits other values, or enforces less, than the caller's. */
  lose(pointer: string, message: string): void {
    this.#add(pointer, message, true);
  }

  /** Something was left out that says nothing of values. */
  note(pointer: string, message: string): void {
    this.#add(pointer, message, false);
  }

  /** Tells it all, in the order in which it was found. */
  reportTo(loss: LossReport, field: string): void {
    const found = [...this.#found];
    for (const [pointer, { lost, message }] of found.slice(0, MAX_REPORTED)) {
      report(loss, lost, fieldAt(field, pointer), message);
    }
    const rest = found.slice(MAX_REPORTED);
    if (rest.length === 0) return;
    const lost = rest.some(([, each]) => each.lost);
    report(loss, lost, field, `${rest.length} more places of the schema were changed`);
  }

  #add(pointer: string, message: string, lost: boolean): void {
    const known = this.#found.get(pointer);
    if (known === undefined || (lost && !known.lost)) this.#found.set(pointer, { lost, message });
  }
}

function report(loss: LossReport, lost: boolean, field: string, message: string): void {
  if (lost) loss.lose(field, "adjusted_schema", message);
  else loss.note(field, "adjusted_schema", message);
}
