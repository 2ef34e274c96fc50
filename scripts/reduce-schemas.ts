/**
 * Reduces a published OpenAPI description to the schemas of the Responses API that the tests use:
 *
 *   npm run reduce-schemas openai openapi.yml
 *   npm run reduce-schemas open-responses openapi.json
 *
 * test/endpoints/README.md names the sources of the descriptions. The schemas are as published, without keywords that
 * do not restrict a value: descriptions, examples, titles and extensions.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { parse } from "yaml";

/** The schemas by name, and their source. */
interface Description {
  readonly info: { readonly title: string; readonly version: string };
  readonly components: { readonly schemas: Readonly<Record<string, unknown>> };
}

/** The schemas that tests name. All others that these refer to are kept too. */
const roots: Readonly<Record<string, readonly string[]>> = {
  openai: [
    "CreateResponse",
    "Response",
    "ResponseStreamEvent",
    "ResponseItemList",
    "TokenCountsBody",
    "TokenCountsResource",
    "CompactResponseMethodPublicBody",
    "CompactResource",
    "CreateConversationBody",
    "UpdateConversationBody",
    "ConversationResource",
    "DeletedConversationResource",
    "ConversationItem",
    "ConversationItemList",
    "InputItem",
    "OutputItem",
    "ListModelsResponse",
    "Model",
    "ErrorResponse",
  ],
  "open-responses": [
    "CreateResponseBody",
    "ResponseResource",
    "CompactResource",
    "WebSocketResponseCreateEvent",
    "WebSocketErrorEvent",
    "ErrorPayload",
  ],
};

/** Keywords that describe a value and do not restrict it, and those for recursion in an older JSON Schema. */
const annotations = new Set([
  ...["description", "example", "examples", "title", "deprecated", "externalDocs"],
  ...["$recursiveAnchor", "$recursiveRef"],
]);

/** Names of schemas that a schema refers to. */
function referencesIn(schema: unknown): string[] {
  return [...JSON.stringify(schema).matchAll(/"#\/components\/schemas\/([^"]+)"/g)].flatMap(
    ([, name]) => name ?? [],
  );
}

function withReferences(
  names: readonly string[],
  schemas: Description["components"]["schemas"],
): readonly string[] {
  const found = new Set(names);
  // A set is iterated over what is added meanwhile, too.
  for (const name of found) {
    if (!Object.hasOwn(schemas, name)) throw new Error(`The description has no schema ${name}.`);
    for (const reference of referencesIn(schemas[name])) found.add(reference);
  }
  return [...found].sort();
}

function withoutAnnotations(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withoutAnnotations);
  if (typeof schema !== "object" || schema === null) return schema;
  return Object.fromEntries(
    Object.entries(schema)
      .filter(([keyword]) => !annotations.has(keyword) && !keyword.startsWith("x-"))
      .map(([keyword, value]) => [
        keyword,
        keyword === "properties" ? listProperties(value) : withoutAnnotations(value),
      ]),
  );
}

/** Properties may be named like annotations. */
function listProperties(properties: object): object {
  return Object.fromEntries(
    Object.entries(properties).map(([name, schema]) => [name, withoutAnnotations(schema)]),
  );
}

/** Events of Open Responses have no schema that names them all. */
function namesFor(source: string, { components }: Description): readonly string[] {
  const events = Object.keys(components.schemas).filter((name) => name.endsWith("StreamingEvent"));
  return [...(roots[source] ?? []), ...(source === "open-responses" ? events : [])];
}

const [source = "", path = ""] = process.argv.slice(2);
if (!Object.hasOwn(roots, source)) throw new Error(`Expected one of ${Object.keys(roots).join(", ")}.`);
const description: Description = parse(readFileSync(path, "utf8"));
const { schemas } = description.components;
const { title, version } = description.info;
const reduced = {
  title,
  version,
  schemas: Object.fromEntries(
    withReferences(namesFor(source, description), schemas).map((name) => [
      name,
      withoutAnnotations(schemas[name]),
    ]),
  ),
};
const target = new URL(`../test/endpoints/schemas/${source}.json`, import.meta.url);
writeFileSync(target, `${JSON.stringify(reduced, undefined, 1)}\n`);
