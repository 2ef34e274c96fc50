/** Memory of an object or a list without its texts, about, in bytes. */
const ELEMENT_BYTES = 64;

/** About the bytes that a message takes: those of its texts and media, and a little for each of its elements. */
export function measureMemory(value: unknown): number {
  if (typeof value === "string") return value.length;
  if (value instanceof Uint8Array) return value.byteLength;
  if (typeof value !== "object" || value === null) return 0;
  let bytes = ELEMENT_BYTES;
  for (const member of Object.values(value)) bytes += measureMemory(member);
  return bytes;
}
