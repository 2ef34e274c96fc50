import { invalidField } from "../../../core/errors.ts";
import { isObject, type JsonObject, type JsonValue } from "../../json/json.ts";
import { findMalformed, KEYWORDS } from "../keywords.ts";
import { fieldAt, pointerBelow, shown } from "../messages.ts";
import { getReference, References } from "../references.ts";
import { listEntries } from "../values.ts";
import { ARRAY_CHECKS, checkUnevaluatedItems } from "./array-checks.ts";
import { COMPOSITION_CHECKS } from "./composition-checks.ts";
import type { CheckMaker } from "./keyword-context.ts";
import { checkUnevaluatedProperties, OBJECT_CHECKS } from "./object-checks.ts";
import { Pattern } from "./pattern.ts";
import { UnsupportedPatternError } from "./pattern-parser.ts";
import { getKind, type SchemaNode } from "./validation.ts";
import { VALUE_CHECKS } from "./value-checks.ts";

/** All checks in their order: unevaluated members come last. */
const CHECKS: readonly CheckMaker[] = [
  ...VALUE_CHECKS,
  ...OBJECT_CHECKS,
  ...ARRAY_CHECKS,
  ...COMPOSITION_CHECKS,
  checkUnevaluatedItems,
  checkUnevaluatedProperties,
];

/** A schema that is ready to check values. */
export interface CompiledSchema {
  readonly root: SchemaNode;
  /** Whether some keyword depends on the members that other schemas have evaluated. */
  readonly tracksEvaluated: boolean;
  /** JSON Pointers of the patterns that are not checked. */
  readonly unchecked: readonly string[];
}

/**
 * Compiles a schema of a checked size, without recursion: references can form long chains.
 * @param field Path of the schema in the request, for errors.
 * @throws InvalidRequestError naming the place that is not JSON Schema.
 */
export function compileValidator(schema: JsonValue, field: string): CompiledSchema {
  const compiler = new ValidatorCompiler(schema, field);
  const root = compiler.compile();
  return { root, tracksEvaluated: compiler.tracksEvaluated, unchecked: compiler.unchecked };
}

/** A schema whose checks have yet to be created. */
interface Pending {
  readonly schema: JsonObject;
  readonly pointer: string;
  readonly node: SchemaNode;
}

class ValidatorCompiler {
  readonly unchecked: string[] = [];
  tracksEvaluated = false;
  readonly #schema: JsonValue;
  readonly #field: string;
  #references: References | undefined;
  readonly #nodes = new Map<JsonObject, Pending>();
  readonly #pending: Pending[] = [];
  readonly #patterns = new Map<string, Pattern | undefined>();

  constructor(schema: JsonValue, field: string) {
    this.#schema = schema;
    this.#field = field;
  }

  compile(): SchemaNode {
    const root = this.#getNode(this.#schema, "");
    // The list grows while it is read.
    for (const pending of this.#pending) this.#makeChecks(pending);
    const endless = findEndless([...this.#nodes.values()]);
    if (endless !== undefined)
      throw this.#invalid(endless.pointer, "expected a schema that does not apply itself to the same value");
    return root;
  }

  #getNode(schema: JsonValue | undefined, pointer: string): SchemaNode {
    if (schema === true) return { checks: [], sameValue: [], allowsNull: false };
    if (schema === false) return NOTHING;
    if (!isObject(schema)) {
      const message = `expected a schema: an object, true or false, found ${shown(schema ?? null)}`;
      throw this.#invalid(pointer, message);
    }
    const known = this.#nodes.get(schema);
    if (known !== undefined) return known.node;
    const node: SchemaNode = { checks: [], sameValue: [], allowsNull: schema.nullable === true };
    const pending = { schema, pointer, node };
    this.#nodes.set(schema, pending);
    this.#pending.push(pending);
    return node;
  }

  #makeChecks({ schema, pointer, node }: Pending): void {
    this.#checkKeywords(schema, pointer);
    const getNode = (...keys: readonly (string | number)[]) =>
      this.#getNode(memberAt(schema, keys), pointerBelow(pointer, ...keys));
    const sameValue = (...keys: readonly (string | number)[]) => {
      const inner = getNode(...keys);
      node.sameValue.push(inner);
      return inner;
    };
    const toTarget = () => {
      const target = this.#toTarget(schema, pointer);
      node.sameValue.push(target);
      return target;
    };
    const toPattern = (source: string, ...keys: readonly string[]) =>
      this.#toPattern(source, pointerBelow(pointer, ...keys));
    const context = { schema, getNode, sameValue, toTarget, toPattern };
    for (const make of CHECKS) {
      const check = make(context);
      if (check !== undefined) node.checks.push(check);
    }
    // Definitions that nothing refers to are checked as well.
    for (const key of ["$defs", "definitions"])
      for (const [name] of listEntries(schema[key])) getNode(key, name);
  }

  #checkKeywords(schema: JsonObject, pointer: string): void {
    for (const [key, value] of listEntries(schema)) {
      const keyword = KEYWORDS.get(key);
      const malformed = keyword && findMalformed(keyword, value);
      if (malformed !== undefined) throw this.#invalid(pointerBelow(pointer, key), malformed);
      if (key === "unevaluatedProperties" || key === "unevaluatedItems") this.tracksEvaluated = true;
    }
  }

