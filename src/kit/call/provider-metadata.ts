import { measureMemory } from "../../core/measure-memory.ts";
import { isEmpty, isObject, type JsonObject } from "../json/json.ts";

/** Maximum characters of the metadata of one answer. */
const MAX_METADATA_CHARS = 64 * 1024;

/**
 * Collects what a provider reports alongside its answer and what has no unified form, for
 * `Response.provider_metadata_json`. Chunks of a stream repeat members, or complete them.
 */
export class ProviderMetadata {
  // Without a prototype, which a member named `__proto__` would replace.
  readonly #members: Record<string, unknown> = Object.create(null);
  readonly #bytes = new Map<string, number>();

  /** Adds a member, in place of an earlier value. Returns the additional memory that it takes, in bytes. */
  add(name: string, value: unknown): number {
    const known = this.#members[name];
    const given = isObject(value) ? withContent(value) : value;
    if (!hasContent(given) || known === given) return 0;
    this.#members[name] = isObject(known) && isObject(given) ? { ...known, ...given } : given;
    return this.#grow(name, name.length + measureMemory(this.#members[name]));
  }

  /** Returns the members as JSON text; empty if there are none. Members that would exceed the limit are left out. */
  toJson(): string {
    const members: string[] = [];
    let chars = 2;
    for (const name in this.#members) {
      const member = `${JSON.stringify(name)}:${JSON.stringify(this.#members[name])}`;
      if (chars + member.length + 1 > MAX_METADATA_CHARS) continue;
      chars += member.length + 1;
      members.push(member);
    }
    return members.length === 0 ? "" : `{${members.join(",")}}`;
  }

  #grow(name: string, bytes: number): number {
    const added = Math.max(0, bytes - (this.#bytes.get(name) ?? 0));
    if (added > 0) this.#bytes.set(name, bytes);
    return added;
  }
}

function hasContent(value: unknown): boolean {
  if (value === undefined || value === null || value === "") return false;
  return Array.isArray(value) ? value.length > 0 : !isObject(value) || !isEmpty(value);
}

function withContent(object: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => hasContent(value)));
}
