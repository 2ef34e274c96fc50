import { createHash } from "node:crypto";
import { sealText, unsealText } from "../seal.ts";
import type { ConversationFingerprint } from "./conversation-fingerprint.ts";

/** What Anthropic's signatures begin with. */
const signatureHeader = Buffer.from([0x12, 0xe0, 0x01, 0x0a]);

/** What encrypted contents of search results begin with, and the indices of citations into them. */
const sourceHeader = Buffer.from([0x12, 0xc8, 0x03, 0x0a]);

/** What a signature holds about the thinking that it was made for. */
interface SignedThinking {
  /** The model that wrote it. */
  readonly model: string;
  /** Fingerprint of the conversation before the block. */
  readonly conversation: string;
  /** Digest of the thinking's text; the text itself where it was redacted. */
  readonly thinking: string;
}

/** How a signature that came back compares with what it was made for. */
export type SignatureState = "intact" | "altered" | "moved";

/** Signs thinking: the same signature for the same text after the same conversation. */
export function signThinking(model: string, before: ConversationFingerprint, thinking: string): string {
  return sealThinking({ model, conversation: before.value, thinking: hashText(thinking) });
}

/** Encrypts thinking that the caller may not read. */
export function redactThinking(model: string, before: ConversationFingerprint, thinking: string): string {
  return sealThinking({ model, conversation: before.value, thinking });
}

/**
 * Checks the signature of thinking, or redacted thinking: `altered` where it or the text has changed,
 * `moved` where the conversation before it is another one. The thinking of another model may be anywhere.
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

/** Whether an encrypted source is one that {@link encryptSource} made. */
export function isEncryptedSource(content: unknown): boolean {
  return typeof content === "string" && unsealText(sourceHeader, content) !== undefined;
}

function sealThinking(thinking: SignedThinking): string {
  return sealText(signatureHeader, JSON.stringify(thinking), thinking);
}

function hashText(text: string): string {
  return createHash("sha256").update(text).digest("base64");
}
