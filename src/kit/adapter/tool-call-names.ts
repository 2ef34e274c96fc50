import type { LossReport } from "../call/loss-report.ts";

/** The function names that a provider accepts in the calls of a conversation. */
export interface ToolCallNameRule {
  /** Matches each character that is rejected. With the flag `g`. */
  readonly refused: RegExp;
  /** Maximum number of characters. */
  readonly maxChars: number;
}

/**
 * Returns the name of an earlier call in a form that a provider accepts. Other providers accept more characters, and
 * models invent names: since the caller did not choose the name, rejected characters are replaced with a warning
 * instead of an error.
 * @param field Path of the name in the request, for the warning.
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
      `the provider does not accept this tool name; it was sent as ${taken}`,
    );
  return taken;
}
