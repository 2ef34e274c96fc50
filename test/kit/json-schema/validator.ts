/**
 * A validator for the tests that shares no code with the compiler: whether a value is valid for a
 * schema of draft 7 or 2020-12. References are JSON Pointers; of `format`, only what the tests use
 * is checked.
 */

type Schema = Record<string, unknown>;

/** Whether a value is valid, and which of its members the schema has evaluated. */
interface Verdict {
  readonly isValid: boolean;
  readonly names: ReadonlySet<string>;
  /** Number of evaluated items from the beginning. */
  readonly items: number;
}

const INVALID: Verdict = { isValid: false, names: new Set(), items: 0 };

/** A schema that refers to itself for the same value. */
export class EndlessSchema extends Error {}

/** Whether a value is valid for a schema. */
export function accepts(schema: unknown, value: unknown): boolean {
  return validate(schema, value, schema, 0).isValid;
}

function validate(schema: unknown, value: unknown, root: unknown, depth: number): Verdict {
  if (depth > 60) throw new EndlessSchema();
  if (typeof schema === "boolean") return { ...INVALID, isValid: schema };
  const keywords = schema as Schema;
  const check = (other: unknown, part: unknown = value) => validate(other, part, root, depth + 1);
  if (keywords.nullable === true && value === null) return { ...INVALID, isValid: true };
  if (!isValidAlone(keywords, value)) return INVALID;
  const beside = verdictsBeside(keywords, value, root, check);
  if (beside.some((verdict) => !verdict.isValid)) return INVALID;
  return toMembers(keywords, value, beside, check);
}

type Check = (schema: unknown, part?: unknown) => Verdict;

/** Verdicts of subschemas that apply to the same value. */
function verdictsBeside(schema: Schema, value: unknown, root: unknown, check: Check): Verdict[] {
  const verdicts: Verdict[] = [];
  if (typeof schema.$ref === "string") verdicts.push(check(lookUp(root, schema.$ref)));
  for (const each of toList(schema.allOf)) verdicts.push(check(each));
  if (schema.anyOf !== undefined) verdicts.push(combined(toList(schema.anyOf).map((each) => check(each))));
  if (schema.oneOf !== undefined) {
    const valid = toList(schema.oneOf).map((each) => check(each));
    const one = valid.filter((verdict) => verdict.isValid).length === 1;
    verdicts.push(one ? combined(valid) : INVALID);
  }
  if (schema.not !== undefined) verdicts.push({ ...INVALID, isValid: !check(schema.not).isValid });
  if (schema.if !== undefined) {
    const condition = check(schema.if);
    const branch = condition.isValid ? schema.then : schema.else;
    if (condition.isValid) verdicts.push(condition);
    if (branch !== undefined) verdicts.push(check(branch));
  }
  for (const [name, each] of Object.entries((schema.dependentSchemas ?? {}) as Schema)) {
    if (isObject(value) && Object.hasOwn(value, name)) verdicts.push(check(each));
  }
  return verdicts;
}

function combined(verdicts: readonly Verdict[]): Verdict {
  const valid = verdicts.filter((verdict) => verdict.isValid);
  if (valid.length === 0) return INVALID;
  return {
    isValid: true,
    names: new Set(valid.flatMap((verdict) => [...verdict.names])),
    items: Math.max(...valid.map((verdict) => verdict.items)),
  };
}

/** Checks the members of objects and arrays, given the members that other schemas have evaluated. */
function toMembers(schema: Schema, value: unknown, beside: readonly Verdict[], check: Check): Verdict {
  const evaluated = beside.length === 0 ? { ...INVALID, isValid: true } : combined(beside);
  if (isObject(value)) return listProperties(schema, value, evaluated, check);
  if (Array.isArray(value)) return getItems(schema, value, evaluated, check);
  return evaluated;
}

function listProperties(schema: Schema, value: Schema, evaluated: Verdict, check: Check): Verdict {
  const names = new Set(evaluated.names);
  const properties = (schema.properties ?? {}) as Schema;
  for (const [name, each] of Object.entries(value)) {
    const patterns = Object.entries((schema.patternProperties ?? {}) as Schema);
    const schemas = [
      ...(Object.hasOwn(properties, name) ? [properties[name]] : []),
      ...patterns.flatMap(([pattern, other]) => (new RegExp(pattern, "u").test(name) ? [other] : [])),
    ];
    if (schemas.length === 0 && schema.additionalProperties !== undefined) {
      schemas.push(schema.additionalProperties);
    }
    if (!schemas.every((other) => check(other, each).isValid)) return INVALID;
    if (schemas.length > 0) names.add(name);
    if (schema.unevaluatedProperties !== undefined && !names.has(name)) {
      if (!check(schema.unevaluatedProperties, each).isValid) return INVALID;
      names.add(name);
    }
    if (schema.propertyNames !== undefined && !check(schema.propertyNames, name).isValid) return INVALID;
  }
  return { isValid: true, names, items: 0 };
}

