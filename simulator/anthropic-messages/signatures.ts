import { createHash } from "node:crypto";
import { sealText, unsealText } from "../seal.ts";
import type { ConversationFingerprint } from "./conversation-fingerprint.ts";

/** The first bytes of Anthropic's signatures. */
const signatureHeader = Buffer.from([0x12, 0xe0, 0x01, 0x0a]);

/** The first bytes of the encrypted contents of search results, and of the indices of citations into them. */
const sourceHeader = Buffer.from([0x12, 0xc8, 0x03, 0x0a]);

/** The content of a signature: facts about the signed thinking. */
interface SignedThinking {
  /** The model that wrote it. */
  readonly model: string;
  /** Fingerprint of the conversation before the block. */
  readonly conversation: string;
  /** Digest of the thinking's text, or the text itself if it was redacted. */
  readonly thinking: string;
}

/** The result of comparing a returned signature with the signed thinking. */
export type SignatureState = "intact" | "altered" | "moved";

/** Signs thinking. Returns the same signature for the same text after the same conversation. */
export function signThinking(model: string, before: ConversationFingerprint, thinking: string): string {
  return sealThinking({ model, conversation: before.value, thinking: hashText(thinking) });
}

/** Encrypts thinking that the caller may not read. */
export function redactThinking(model: string, before: ConversationFingerprint, thinking: string): string {
  return sealThinking({ model, conversation: before.value, thinking });
}

/**
 * Checks the signature of thinking, or redacted thinking: `altered` if the signature or the text has changed, `moved`
 * if the conversation before it is another one. The thinking of another model may be anywhere.
 */
export function checkSignature(
  signature: string,
  thinking: string | undefined,
  model: string,
  before: ConversationFingerprint,
): SignatureState {
  const signed = unsealText(signatureHeader, signature) as SignedThinking | undefined;
  if (signed === undefined) return "altered";
  if (thinking !== undefined && signed.thinking !== hashText(thinking)) return "altered";
  return signed.model === model && signed.conversation !== before.value ? "moved" : "intact";
}

/** Encrypts a search result, for `encrypted_content` and `encrypted_index`. */
export function encryptSource(requestNumber: number, label: string): string {
  return sealText(sourceHeader, `${requestNumber} ${label}`, { requestNumber, label });
}

/** Reports whether {@link encryptSource} created an encrypted source. */
export function isEncryptedSource(content: unknown): boolean {
  return typeof content === "string" && unsealText(sourceHeader, content) !== undefined;
}

function sealThinking(thinking: SignedThinking): string {
  return sealText(signatureHeader, JSON.stringify(thinking), thinking);
}

function hashText(text: string): string {
  return createHash("sha256").update(text).digest("base64");
}
