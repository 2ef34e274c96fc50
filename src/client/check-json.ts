import { isObject, type JsonObject } from "../kit/json/json.ts";
import type { Violations } from "./violations.ts";

/** Records a violation unless the text is JSON. The text itself is never shown. */
export function checkJson(text: string, field: string, violations: Violations): void {
  parse(text, field, violations, "JSON text");
}

/** Returns the object that the text holds. Records a violation and returns undefined if it holds none. */
export function checkJsonObject(text: string, field: string, violations: Violations): JsonObject | undefined {
  const value = parse(text, field, violations, "the text of a JSON object");
  if (value === undefined || isObject(value)) return value;
  violations.add(field, `expected the text of a JSON object, found ${getKind(value)}`);
  return undefined;
}

function parse(text: string, field: string, violations: Violations, expected: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    violations.add(field, `expected ${expected}, found ${describe(text, error)}`);
    return undefined;
  }
}

/** V8 quotes the text, which may be a prompt, in its message. Only the position is taken from the message. */
function describe(text: string, error: unknown): string {
  if (text === "") return "nothing";
  const position = /at position (\d+)/.exec(error instanceof Error ? error.message : "")?.[1];
  const where = position === undefined ? "" : `, which breaks at character ${position}`;
  return `${text.length} characters that are not JSON${where}`;
}

function getKind(value: unknown): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "a list" : `a ${typeof value}`;
}
