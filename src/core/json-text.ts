/**
 * A value as JSON text, keys in their order. A bigint is written as the number that it is, undefined as null.
 * @throws TypeError where the value refers to itself or its `toJSON` throws.
 */
export function toJsonText(value: unknown): string {
  return JSON.stringify(value, writeBigInt) ?? "null";
}

function writeBigInt(_key: string, value: unknown): unknown {
  return typeof value === "bigint" ? JSON.rawJSON(String(value)) : value;
}
