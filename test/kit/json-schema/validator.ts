/**
 * A judge for the tests, written from the specification and sharing nothing with the compiler:
 * whether a value fits a schema of draft 7 or 2020-12, or of Gemini's OpenAPI form. References
 * are JSON Pointers; `format` is judged by name only where the tests use it.
 */

type Schema = Record<string, unknown>;

/** What a schema finds in a value: whether it fits, and which members it has seen. */
interface Verdict {
  readonly fits: boolean;
  readonly names: ReadonlySet<string>;
  /** How many items from the front have been seen. */
  readonly items: number;
}

const REFUSED: Verdict = { fits: false, names: new Set(), items: 0 };

/** A schema that begins itself again on the same value. */
export class EndlessSchema extends Error {}

/** Whether a value fits a schema. */
export function accepts(schema: unknown, value: unknown): boolean {
  return judge(schema, value, schema, 0).fits;
}

function judge(schema: unknown, value: unknown, root: unknown, depth: number): Verdict {
  if (depth > 60) throw new EndlessSchema();
  if (typeof schema === "boolean") return { ...REFUSED, fits: schema };
  const own = schema as Schema;
  const judgeBy = (other: unknown, part: unknown = value) => judge(other, part, root, depth + 1);
  if (own.nullable === true && value === null) return { ...REFUSED, fits: true };
  if (!fitsAlone(own, value)) return REFUSED;
  const beside = inPlace(own, value, root, judgeBy);
  if (beside.some((verdict) => !verdict.fits)) return REFUSED;
  return membersOf(own, value, beside, judgeBy);
}

type JudgeBy = (schema: unknown, part?: unknown) => Verdict;

/** Schemas that are about the same value. */
function inPlace(schema: Schema, value: unknown, root: unknown, judgeBy: JudgeBy): Verdict[] {
  const verdicts: Verdict[] = [];
  if (typeof schema.$ref === "string") verdicts.push(judgeBy(lookUp(root, schema.$ref)));
  for (const each of listOf(schema.allOf)) verdicts.push(judgeBy(each));
  if (schema.anyOf !== undefined) verdicts.push(together(listOf(schema.anyOf).map((each) => judgeBy(each))));
  if (schema.oneOf !== undefined) {
    const fitting = listOf(schema.oneOf).map((each) => judgeBy(each));
    const one = fitting.filter((verdict) => verdict.fits).length === 1;
    verdicts.push(one ? together(fitting) : REFUSED);
  }
  if (schema.not !== undefined) verdicts.push({ ...REFUSED, fits: !judgeBy(schema.not).fits });
  if (schema.if !== undefined) {
    const condition = judgeBy(schema.if);
    const branch = condition.fits ? schema.then : schema.else;
    if (condition.fits) verdicts.push(condition);
    if (branch !== undefined) verdicts.push(judgeBy(branch));
  }
  for (const [name, each] of Object.entries((schema.dependentSchemas ?? {}) as Schema)) {
    if (isObject(value) && Object.hasOwn(value, name)) verdicts.push(judgeBy(each));
  }
  return verdicts;
}

function together(verdicts: readonly Verdict[]): Verdict {
  const fitting = verdicts.filter((verdict) => verdict.fits);
  if (fitting.length === 0) return REFUSED;
  return {
    fits: true,
    names: new Set(fitting.flatMap((verdict) => [...verdict.names])),
    items: Math.max(...fitting.map((verdict) => verdict.items)),
  };
}

/** The members of objects and lists, with what schemas beside have seen of them. */
function membersOf(schema: Schema, value: unknown, beside: readonly Verdict[], judgeBy: JudgeBy): Verdict {
  const seen = beside.length === 0 ? { ...REFUSED, fits: true } : together(beside);
  if (isObject(value)) return propertiesOf(schema, value, seen, judgeBy);
  if (Array.isArray(value)) return itemsOf(schema, value, seen, judgeBy);
  return seen;
}

