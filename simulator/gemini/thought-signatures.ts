import type { Content, Part } from "../../src/wire/gemini/request.ts";
import { sealText, unseal } from "../seal.ts";
import { hasResponses } from "./conversation.ts";
import { invalidArgument } from "./problem.ts";

/** The first bytes of Google's signatures. */
const header = Buffer.from([0x12, 0xaf, 0x01, 0x0a]);

/**
 * Signatures that skip the check, documented for histories that another model wrote. Google's SDK for Python takes them
 * as bytes, so its clients send them in base64.
 */
const placeholders = ["skip_thought_signature_validator", "context_engineering_is_the_way_to_go"].flatMap(
  (text) => [text, Buffer.from(text).toString("base64")],
);

/** Creates the signature for a part of an answer. */
export function signPart(requestNumber: number, part: Part): string {
  return sealText(header, String(requestNumber), { requestNumber, kind: getKind(part) });
}

/**
 * Checks the signatures of a history: each is unchanged, and on a part of the same kind. Models that require signatures
 * also require one on the first call of each step of the current turn. Throws the error that Google returns.
 */
export function checkSignatures(contents: readonly Content[], required: boolean): void {
  for (const { parts = [] } of contents) for (const part of parts) checkSignature(part);
  if (!required) return;
  const turn = contents.findLastIndex((content) => content.role !== "model" && !hasResponses(content));
  contents.forEach(({ parts = [] }, index) => {
    const first = parts.find(({ functionCall }) => functionCall !== undefined);
    if (index > turn && first !== undefined) checkPresence(first, index + 1);
  });
}

function checkSignature(part: Part): void {
  const { thoughtSignature: signature } = part;
  if (signature === undefined || placeholders.includes(signature)) return;
  // Bytes in the JSON form of protobuf may be in either alphabet of base64: Google's Python SDK sends the URL-safe one.
  const signed = unseal(header, Buffer.from(signature, "base64")) as { kind: string } | undefined;
  if (signed?.kind !== getKind(part)) throw invalidArgument("Corrupted thought signature.");
}

function checkPresence({ functionCall, thoughtSignature = "" }: Part, position: number): void {
  if (thoughtSignature !== "") return;
  throw invalidArgument(
    `Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance. Additional data, function call \`default_api:${functionCall?.name}\` , position ${position}. Please refer to https://ai.google.dev/gemini-api/docs/thought-signatures for more details.`,
  );
}

function getKind({ functionCall, text }: Part): string {
  if (functionCall !== undefined) return `call of ${functionCall.name}`;
  return text === undefined ? "other" : "text";
}
