/**
 * The bytes of base64 text. Undefined where encoding them again would not give the same text, so that what a provider
 * sent could not be sent back unchanged; and where there are none.
 */
export function bytesOfBase64(text: string | undefined): Uint8Array | undefined {
  if (text === undefined || text === "") return undefined;
  const bytes = Buffer.from(text, "base64");
  return bytes.toString("base64") === text ? bytes : undefined;
}
