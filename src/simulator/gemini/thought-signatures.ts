import { sealText, unsealText } from "../seal.ts";
import { bringsResponses } from "./conversation.ts";
import { invalidArgument } from "./problem.ts";
import type { Content, Part } from "./wire.ts";

/** What Google's signatures begin with. */
const header = Buffer.from([0x12, 0xaf, 0x01, 0x0a]);

/** Documented for histories that another model wrote: they skip the check. */
const placeholders = ["skip_thought_signature_validator", "context_engineering_is_the_way_to_go"];

/** Signs the thoughts that led to a part of an answer, which has one signature. */
export function signPart(requestNumber: number, part: Part): string {
  return sealText(header, String(requestNumber), { requestNumber, kind: kindOf(part) });
}

/**
 * Checks the signatures that came back: each as it was given, and on a part of the kind that it was given with. A model
 * that wants them also finds those that are missing: on the first call of each step of the current turn. Throws the
 * problem that Google would find.
 */
export function checkSignatures(contents: readonly Content[], wantsThem: boolean): void {
  for (const { parts = [] } of contents) for (const part of parts) checkSignature(part);
  if (!wantsThem) return;
  const turn = contents.findLastIndex((content) => content.role !== "model" && !bringsResponses(content));
  contents.forEach(({ parts = [] }, index) => {
    const first = parts.find(({ functionCall }) => functionCall !== undefined);
    if (index > turn && first !== undefined) checkPresence(first, index + 1);
  });
}

function checkSignature(part: Part): void {
  const { thoughtSignature: signature } = part;
  if (signature === undefined || placeholders.includes(signature)) return;
  const signed = unsealText(header, signature) as { kind: string } | undefined;
  if (signed?.kind !== kindOf(part)) throw invalidArgument("Corrupted thought signature.");
}

function checkPresence({ functionCall, thoughtSignature = "" }: Part, position: number): void {
  if (thoughtSignature !== "") return;
  throw invalidArgument(
    `Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance. Additional data, function call \`default_api:${functionCall?.name}\` , position ${position}. Please refer to https://ai.google.dev/gemini-api/docs/thought-signatures for more details.`,
  );
}

function kindOf({ functionCall, text }: Part): string {
  if (functionCall !== undefined) return `call of ${functionCall.name}`;
  return text === undefined ? "other" : "text";
}
