/**
 * Parts of an answer as the provider spelled them: what a model wrote and a provider signed has
 * to come back letter by letter, and parsing alone would turn `1.0` into `1`.
 */
import { asObject, objectIn } from "../../kit/json/json.ts";
import { elementsOf, membersOf } from "../../kit/json/json-source.ts";
import type { Candidate, Part } from "./wire.ts";

/** A part and its spelling. */
export interface SpelledPart {
  readonly part: Part;
  /** Its JSON text without white space, which the API puts in for people. Made when it is asked for: text needs none. */
  readonly spell: () => string;
}

/**
 * The parts of a candidate.
 * @param place Of the candidate in `candidates`.
 * @param json The text of the GenerateContentResponse.
 */
export function partsOf(candidate: Candidate, place: number, json: string): SpelledPart[] {
  const { parts } = objectIn(candidate.content);
  if (!Array.isArray(parts)) return [];
  let sources: readonly string[] | undefined;
  const spell = (index: number) => {
    sources ??= sourcesOf(place, json);
    return compact(sources[index] ?? "{}");
  };
  return parts.flatMap((entry: unknown, index) => {
    const part = asObject(entry);
    return part === undefined ? [] : [{ part, spell: () => spell(index) }];
  });
}

/** The arguments of a call as they are spelled; empty where there are none. @param source The part's text. */
export function argumentsIn(source: string): string {
  const args = membersOf(membersOf(source).get("functionCall") ?? "").get("args");
  return args === undefined || args === "null" ? "" : args;
}

function sourcesOf(place: number, json: string): readonly string[] {
  const candidate = elementsOf(membersOf(json).get("candidates") ?? "")[place] ?? "";
  const content = membersOf(candidate).get("content") ?? "";
  return elementsOf(membersOf(content).get("parts") ?? "");
}

/** JSON text without the white space between its tokens. */
function compact(json: string): string {
  if (json.startsWith("[")) return `[${elementsOf(json).map(compact).join(",")}]`;
  if (!json.startsWith("{")) return json;
  const members = [...membersOf(json)].map(([key, value]) => `${JSON.stringify(key)}:${compact(value)}`);
  return `{${members.join(",")}}`;
}
