import type { ReceivedRequest } from "./wire-format.ts";

/** The model string in the field `model` of a request's body; empty where there is none. */
export function namedModel({ body }: ReceivedRequest): string {
  const model = typeof body === "object" && body !== null && "model" in body ? body.model : "";
  return typeof model === "string" ? model : "";
}