function getItems(schema: Schema, value: unknown[], evaluated: Verdict, check: Check): Verdict {
  const isTuple = Array.isArray(schema.items);
  const prefix = isTuple ? toList(schema.items) : toList(schema.prefixItems);
  const rest = isTuple ? schema.additionalItems : schema.items;
  for (const [index, each] of value.entries()) {
    const itemSchema = index < prefix.length ? prefix[index] : rest;
    if (itemSchema !== undefined && !check(itemSchema, each).isValid) return INVALID;
    const known = itemSchema !== undefined || index < evaluated.items;
    if (!known && schema.unevaluatedItems !== undefined && !check(schema.unevaluatedItems, each).isValid) {
      return INVALID;
    }
  }
  if (schema.contains !== undefined && !value.some((each) => check(schema.contains, each).isValid))
    return INVALID;
  const all = rest !== undefined || schema.unevaluatedItems !== undefined;
  return {
    isValid: true,
    names: new Set(),
    items: all ? value.length : Math.max(evaluated.items, prefix.length),
  };
}

/** Assertions without subschemas. */
function isValidAlone(schema: Schema, value: unknown): boolean {
  const { type, enum: values, const: only } = schema;
  if (type !== undefined && ![type].flat().some((name) => hasType(String(name).toLowerCase(), value)))
    return false;
  if (only !== undefined && !same(only, value)) return false;
  if (values !== undefined && !toList(values).some((each) => same(each, value))) return false;
  if (typeof value === "string") return isValidString(schema, value);
  if (typeof value === "number") return isValidNumber(schema, value);
  if (Array.isArray(value)) return isCountValid(schema, "Items", value.length) && isUnique(schema, value);
  return isObject(value) ? isValidObject(schema, value) : true;
}

function hasType(type: string, value: unknown): boolean {
  switch (type) {
    case "null":
      return value === null;
    case "array":
      return Array.isArray(value);
    case "object":
      return isObject(value);
    case "integer":
      return Number.isInteger(value);
    default:
      return typeof value === type;
  }
}

function isValidString(schema: Schema, value: string): boolean {
  const length = [...value].length;
  if (typeof schema.pattern === "string" && !new RegExp(schema.pattern, "u").test(value)) return false;
  if (schema.format === "date" && !/^\d{4}-\d\d-\d\d$/.test(value)) return false;
  if (schema.format === "uri" && !/^[a-z]+:/.test(value)) return false;
  return isCountValid(schema, "Length", length);
}

function isValidNumber(schema: Schema, value: number): boolean {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema as Record<
    string,
    number
  >;
  return (
    (minimum === undefined || value >= minimum) &&
    (maximum === undefined || value <= maximum) &&
    (exclusiveMinimum === undefined || value > exclusiveMinimum) &&
    (exclusiveMaximum === undefined || value < exclusiveMaximum) &&
    (multipleOf === undefined || Number.isInteger(value / multipleOf))
  );
}

function isValidObject(schema: Schema, value: Schema): boolean {
  const has = (name: unknown) => Object.hasOwn(value, String(name));
  if (!toList(schema.required).every(has)) return false;
  for (const [name, names] of Object.entries((schema.dependentRequired ?? {}) as Schema)) {
    if (has(name) && !toList(names).every(has)) return false;
  }
  return isCountValid(schema, "Properties", Object.keys(value).length);
}

function isCountValid(schema: Schema, what: string, count: number): boolean {
  const least = schema[`min${what}`] as number | undefined;
  const most = schema[`max${what}`] as number | undefined;
  return (least === undefined || count >= least) && (most === undefined || count <= most);
}

function isUnique(schema: Schema, value: unknown[]): boolean {
  if (schema.uniqueItems !== true) return true;
  return value.every((each, index) => value.findIndex((other) => same(each, other)) === index);
}

/** Returns the value to which the pointer in a reference leads. */
export function lookUp(root: unknown, reference: string): unknown {
  const tokens = decodeURIComponent(reference.slice(1)).split("/").slice(1);
  return tokens.reduce<unknown>((value, token) => {
    const key = token.replaceAll("~1", "/").replaceAll("~0", "~");
    if (!isObject(value) && !Array.isArray(value)) throw new Error(`${reference} leads to nothing`);
    if (!Object.hasOwn(value, key)) throw new Error(`${reference} leads to nothing`);
    return (value as Schema)[key];
  }, root);
}

function same(left: unknown, right: unknown): boolean {
  if (Array.isArray(left) && Array.isArray(right)) {
    return left.length === right.length && left.every((each, index) => same(each, right[index]));
  }
  if (!isObject(left) || !isObject(right)) return left === right;
  const names = Object.keys(left);
  return (
    names.length === Object.keys(right).length &&
    names.every((name) => Object.hasOwn(right, name) && same(left[name], right[name]))
  );
}

function isObject(value: unknown): value is Schema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function toList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
