import { randomBytes } from "node:crypto";

/** Makes the id of a call: `run_` and 128 random bits in hexadecimal. */
export function createRunId(): string {
  return `run_${randomBytes(16).toString("hex")}`;
}
