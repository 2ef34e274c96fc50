/** Approximate memory of an object or a list without its texts, in bytes. */
const ELEMENT_BYTES = 64;

/** Estimates the bytes that a message takes: its texts and media, and a constant for each element. */
export function measureMemory(value: unknown): number {
  if (typeof value === "string") return value.length;
  if (value instanceof Uint8Array) return value.byteLength;
  if (typeof value !== "object" || value === null) return 0;
  let bytes = ELEMENT_BYTES;
  for (const member of Object.values(value)) bytes += measureMemory(member);
  return bytes;
}
