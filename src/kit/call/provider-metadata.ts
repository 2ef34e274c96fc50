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

  /**
   * Returns the members as JSON text, sorted, so that it is the same whole and streamed; empty if there are none. Members
   * that would exceed the limit are left out.
   */
  toJson(): string {
    const members: string[] = [];
    let chars = 2;
    for (const name of Object.keys(this.#members).sort()) {
      const member = `${JSON.stringify(name)}:${JSON.stringify(sorted(this.#members[name]))}`;
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

/**
 * Returns the members of an answer as `Response.provider_metadata_json`.
 * @param readElsewhere Members that have a unified form.
 */
export function toMetadataJson(members: object, readElsewhere: ReadonlySet<string>): string {
  const metadata = new ProviderMetadata();
  for (const [name, value] of Object.entries(members))
    if (!readElsewhere.has(name)) metadata.add(name, value);
  return metadata.toJson();
}

/**
 * Returns counts if they say more than the contract has fields for.
 * @param unified Counts that it has fields for.
 */
export function furtherCounts(counts: unknown, unified: ReadonlySet<string>): JsonObject | undefined {
  if (!isObject(counts)) return undefined;
  return Object.entries(counts).some(([name, value]) => !unified.has(name) && hasContent(value))
    ? counts
    : undefined;
}

/** Returns a value whose objects have their members in the order of their names. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isObject(value)) return value;
  const names = Object.keys(value).sort();
  return Object.fromEntries(names.map((name) => [name, sorted(value[name])]));
}

function hasContent(value: unknown): boolean {
  if (value === undefined || value === null || value === "") return false;
  return Array.isArray(value) ? value.length > 0 : !isObject(value) || !isEmpty(value);
}

function withContent(object: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => hasContent(value)));
}
