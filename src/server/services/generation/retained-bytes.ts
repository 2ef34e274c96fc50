/** Memory of an object or a list with its place in another one. */
const OBJECT_BYTES = 256;

/** Estimates the memory of a stored message: its texts, its bytes, and the objects around them. */
export function retainedBytes(value: unknown): number {
  if (typeof value === "string") return value.length;
  if (typeof value !== "object" || value === null) return 0;
  if (value instanceof Uint8Array) return OBJECT_BYTES + value.byteLength;
  let bytes = OBJECT_BYTES;
  for (const member of Object.values(value)) bytes += retainedBytes(member);
  return bytes;
}
