/**
 * Arguments of a tool call that arrive value by value, each with its JSONPath
 * (`functionCall.partialArgs`), written as JSON text that only ever grows.
 */

import { StreamError } from "../../core/errors.ts";
import { asString, type JsonObject } from "../../kit/json/json.ts";

/** A step of a path: a key of an object or a place in a list. */
type Step = string | number;

/** An object or list that is being written. */
interface Level {
  /** What of it was written last. */
  last: Step;
  /** Keys that it has. */
  readonly keys: Set<string>;
}

/** Writes the arguments of one call. The API names values in the order of the document, so that text can be sent at once. */
export class PartialArguments {
  /** From the arguments themselves down to what holds the last value. */
  readonly #levels: Level[] = [];
  #inString = false;

  /**
   * The text that one entry of `partialArgs` adds.
   * @throws StreamError where its path is none, or leads back to what was closed.
   */
  add(entry: JsonObject): string {
    const path = stepsOf(asString(entry.jsonPath) ?? "");
    const text = asString(entry.stringValue);
    const value = text === undefined ? literalOf(entry) : undefined;
    if (text === undefined && value === undefined) return "";
    const before = this.#inString && this.#isAt(path) ? "" : this.#moveTo(path);
    if (text === undefined) return before + value;
    // A text can come in several entries; its quotes stand around all of them.
    const opening = this.#inString ? "" : '"';
    this.#inString = entry.willContinue === true;
    return `${before}${opening}${JSON.stringify(text).slice(1, -1)}${this.#inString ? "" : '"'}`;
  }

  /** The text that closes everything that is open. */
  close(): string {
    return this.#endString() + this.#closeTo(0);
  }

  #isAt(path: readonly Step[]): boolean {
    return (
      path.length === this.#levels.length && path.every((step, depth) => this.#levels[depth]?.last === step)
    );
  }

  /** Ends what was written last and goes to the place of the next value. */
  #moveTo(path: readonly Step[]): string {
    const shared = this.#levels.findIndex((level, depth) => level.last !== path[depth]);
    const depth = shared < 0 ? this.#levels.length : shared;
    if (depth >= path.length || (depth === this.#levels.length && depth > 0)) throw outOfOrder();
    const closing = this.#endString() + this.#closeTo(depth + 1);
    return closing + this.#next(path, depth) + this.#open(path, depth + 1);
  }

  /** Goes on to the next key or place of an object or list that is open. */
  #next(path: readonly Step[], depth: number): string {
    const level = this.#levels[depth];
    const step = path[depth] as Step;
    if (level === undefined) return this.#open(path.slice(0, depth + 1), depth);
    const follows = typeof step === "number" ? step === Number(level.last) + 1 : !level.keys.has(step);
    if (typeof step !== typeof level.last || !follows) throw outOfOrder();
    level.last = step;
    return `,${keyOf(step, level)}`;
  }

  /** Begins the objects and lists of a path from a depth on. */
  #open(path: readonly Step[], from: number): string {
    let text = "";
    for (const step of path.slice(from)) {
      if (typeof step === "number" && step !== 0) throw outOfOrder();
      const level: Level = { last: step, keys: new Set() };
      this.#levels.push(level);
      text += (typeof step === "number" ? "[" : "{") + keyOf(step, level);
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

function keyOf(step: Step, { keys }: Level): string {
  if (typeof step === "number") return "";
  keys.add(step);
  return `${JSON.stringify(step)}:`;
}

/** The text of a value that is no string; undefined where the entry has none. */
function literalOf({ numberValue, boolValue, nullValue }: JsonObject): string | undefined {
  if (numberValue !== undefined) return JSON.stringify(numberValue);
  if (boolValue !== undefined) return JSON.stringify(boolValue);
  return nullValue === undefined ? undefined : "null";
}

/** A step of a singular JSONPath (RFC 9535): `.key`, `[0]`, `['key']` or `["key"]`. */
const STEP = /\.([^.[\]]+)|\[(\d+)\]|\['((?:[^'\\]|\\.)*)'\]|\["((?:[^"\\]|\\.)*)"\]/y;

function stepsOf(path: string): Step[] {
  const steps: Step[] = [];
  let end = path.startsWith("$") ? 1 : path.length + 1;
  while (end < path.length) {
    STEP.lastIndex = end;
    const match = STEP.exec(path);
    if (match === null) break;
    steps.push(stepOf(match));
    end = STEP.lastIndex;
  }
  if (end === path.length && typeof steps[0] === "string") return steps;
  throw new StreamError("the provider's stream names a tool argument by a path that is none");
}

function stepOf([, name, place, single, double]: RegExpExecArray): Step {
  if (place !== undefined) return Number(place);
  return name ?? (single ?? double ?? "").replace(/\\(.)/g, "$1");
}

function outOfOrder(): StreamError {
  return new StreamError("the provider's stream brings tool arguments out of their order");
}
