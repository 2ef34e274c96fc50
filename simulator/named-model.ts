import type { ReceivedRequest } from "./wire-format.ts";

/** Returns the model string in the field `model` of a request's body; empty if there is none. */
export function namedModel({ body }: ReceivedRequest): string {
  const model = typeof body === "object" && body !== null && "model" in body ? body.model : "";
  return typeof model === "string" ? model : "";
}

/**
 * Returns the model string that follows a prefix in the path of a request, percent-encoded or not; undefined for other
 * paths.
 */
export function modelInPath({ path }: Pick<ReceivedRequest, "path">, prefix: string): string | undefined {
  if (!path.startsWith(prefix) || path.length === prefix.length) return undefined;
  try {
    return decodeURIComponent(path.slice(prefix.length));
  } catch {
    return undefined;
  }
}
