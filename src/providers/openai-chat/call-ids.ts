import { createHash } from "node:crypto";
import type { CompatProfile } from "./profile.ts";

const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const NINE = /^[a-zA-Z0-9]{9}$/;

/** The id of a tool call as the server takes it: the same where it fits, else one made from it, alike in every turn. */
export function wireCallId(id: string, pattern: CompatProfile["toolCallIdPattern"]): string {
  if (pattern === "any" || NINE.test(id)) return id;
  const digest = createHash("sha256").update(id).digest().subarray(0, 9);
  return Array.from(digest, (byte) => ALPHABET[byte % ALPHABET.length]).join("");
}
