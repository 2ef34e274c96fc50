/** Wraps a schema in the schema of an object, for APIs that let a model write objects only. */
import { compact } from "../../core/compact.ts";
import { isObject, type JsonObject } from "../json/json.ts";

/**
 * Returns the schema of an object whose only member has the schema. Definitions move to the root, so that references
 * still find them.
 * @param member Name of the member.
 * @returns Undefined if the schema refers to other places in itself, which move.
 */
export function wrapSchema(schema: JsonObject, member: string): JsonObject | undefined {
  if (OTHER_REFERENCE.test(JSON.stringify(schema))) return undefined;
  const { $schema, $defs, definitions, ...value } = schema;
  return compact({
    $schema,
    type: "object",
    properties: { [member]: value },
    required: [member],
    additionalProperties: false,
    $defs,
    definitions,
  });
}

/** A base address or anchor, or a reference to anything but a definition. */
const OTHER_REFERENCE =
  /"\$(?:id|anchor|dynamicAnchor|dynamicRef|recursiveRef)":|"\$ref":"(?!#\/(?:\$defs|definitions)\/)/;

/** Maximum number of references that are followed from the root of a schema. */
const MAX_REFERENCES = 16;

/**
 * Reports whether a schema states at its root that its values are not objects, not only objects, or of several kinds. A
 * root that says nothing about the type is left to the API.
 */
export function statesOtherRoot(schema: JsonObject): boolean {
  let root = schema;
  for (let count = 0; root.type === undefined && count < MAX_REFERENCES; count += 1) {
    const target = findDefinition(schema, root.$ref);
    if (target === undefined) break;
    root = target;
  }
  if (root.anyOf !== undefined || root.oneOf !== undefined) return true;
  return root.type === undefined ? OTHER_KEYWORDS.some((key) => key in root) : root.type !== "object";
}

/** Keywords of a schema without a type that show that its values are not objects, or are listed. */
const OTHER_KEYWORDS = ["items", "prefixItems", "enum", "const"];

function findDefinition(schema: JsonObject, reference: unknown): JsonObject | undefined {
  const [, list = "", name = ""] = /^#\/(\$defs|definitions)\/([^/~%]+)$/.exec(String(reference)) ?? [];
  const definitions = schema[list];
  const found = isObject(definitions) && Object.hasOwn(definitions, name) ? definitions[name] : undefined;
  return isObject(found) ? found : undefined;
}
