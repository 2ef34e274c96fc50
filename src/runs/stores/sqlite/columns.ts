/** Values of columns, with their types. */
import type { SQLOutputValue } from "node:sqlite";
import { InternalError } from "../../../core/errors.ts";

/** A whole number. */
export function integer(value: SQLOutputValue | undefined): number {
  if (typeof value === "number") return value;
  throw new InternalError(`expected a number in a column of the run store, found ${typeof value}`);
}

/** A text. */
export function text(value: SQLOutputValue | undefined): string {
  if (typeof value === "string") return value;
  throw new InternalError(`expected a text in a column of the run store, found ${typeof value}`);
}

/** The bytes of a body. */
export function blob(value: SQLOutputValue | undefined): Uint8Array {
  if (value instanceof Uint8Array) return value;
  throw new InternalError(`expected bytes in a column of the run store, found ${typeof value}`);
}