function propertiesOf(schema: Schema, value: Schema, seen: Verdict, judgeBy: JudgeBy): Verdict {
  const names = new Set(seen.names);
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
    if (!schemas.every((other) => judgeBy(other, each).fits)) return REFUSED;
    if (schemas.length > 0) names.add(name);
    if (schema.unevaluatedProperties !== undefined && !names.has(name)) {
      if (!judgeBy(schema.unevaluatedProperties, each).fits) return REFUSED;
      names.add(name);
    }
    if (schema.propertyNames !== undefined && !judgeBy(schema.propertyNames, name).fits) return REFUSED;
  }
  return { fits: true, names, items: 0 };
}

function itemsOf(schema: Schema, value: unknown[], seen: Verdict, judgeBy: JudgeBy): Verdict {
  const isTuple = Array.isArray(schema.items);
  const prefix = isTuple ? listOf(schema.items) : listOf(schema.prefixItems);
  const rest = isTuple ? schema.additionalItems : schema.items;
  for (const [index, each] of value.entries()) {
    const own = index < prefix.length ? prefix[index] : rest;
    if (own !== undefined && !judgeBy(own, each).fits) return REFUSED;
    const known = own !== undefined || index < seen.items;
    if (!known && schema.unevaluatedItems !== undefined && !judgeBy(schema.unevaluatedItems, each).fits) {
      return REFUSED;
    }
  }
  if (schema.contains !== undefined && !value.some((each) => judgeBy(schema.contains, each).fits))
    return REFUSED;
  const all = rest !== undefined || schema.unevaluatedItems !== undefined;
  return { fits: true, names: new Set(), items: all ? value.length : Math.max(seen.items, prefix.length) };
}

/** Assertions that need no other schema. */
function fitsAlone(schema: Schema, value: unknown): boolean {
  const { type, enum: values, const: only } = schema;
  if (type !== undefined && ![type].flat().some((name) => isOf(String(name).toLowerCase(), value)))
    return false;
  if (only !== undefined && !same(only, value)) return false;
  if (values !== undefined && !isAmong(listOf(values), type, value)) return false;
  if (typeof value === "string") return fitsString(schema, value);
  if (typeof value === "number") return fitsNumber(schema, value);
  if (Array.isArray(value)) return fitsCount(schema, "Items", value.length) && fitsUnique(schema, value);
  return isObject(value) ? fitsObject(schema, value) : true;
}

/** Gemini's OpenAPI form writes the numbers of an enum as strings. */
function isAmong(values: readonly unknown[], type: unknown, value: unknown): boolean {
  const asText = type === "INTEGER" || type === "NUMBER";
  return values.some((each) => same(asText && typeof value === "number" ? Number(each) : each, value));
}

function isOf(type: string, value: unknown): boolean {
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

function fitsString(schema: Schema, value: string): boolean {
  const length = [...value].length;
  if (typeof schema.pattern === "string" && !new RegExp(schema.pattern, "u").test(value)) return false;
  if (schema.format === "date" && !/^\d{4}-\d\d-\d\d$/.test(value)) return false;
  if (schema.format === "uri" && !/^[a-z]+:/.test(value)) return false;
  return fitsCount(schema, "Length", length);
}

function fitsNumber(schema: Schema, value: number): boolean {
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

function fitsObject(schema: Schema, value: Schema): boolean {
  const has = (name: unknown) => Object.hasOwn(value, String(name));
  if (!listOf(schema.required).every(has)) return false;
  for (const [name, names] of Object.entries((schema.dependentRequired ?? {}) as Schema)) {
    if (has(name) && !listOf(names).every(has)) return false;
  }
  return fitsCount(schema, "Properties", Object.keys(value).length);
}

function fitsCount(schema: Schema, what: string, count: number): boolean {
  const least = schema[`min${what}`] as number | undefined;
  const most = schema[`max${what}`] as number | undefined;
  return (least === undefined || count >= least) && (most === undefined || count <= most);
}

function fitsUnique(schema: Schema, value: unknown[]): boolean {
  if (schema.uniqueItems !== true) return true;
  return value.every((each, index) => value.findIndex((other) => same(each, other)) === index);
}

/** What a pointer in a reference leads to. */
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

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
