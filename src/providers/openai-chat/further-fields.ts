/**
 * Objects and lists in a message that have no unified form: what the server did for the answer, for instance the tools
 * that it ran (Groq documentation: "Compound", `executed_tools`) or the documents that it found (Azure documentation:
 * "Use your data", `context`).
 */
import { isDeepStrictEqual } from "node:util";
import { measureMemory } from "../../core/memory-pool.ts";
import { isEmpty, isObject, type JsonObject, type JsonValue, objectsIn } from "../../kit/json/json.ts";
import type { AnyMessage, FoundDocument } from "../../wire/openai-chat/message.ts";
import type { Untrusted } from "../../wire/untrusted.ts";

/** Fields that are read elsewhere, and fields of proxies and SDKs that repeat others. */
const READ_ELSEWHERE: ReadonlySet<string> = new Set<keyof AnyMessage | "parsed" | "provider_specific_fields">(
  [
    "annotations",
    "audio",
    "content",
    "extra_content",
    "function_call",
    "images",
    "parsed",
    "provider_specific_fields",
    "reasoning_details",
    "reasoning_items",
    "thinking_blocks",
    "tool_calls",
  ],
);

type MutableObject = Record<string, JsonValue | undefined>;

/** Joins these fields of the deltas of one message. */
export class FurtherFields {
  readonly #objects = new Map<string, MutableObject>();
  readonly #lists = new Map<string, MutableObject[]>();

  /** Adds the fields of a delta, or of a whole message. Returns the memory that they take, in bytes. */
  add(delta: Untrusted<AnyMessage>): number {
    let bytes = 0;
    for (const name in delta) {
      const value: unknown = delta[name as keyof typeof delta];
      if (typeof value !== "object" || value === null || READ_ELSEWHERE.has(name)) continue;
      if (isObject(value)) {
        bytes += measureMemory(value);
        // Without a prototype, which a member named `__proto__` would replace.
        const known: MutableObject = this.#objects.get(name) ?? Object.create(null);
        this.#objects.set(name, Object.assign(known, value));
      } else bytes += this.#addEntries(name, objectsIn(value));
    }
    return bytes;
  }

  /** Returns the fields with content, each as an object with its name as the key. */
  *[Symbol.iterator](): Generator<readonly [name: string, field: JsonObject]> {
    for (const [name, value] of this.#objects) if (!isEmpty(value)) yield [name, { [name]: value }];
    for (const [name, value] of this.#lists) yield [name, { [name]: value }];
  }

  /** The documents in `context`. */
  get documents(): readonly Untrusted<FoundDocument>[] {
    return objectsIn(this.#objects.get("context")?.citations);
  }

  /** A later delta may complete an entry, whose index it repeats. Returns the memory of new entries, in bytes. */
  #addEntries(name: string, entries: readonly JsonObject[]): number {
    if (entries.length === 0) return 0;
    const known = this.#lists.get(name) ?? [];
    this.#lists.set(name, known);
    // Some servers repeat a list so far in each delta.
    const isRepeated = isDeepStrictEqual(entries.slice(0, known.length), known);
    const added = isRepeated ? entries.slice(known.length) : entries;
    for (const entry of added) {
      const last = known.at(-1);
      const completes = last !== undefined && entry.index !== undefined && entry.index === last.index;
      if (completes) Object.assign(last, withoutEmpty(entry));
      else known.push({ ...entry });
    }
    return added.length === 0 ? 0 : measureMemory(added);
  }
}

function withoutEmpty(entry: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(entry).filter(([, value]) => (value ?? "") !== ""));
}
