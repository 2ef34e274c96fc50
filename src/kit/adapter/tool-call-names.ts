import type { LossReport } from "./loss-report.ts";

/** Names of functions that a provider takes in the calls of a conversation. */
export interface ToolCallNameRule {
  /** Fits each character that is refused. With the flag `g`. */
  readonly refused: RegExp;
  /** Most characters. */
  readonly maxChars: number;
}

/**
 * The name of an earlier call as a provider takes it. Other providers take more in a name, and models make names up:
 * since the caller did not choose it, what is refused is replaced, and told, instead of being an error.
 * @param field Path of the name in the request, for the note.
 */
export function wireToolCallName(
  name: string,
  { refused, maxChars }: ToolCallNameRule,
  field: string,
  loss: LossReport,
): string {
  const taken = name.replaceAll(refused, "_").slice(0, maxChars);
  if (taken !== name)
    loss.note(
      field,
      "converted_content",
      `the provider takes no such name of a tool; it was written as ${taken}`,
    );
  return taken;
}
