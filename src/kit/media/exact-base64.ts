/**
 * Decodes base64 text. Undefined if there is none, or if encoding the bytes again would not give the same text, so that
 * a provider's data could not be sent back unchanged.
 */
export function decodeExactBase64(text: string | undefined): Uint8Array | undefined {
  if (text === undefined || text === "") return undefined;
  const bytes = Buffer.from(text, "base64");
  return bytes.toString("base64") === text ? bytes : undefined;
}
