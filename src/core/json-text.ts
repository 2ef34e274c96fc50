/**
 * Writes a value as JSON text, with the keys in their order. A bigint becomes a number, undefined becomes null.
 * @throws TypeError if the value refers to itself or its `toJSON` throws.
 */
export function toJsonText(value: unknown): string {
  return JSON.stringify(value, writeBigInt) ?? "null";
}

function writeBigInt(_key: string, value: unknown): unknown {
  return typeof value === "bigint" ? JSON.rawJSON(String(value)) : value;
}
