import type { JsonObject, JsonValue } from "../json/json.ts";
import { isSchemaObject } from "./keywords.ts";
import { pointerBelow, tokensOf } from "./pointer.ts";

/** What a reference leads to. */
export interface Target {
  readonly schema: JsonValue;
  /** Its place in the document. */
  readonly pointer: string;
}

/** Base of a document that names none; only what resolves below it is found. */
const NO_BASE = "schema:///";

/** Keywords that refer to another schema. In a document of its own, all of them are plain references. */
const REFERENCES = ["$ref", "$dynamicRef", "$recursiveRef"] as const;

/** The reference of a schema; undefined where it has none. */
export function referenceOf(schema: JsonObject): string | undefined {
  for (const key of REFERENCES) {
    const reference = schema[key];
    if (typeof reference === "string") return reference;
  }
  return undefined;
}

/**
 * Finds what the references of one document lead to: by JSON Pointer, by `$anchor`, and by `$id`
 * of the document or of schemas inside it (JSON Schema core, §8 and §9). Nothing is fetched.
 */
export class References {
  /** The document. */
  readonly root: JsonObject;
  readonly #rootBase: string;
  /** Schemas by URI: those with `$id` by their own, those with an anchor by it. */
  readonly #byUri = new Map<string, Target>();
  /** Base URIs of schemas below an `$id` that is not the root's. */
  readonly #bases = new WeakMap<object, string>();
  #isIndexed = false;

  constructor(root: JsonObject) {
    this.root = root;
    this.#rootBase = baseOf(root, NO_BASE);
    this.#byUri.set(this.#rootBase, { schema: root, pointer: "" });
  }

  /**
   * What the reference of a schema leads to.
   * @returns undefined where it leads out of the document or to nothing.
   */
  resolve(schema: JsonObject): Target | undefined {
    if (!this.#isIndexed) this.#index();
    const reference = referenceOf(schema);
    const url = URL.parse(reference ?? "", this.#bases.get(schema) ?? this.#rootBase);
    if (reference === undefined || url === null) return undefined;
    const fragment = decode(url.hash.slice(1));
    url.hash = "";
    if (fragment === undefined) return undefined;
    const tokens = tokensOf(fragment);
    if (tokens === undefined) return this.#byUri.get(anchorUri(url.href, fragment));
    return follow(this.#byUri.get(url.href), tokens);
  }

  /** Goes through the document without recursion and notes what it names. */
  #index(): void {
    this.#isIndexed = true;
    const open: Step[] = [{ value: this.root, base: NO_BASE, key: "", parent: undefined }];
    for (let step = open.pop(); step !== undefined; step = open.pop()) {
      const { value } = step;
      const base = isSchemaObject(value) ? this.#note(value, step) : step.base;
      for (const [key, each] of Object.entries(value)) {
        if (typeof each === "object" && each !== null) open.push({ value: each, base, key, parent: step });
      }
    }
  }

  /** Notes the names of one schema. Gives the base of what is below it. */
  #note(schema: JsonObject, step: Step): string {
    const base = baseOf(schema, step.base);
    if (base !== this.#rootBase) this.#bases.set(schema, base);
    if (base !== step.base) this.#add(base, schema, step);
    for (const anchor of anchorsOf(schema)) this.#add(anchorUri(base, anchor), schema, step);
    return base;
  }

  /** A name is given once. Of two schemas with one name, the root or always the same one is taken. */
  #add(uri: string, schema: JsonObject, step: Step): void {
    if (!this.#byUri.has(uri)) this.#byUri.set(uri, { schema, pointer: pointerOf(step) });
  }
}

/** A value on the way through the document. */
interface Step {
  readonly value: object;
  /** The base URI around it. */
  readonly base: string;
  readonly key: string;
  readonly parent: Step | undefined;
}

function pointerOf(step: Step): string {
  const keys: string[] = [];
  for (let each = step; each.parent !== undefined; each = each.parent) keys.unshift(each.key);
  return pointerBelow("", ...keys);
}

/** The names of a schema within its resource. In draft 7 they stand in `$id`. */
function anchorsOf({ $id, $anchor, $dynamicAnchor }: JsonObject): string[] {
  const inId = typeof $id === "string" && $id.startsWith("#") ? $id.slice(1) : "";
  return [$anchor, $dynamicAnchor, inId].filter(
    (anchor): anchor is string => typeof anchor === "string" && anchor !== "",
  );
}

/** The base URI of a schema: its `$id`, else that of the schema around it. */
function baseOf({ $id }: JsonObject, outer: string): string {
  const url = typeof $id === "string" ? URL.parse($id, outer) : null;
  if (url === null) return outer;
  url.hash = "";
  return url.href;
}

function anchorUri(base: string, anchor: string): string {
  return `${base}#${anchor}`;
}

function decode(fragment: string): string | undefined {
  try {
    return decodeURIComponent(fragment);
  } catch {
    return undefined;
  }
}

function follow(start: Target | undefined, tokens: readonly string[]): Target | undefined {
  if (start === undefined) return undefined;
  let schema: JsonValue = start.schema;
  for (const token of tokens) {
    const below: JsonValue | undefined = valueAt(schema, token);
    if (below === undefined) return undefined;
    schema = below;
  }
  if (!isSchemaObject(schema) && typeof schema !== "boolean") return undefined;
  return { schema, pointer: pointerBelow(start.pointer, ...tokens) };
}

/** Only what the document itself holds: never a member that JavaScript gives to every object or list. */
function valueAt(value: JsonValue, token: string): JsonValue | undefined {
  if (Array.isArray(value)) return /^(0|[1-9]\d*)$/.test(token) ? value[Number(token)] : undefined;
  return isSchemaObject(value) && Object.hasOwn(value, token) ? value[token] : undefined;
}
