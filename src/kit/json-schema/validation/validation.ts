/** One validation of one value: its findings, and its amount of work. */
import { isDeeper, isObject, type JsonValue, MAX_JSON_LEVELS } from "../../json/json.ts";
import { pointerBelow } from "../messages.ts";
import { toIdentity } from "../values.ts";

/** The compiled form of a schema. */
export interface SchemaNode {
  /** In the order in which they run. */
  readonly checks: Check[];
  /** Subschemas that apply to the same value as this one, the target of a reference included. */
  readonly sameValue: SchemaNode[];
  /** Whether null is valid regardless of the checks, as with `nullable` of OpenAPI. */
  allowsNull: boolean;
}

/** Reports the problems of a value. */
export type Check = (value: JsonValue, location: InstanceLocation, run: Validation) => void;

/**
 * The location of a value: the location of the containing value, and its key or index there. The root has no parent.
 */
export interface InstanceLocation {
  readonly parent?: InstanceLocation;
  readonly token?: string | number;
}

/** A problem of a value. */
export interface Finding {
  readonly location: InstanceLocation;
  readonly message: string;
  /** The expected types, in words, if the value has another one. */
  readonly types?: string;
  /** Whether the value is missing from a list of allowed values. */
  readonly isUnlisted?: boolean;
}

/** The members of a value that some schemas have evaluated. */
export interface Evaluated {
  readonly names: Set<string>;
  readonly items: Set<number>;
}

/** Maximum number of findings of one schema that are kept. */
const MAX_FINDINGS = 20;

/**
 * Maximum number of steps of one validation: applied schemas and checks, members, and characters that are compared or
 * matched. These take some tenths of a second. A list of 9,000 objects, a megabyte of JSON, takes a third of the steps.
 */
const MAX_STEPS = 2_000_000;

/** Steps of applying a schema to a value, without the steps of its checks. */
const STEPS_PER_SCHEMA = 3;

/** Maximum nesting of applied schemas. JSON has at most 256 levels, each with some references. */
const MAX_DEPTH = 1000;

/** A validation that was aborted because it took too many steps. */
export class TooMuchWorkError extends Error {}

/** State of one validation. */
export class Validation {
  readonly #tracksEvaluated: boolean;
  #findings: Finding[] = [];
  #evaluated: Evaluated | undefined;
  #steps = 0;
  #depth = 0;

  /** @param tracksEvaluated Whether a schema applies to members that no other schema has evaluated. */
  constructor(tracksEvaluated: boolean) {
    this.#tracksEvaluated = tracksEvaluated;
  }

  get findings(): readonly Finding[] {
    return this.#findings;
  }

  /**
   * The members of the value that the schema around this check, with its subschemas, has evaluated; undefined if no
   * keyword needs them.
   */
  get evaluated(): Evaluated | undefined {
    return this.#evaluated;
  }

  report(location: InstanceLocation, message: string): void {
    this.add({ location, message });
  }

  add(finding: Finding): void {
    if (this.#findings.length < MAX_FINDINGS) this.#findings.push(finding);
  }

  /**
   * Counts work.
   * @throws TooMuchWorkError if it becomes too much.
   */
  spend(steps: number): void {
    this.#steps += steps;
    if (this.#steps > MAX_STEPS) throw new TooMuchWorkError();
  }

  /** Returns a text that is the same for two values exactly if they are equal. */
  toIdentity(value: JsonValue): string {
    if (typeof value !== "object" || value === null) return JSON.stringify(value);
    if (isDeeper(value, MAX_JSON_LEVELS)) throw new TooMuchWorkError();
    const identity = toIdentity(value);
    this.spend(identity.length / 2);
    return identity;
  }

  /** Applies a schema to a member of a value. */
  applyBelow(node: SchemaNode, value: JsonValue, parent: InstanceLocation, token: string | number): void {
    this.#run(node, value, { parent, token });
  }

  /** Applies a subschema to the same value, and reports its findings. Returns whether the value is valid. */
  apply(node: SchemaNode, value: JsonValue, location: InstanceLocation): boolean {
    const found = this.test(node, value, location);
    for (const finding of found) this.add(finding);
    return found.length === 0;
  }

  /** Applies a subschema to the same value and returns its findings without reporting them. */
  test(node: SchemaNode, value: JsonValue, location: InstanceLocation): readonly Finding[] {
    const outer = this.#findings;
    this.#findings = [];
    const evaluated = this.#run(node, value, location);
    const found = this.#findings;
    this.#findings = outer;
    if (found.length === 0 && evaluated !== undefined) this.#merge(evaluated);
    return found;
  }

  /** Reports whether a schema accepts a member of a value. */
  accepts(node: SchemaNode, value: JsonValue): boolean {
    const outer = this.#evaluated;
    this.#evaluated = undefined;
    const found = this.test(node, value, {});
    this.#evaluated = outer;
    return found.length === 0;
  }

  /** Returns the members that the schema has evaluated. */
  #run(node: SchemaNode, value: JsonValue, location: InstanceLocation): Evaluated | undefined {
    this.#depth += 1;
    this.spend(STEPS_PER_SCHEMA + node.checks.length);
    if (this.#depth > MAX_DEPTH) throw new TooMuchWorkError();
    const outer = this.#evaluated;
    const evaluated = this.#tracksEvaluated
      ? { names: new Set<string>(), items: new Set<number>() }
      : undefined;
    this.#evaluated = evaluated;
    if (value !== null || !node.allowsNull) for (const check of node.checks) check(value, location, this);
    this.#evaluated = outer;
    this.#depth -= 1;
    return evaluated;
  }

  #merge({ names, items }: Evaluated): void {
    this.spend(names.size + items.size);
    for (const name of names) this.#evaluated?.names.add(name);
    for (const item of items) this.#evaluated?.items.add(item);
  }
}

/** Returns the JSON Pointer (RFC 6901) of a location. A long one is cut. */
export function toPointer(location: InstanceLocation): string {
  const tokens: (string | number)[] = [];
  for (let at: InstanceLocation | undefined = location; at?.token !== undefined; at = at.parent)
    tokens.push(at.token);
  return pointerBelow("", ...tokens.reverse());
}

/** Describes the kind of a value, in words, without repeating the value. */
export function getKind(value: JsonValue): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  if (isObject(value)) return "an object";
  if (typeof value !== "number") return `a ${typeof value}`;
  return Number.isInteger(value) ? "an integer" : "a number with a fraction";
}
