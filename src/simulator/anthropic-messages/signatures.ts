import { createHash } from "node:crypto";
import { sealText, unsealText } from "../seal.ts";
import type { ConversationPrint } from "./conversation-print.ts";

/** What Anthropic's signatures begin with. */
const signatureHeader = Buffer.from([0x12, 0xe0, 0x01, 0x0a]);

/** What encrypted contents of search results begin with, and the indices of citations into them. */
const sourceHeader = Buffer.from([0x12, 0xc8, 0x03, 0x0a]);

/** What a signature says of the thinking that it was made for. */
interface SignedThinking {
  /** The model that thought. */
  readonly model: string;
  /** Fingerprint of the conversation before the block. */
  readonly conversation: string;
  /** Digest of the thinking's text; the text itself where it was redacted. */
  readonly thinking: string;
}

/** How a signature that came back compares with what it was made for. */
export type SignatureState = "intact" | "altered" | "elsewhere";

/** Signs thinking: the same for the same text at the same place. */
export function signThinking(model: string, before: ConversationPrint, thinking: string): string {
  return sealThinking({ model, conversation: before.value, thinking: digestOf(thinking) });
}

/** Encrypts thinking that the caller may not read. */
export function redactThinking(model: string, before: ConversationPrint, thinking: string): string {
  return sealThinking({ model, conversation: before.value, thinking });
}

/**
 * Checks the signature of thinking, or redacted thinking: `altered` where it or the text differs by a character,
 * `elsewhere` where the conversation before it is another one. The thinking of another model may stand anywhere.
 */
export function checkSignature(
  signature: string,
  thinking: string | undefined,
  model: string,
  before: ConversationPrint,
): SignatureState {
  const signed = unsealText(signatureHeader, signature) as SignedThinking | undefined;
  if (signed === undefined) return "altered";
  if (thinking !== undefined && signed.thinking !== digestOf(thinking)) return "altered";
  return signed.model === model && signed.conversation !== before.value ? "elsewhere" : "intact";
}

/** Encrypts what a search found, as `encrypted_content` and `encrypted_index` hold it. */
export function encryptSource(requestNumber: number, place: string): string {
  return sealText(sourceHeader, `${requestNumber} ${place}`, { requestNumber, place });
}

/** Whether an encrypted source is one that {@link encryptSource} made. */
export function isEncryptedSource(content: unknown): boolean {
  return typeof content === "string" && unsealText(sourceHeader, content) !== undefined;
}

function sealThinking(thinking: SignedThinking): string {
  return sealText(signatureHeader, JSON.stringify(thinking), thinking);
}

function digestOf(text: string): string {
  return createHash("sha256").update(text).digest("base64");
}
