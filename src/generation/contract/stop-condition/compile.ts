import { invalidField } from "../../../core/errors.ts";
import type { LoopStopCondition } from "../../loop/tool-loop.ts";

/** Longest expression in UTF-16 code units. */
const MAX_LENGTH = 4096;

/**
 * Compiles a stop condition: a CEL expression over `steps` that returns a bool.
 * @param field Path of the expression in the caller's message.
 * @throws InvalidRequestError with line and column for an expression that does not parse, has a wrong type, or is too
 *   long. The condition itself throws it if its evaluation fails or takes too much work.
 */
export async function compileStopCondition(text: string, field: string): Promise<LoopStopCondition> {
  if (text.length > MAX_LENGTH)
    throw invalidField(field, `expected at most ${MAX_LENGTH} characters, found ${text.length}`);
  // Few generations have a condition, so the library is loaded with the first one.
  const { compileExpression } = await import("./expression.ts");
  return compileExpression(text, field);
}
