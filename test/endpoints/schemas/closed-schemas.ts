/** A JSON Schema, as far as this module reads it. */
export interface Schema {
  readonly $ref?: string;
  readonly type?: unknown;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: unknown;
  readonly allOf?: readonly Schema[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly enum?: readonly unknown[];
  readonly [keyword: string]: unknown;
}

/** The changes that a provider made to a schema since its description was published. */
export interface Amendment {
  /** Properties that were added, or that have other values. */
  readonly properties?: Readonly<Record<string, Schema>>;
  /** Properties that are not required. */
  readonly optional?: readonly string[];
  /** Values that were added to an enumeration. */
  readonly values?: readonly string[];
}

/** Schemas by name. */
export type Schemas = Readonly<Record<string, Schema>>;

const prefix = "#/components/schemas/";

/**
 * The same schemas, stricter: an object may have only the properties of its schema, and a union of objects with a
 * `type` is decided by that `type`, so that a mistake is reported at its place instead of once for each member.
 *
 * @param amendments By the name of the schema.
 */
export function closeSchemas(schemas: Schemas, amendments: Readonly<Record<string, Amendment>>): Schemas {
  const known = Object.fromEntries(
    Object.entries(schemas).map(([name, schema]) => [name, amended(schema, amendments[name], schemas)]),
  );
  return Object.fromEntries(Object.entries(known).map(([name, schema]) => [name, closed(schema, known)]));
}

function amended(schema: Schema, amendment: Amendment | undefined, schemas: Schemas): Schema {
  if (amendment === undefined) return schema;
  const { properties = {}, optional = [], values } = amendment;
  if (values !== undefined) return { ...schema, enum: [...(schema.enum ?? []), ...values] };
  const whole = merged({ allOf: [schema, { properties }] }, schemas);
  return { ...whole, required: (whole.required ?? []).filter((name) => !optional.includes(name)) };
}

function closed(schema: Schema, schemas: Schemas): Schema {
  if (schema.allOf !== undefined) return closed(merged(schema, schemas), schemas);
  const { anyOf, oneOf, properties, items, ...rest } = schema;
  const members = anyOf ?? oneOf;
  return {
    ...withLocalReference(rest),
    ...(properties !== undefined && closedObject(schema, properties, schemas)),
    ...(isSchema(items) && { items: closed(items, schemas) }),
    ...(members !== undefined && union(members, schemas)),
  };
}

function closedObject(schema: Schema, properties: Schemas, schemas: Schemas): Schema {
  const entries = Object.entries(properties).map(([name, value]) => [name, closed(value, schemas)]);
  // The description does not know the properties of an object that declares none.
  const additionalProperties = schema.additionalProperties ?? entries.length === 0;
  return { properties: Object.fromEntries(entries), additionalProperties };
}

/** The objects of `allOf` as one, since a closed member would refuse the properties of the others. */
function merged({ allOf = [], ...rest }: Schema, schemas: Schemas): Schema {
  return allOf.map((member) => resolved(member, schemas)).reduce(merge, rest);
}

function resolved(schema: Schema, schemas: Schemas): Schema {
  const target = schema.$ref === undefined ? schema : named(schema.$ref, schemas);
  if (target.$ref !== undefined) return resolved(target, schemas);
  return target.allOf === undefined ? target : merged(target, schemas);
}

function merge(left: Schema, right: Schema): Schema {
  return {
    ...left,
    ...right,
    properties: { ...left.properties, ...right.properties },
    required: [...(left.required ?? []), ...(right.required ?? [])],
  };
}

/** One of these schemas. A schema without `type` is tried unchanged. */
function union(members: readonly Schema[], schemas: Schemas): Schema {
  const groups = new Map<unknown, Schema[]>();
  const others: Schema[] = [];
  for (const member of members) {
    const types = getTypes(member, schemas);
    if (types.length === 0) others.push(member);
    for (const type of types) groups.set(type, [...(groups.get(type) ?? []), member]);
  }
  if (groups.size < 2) return { anyOf: members.map((member) => closed(member, schemas)) };
  const branches = [...groups].map(([type, group]) => ({
    if: { properties: { type: { const: type } } },
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
    then: { anyOf: group.map((member) => closed(member, schemas)) },
  }));
  const byType = {
    type: "object",
    required: ["type"],
    properties: { type: typeIn(groups) },
    allOf: branches,
  };
  return { anyOf: [...others.map((member) => closed(member, schemas)), byType] };
}

/** Items may have types of other vendors, with the vendor's name before a colon, as Open Responses allows. */
function typeIn(groups: ReadonlyMap<unknown, unknown>): Schema {
  const known = { enum: [...groups.keys()] };
  return groups.has("message") ? { anyOf: [known, { type: "string", pattern: "^[^:]+:[^:]+$" }] } : known;
}

/** Returns the values that a required `type` may have in a schema of an object, or none if any value is allowed. */
function getTypes(member: Schema, schemas: Schemas): readonly unknown[] {
  const { properties, required } = resolved(member, schemas);
  return required?.includes("type") ? (properties?.type?.enum ?? []) : [];
}

function named(reference: string, schemas: Schemas): Schema {
  const schema = schemas[reference.slice(prefix.length)];
  if (schema === undefined) throw new Error(`There is no schema ${reference}.`);
  return schema;
}

function withLocalReference({ $ref, ...schema }: Schema): Schema {
  return $ref === undefined ? schema : { ...schema, $ref: `#/$defs/${$ref.slice(prefix.length)}` };
}

function isSchema(value: unknown): value is Schema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
