import { invalidField } from "../../../core/errors.ts";

/** Returns an id that a request must have. @throws InvalidRequestError if it is empty. */
export function requireId(field: "run_id" | "thread_id" | "message_id", id: string): string {
  if (id !== "") return id;
  throw invalidField(field, `is empty, expected the id of a ${field.slice(0, -"_id".length)}`);
}
