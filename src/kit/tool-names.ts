import type { Tool } from "../gen/outrigger/v1/tool_pb.ts";
import { invalidFields } from "../spec/errors.ts";
import { quote } from "./quote.ts";

/** Names of functions that a provider takes. */
export interface ToolNameRule {
  /** Fits the names that are taken, as a whole. Without the flags `g` and `y`. */
  readonly pattern: RegExp;
  /** The same in words, after "expected". */
  readonly expected: string;
}

/** OpenAI (reference of `FunctionDefinition.name`). */
export const OPENAI_TOOL_NAMES: ToolNameRule = {
  pattern: /^[a-zA-Z0-9_-]{1,64}$/,
  expected: '1 to 64 letters, digits, "_" or "-"',
};

/** Anthropic (guide "Tool use", `name`). */
export const ANTHROPIC_TOOL_NAMES: ToolNameRule = {
  pattern: /^[a-zA-Z0-9_-]{1,128}$/,
  expected: '1 to 128 letters, digits, "_" or "-"',
};

/** Gemini (reference of `FunctionDeclaration.name`). */
export const GEMINI_TOOL_NAMES: ToolNameRule = {
  pattern: /^[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}$/,
  expected: '1 to 128 letters, digits, "_", ".", ":" or "-", of which the first is a letter or "_"',
};

/** Names that one error lists at the most. */
const MAX_LISTED = 10;

/**
 * Checks the names of the functions that a request declares.
 * @throws InvalidRequestError with the path of each name that the provider refuses, at most ten,
 * what was found and what was expected.
 */
export function checkToolNames(tools: readonly Tool[], { pattern, expected }: ToolNameRule): void {
  const violations = tools.flatMap(({ tool }, index) => {
    if (tool.case !== "function" || pattern.test(tool.value.name)) return [];
    const description = `expected ${expected}, found ${quote(tool.value.name)}`;
    return [{ field: `tools[${index}].function.name`, description }];
  });
  if (violations.length > 0) throw invalidFields(violations.slice(0, MAX_LISTED));
}
