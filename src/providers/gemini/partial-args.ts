/**
 * Arguments of a tool call that arrive value by value, each with its JSONPath (`functionCall.partialArgs`), appended to
 * one JSON text.
 */

import { StreamError } from "../../core/errors.ts";
import { asString } from "../../kit/json/json.ts";
import type { PartialArg } from "../../wire/gemini/request.ts";
import type { Untrusted } from "../../wire/untrusted.ts";

/** A step of a path: a key of an object or an index of a list. */
type Step = string | number;

/** An object or list that is being written. */
interface Level {
  /** The key or index that was written last. */
  last: Step;
  /** The keys written so far. */
  readonly keys: Set<string>;
}

/** Writes the arguments of one call. The API sends values in document order, so that each can be written at once. */
export class PartialArguments {
  /** The open objects and lists, from the arguments down to the one that holds the last value. */
  readonly #levels: Level[] = [];
  #inString = false;

  /**
   * Returns the text that one entry of `partialArgs` adds.
   * @throws StreamError if its path is invalid, or names something that was closed before.
   */
  add(entry: Untrusted<PartialArg>): string {
    const path = parseSteps(asString(entry.jsonPath) ?? "");
    const text = asString(entry.stringValue);
    const value = text === undefined ? toLiteral(entry) : undefined;
    if (text === undefined && value === undefined) return "";
    const before = this.#inString && this.#isAt(path) ? "" : this.#moveTo(path);
    if (text === undefined) return before + value;
    // A string can arrive in several entries, with one pair of quotes around them all.
    const opening = this.#inString ? "" : '"';
    this.#inString = entry.willContinue === true;
    return `${before}${opening}${JSON.stringify(text).slice(1, -1)}${this.#inString ? "" : '"'}`;
  }

  /** Returns the text that closes everything that is still open. */
  close(): string {
    return this.#endString() + this.#closeTo(0);
  }

  #isAt(path: readonly Step[]): boolean {
    return (
      path.length === this.#levels.length && path.every((step, depth) => this.#levels[depth]?.last === step)
    );
  }

  /** Ends the last value and opens the path to the next one. */
  #moveTo(path: readonly Step[]): string {
    const shared = this.#levels.findIndex((level, depth) => level.last !== path[depth]);
    const depth = shared < 0 ? this.#levels.length : shared;
    if (depth >= path.length || (depth === this.#levels.length && depth > 0)) throw outOfOrder();
    const closing = this.#endString() + this.#closeTo(depth + 1);
    return closing + this.#next(path, depth) + this.#open(path, depth + 1);
  }

  /** Continues an open object or list with its next key or index. */
  #next(path: readonly Step[], depth: number): string {
    const level = this.#levels[depth];
    const step = path[depth] as Step;
    if (level === undefined) return this.#open(path.slice(0, depth + 1), depth);
    const follows = typeof step === "number" ? step === Number(level.last) + 1 : !level.keys.has(step);
    if (typeof step !== typeof level.last || !follows) throw outOfOrder();
    level.last = step;
    return `,${toKey(step, level)}`;
  }

  /** Opens the objects and lists of a path from a depth on. */
  #open(path: readonly Step[], from: number): string {
    let text = "";
    for (const step of path.slice(from)) {
      if (typeof step === "number" && step !== 0) throw outOfOrder();
      const level: Level = { last: step, keys: new Set() };
      this.#levels.push(level);
      text += (typeof step === "number" ? "[" : "{") + toKey(step, level);
    }
    return text;
  }

  #endString(): string {
    if (!this.#inString) return "";
    this.#inString = false;
    return '"';
  }

  #closeTo(depth: number): string {
    const closed = this.#levels.splice(depth);
    return closed
      .reverse()
      .map(({ last }) => (typeof last === "number" ? "]" : "}"))
      .join("");
  }
}

function toKey(step: Step, { keys }: Level): string {
  if (typeof step === "number") return "";
  keys.add(step);
  return `${JSON.stringify(step)}:`;
}

/** Returns the text of a value that is not a string; undefined if the entry has no value. */
function toLiteral({ numberValue, boolValue, nullValue }: Untrusted<PartialArg>): string | undefined {
  if (numberValue !== undefined) return JSON.stringify(numberValue);
  if (boolValue !== undefined) return JSON.stringify(boolValue);
  return nullValue === undefined ? undefined : "null";
}

/** A step of a singular JSONPath (RFC 9535): `.key`, `[0]`, `['key']` or `["key"]`. */
const STEP = /\.([^.[\]]+)|\[(\d+)\]|\['((?:[^'\\]|\\.)*)'\]|\["((?:[^"\\]|\\.)*)"\]/y;

function parseSteps(path: string): Step[] {
  const steps: Step[] = [];
  let end = path.startsWith("$") ? 1 : path.length + 1;
  while (end < path.length) {
    STEP.lastIndex = end;
    const match = STEP.exec(path);
    if (match === null) break;
    steps.push(toStep(match));
    end = STEP.lastIndex;
  }
  if (end === path.length && typeof steps[0] === "string") return steps;
  throw new StreamError("the provider's stream names a tool argument by an invalid JSONPath");
}

function toStep([, name, index, single, double]: RegExpExecArray): Step {
  if (index !== undefined) return Number(index);
  return name ?? (single ?? double ?? "").replace(/\\(.)/g, "$1");
}

function outOfOrder(): StreamError {
  return new StreamError("the provider's stream sends tool arguments out of order");
}