  #toTarget(schema: JsonObject, pointer: string): SchemaNode {
    this.#references ??= new References(isObject(this.#schema) ? this.#schema : {});
    const target = this.#references.resolve(schema);
    if (target !== undefined) return this.#getNode(target.schema, target.pointer);
    const message = `expected references to a place in the schema, found ${shown(getReference(schema) ?? "")}`;
    throw this.#invalid(pointer, message);
  }

  #toPattern(source: string, pointer: string): Pattern | undefined {
    if (!this.#patterns.has(source)) this.#patterns.set(source, this.#compilePattern(source, pointer));
    const pattern = this.#patterns.get(source);
    if (pattern === undefined) this.unchecked.push(pointer);
    return pattern;
  }

  #compilePattern(source: string, pointer: string): Pattern | undefined {
    try {
      return new Pattern(source);
    } catch (error) {
      if (error instanceof UnsupportedPatternError) return undefined;
      throw this.#invalid(pointer, "expected a regular expression (ECMA-262), found a syntax error");
    }
  }

  #invalid(pointer: string, message: string): Error {
    return invalidField(fieldAt(this.#field, pointer), message);
  }
}

const NOTHING: SchemaNode = {
  checks: [(value, location, run) => run.report(location, `expected no value here, found ${getKind(value)}`)],
  sameValue: [],
  allowsNull: false,
};

function memberAt(schema: JsonObject, keys: readonly (string | number)[]): JsonValue | undefined {
  let member: JsonValue | undefined = schema;
  for (const key of keys) {
    const isMember: boolean = typeof member === "object" && member !== null && Object.hasOwn(member, key);
    member = isMember ? (member as JsonObject)[key] : undefined;
  }
  return member;
}

/**
 * Finds a schema that applies itself to the same value, or one that applies such a schema, so that validating would
 * never end. Repeatedly removes all schemas that apply no remaining ones; an endless one is left.
 */
function findEndless(all: readonly Pending[]): Pending | undefined {
  const inner = new Map(all.map(({ node }) => [node, 0]));
  const users = new Map<SchemaNode, SchemaNode[]>(all.map(({ node }) => [node, []]));
  for (const { node } of all) {
    const applied = node.sameValue.filter((each) => inner.has(each));
    inner.set(node, applied.length);
    for (const each of applied) users.get(each)?.push(node);
  }
  const done = all.flatMap(({ node }) => (inner.get(node) === 0 ? [node] : []));
  // The list grows while it is read.
  for (const node of done) {
    for (const user of users.get(node) ?? []) {
      const rest = (inner.get(user) ?? 0) - 1;
      inner.set(user, rest);
      if (rest === 0) done.push(user);
    }
  }
  return all.find(({ node }) => inner.get(node) !== 0);
}
