import { unescape as decode } from "node:querystring";
import { isObject, type JsonObject, type JsonValue } from "../json/json.ts";
import { pointerBelow } from "./messages.ts";

/** A schema that a reference leads to. */
export interface Target {
  readonly schema: JsonValue;
  /** The last key on the path to the schema. */
  readonly key: string;
  /** The schema's location in the document, for messages. */
  readonly pointer: string;
}

/** Returns the reference of a schema. Within one document, dynamic references are plain references. */
export function getReference({ $ref, $dynamicRef, $recursiveRef }: JsonObject): string | undefined {
  return [$ref, $dynamicRef, $recursiveRef].find((reference) => typeof reference === "string");
}

/**
 * Resolves the references of one document: by JSON Pointer, by anchor, and by `$id` as it is
 * spelled. A pointer or anchor alone is looked up in the document, also inside of schemas with an `$id`.
 */
export class References {
  /** Schemas by `$id`, the document by an empty one, and by anchor with `#` before it, as draft 7 has it in `$id`. */
  readonly #named = new Map<string, Target>();

  constructor(root: JsonObject) {
    const open: Target[] = [{ schema: root, key: "", pointer: "" }];
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      const { $id = "", $anchor = "", $dynamicAnchor = "" } = next.schema as JsonObject;
      const names = ["", String($id).replace(/#$/, ""), `#${String($anchor)}`, `#${String($dynamicAnchor)}`];
      for (const name of names) if (!this.#named.has(name)) this.#named.set(name, next);
      for (const key of Object.keys(next.schema as JsonObject)) {
        const member = findMember(next, key);
        if (typeof member?.schema === "object" && member.schema !== null) open.push(member);
      }
    }
  }

  /** Returns the target of a schema's reference; undefined if it leads out of the document or to no schema. */
  resolve(schema: JsonObject): Target | undefined {
    const [id = "", encoded = ""] = getReference(schema)?.split(/#(.*)/s) ?? [];
    const fragment = decode(encoded);
    if (fragment !== "" && !fragment.startsWith("/")) return this.#named.get(`#${fragment}`);
    let target = this.#named.get(id);
    // Token by token: a pointer may have millions, and leads nowhere at one of the first.
    for (let slash = 0; target !== undefined && slash < fragment.length; ) {
      const next = fragment.indexOf("/", slash + 1);
      const end = next < 0 ? fragment.length : next;
      const token = fragment.slice(slash + 1, end);
      target = findMember(target, token.replaceAll("~1", "/").replaceAll("~0", "~"));
      slash = end;
    }
    return isObject(target?.schema) || typeof target?.schema === "boolean" ? target : undefined;
  }
}

/** Finds a member of the document itself, never one that JavaScript gives to every object or list. */
function findMember({ schema, pointer }: Target, key: string): Target | undefined {
  const isItem = Array.isArray(schema) && /^(0|[1-9]\d*)$/.test(key);
  const isMember = isObject(schema) && Object.hasOwn(schema, key);
  const value = isItem || isMember ? (schema as JsonObject)[key] : undefined;
  return value === undefined ? undefined : { schema: value, key, pointer: pointerBelow(pointer, key) };
}
