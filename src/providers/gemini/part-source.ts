/**
 * The JSON text of an answer's parts as received. Text that a model wrote and a provider signed has to be sent back
 * unchanged, and parsing and writing it again would turn `1.0` into `1`.
 */
import { compactJson, splitElements, toMembers } from "../../kit/json/json-source.ts";

/** The JSON text of a candidate's parts. The text is split at the first call: plain text does not need it. */
export class PartSources {
  readonly #position: number;
  readonly #json: string;
  #sources: readonly string[] | undefined;

  /**
   * @param position Index of the candidate in `candidates`.
   * @param json The text of the GenerateContentResponse.
   */
  constructor(position: number, json: string) {
    this.#position = position;
    this.#json = json;
  }

  /** Returns the text of one part, without insignificant white space. @param index Index of the part in `parts`. */
  at(index: number): string {
    this.#sources ??= partSources(this.#position, this.#json);
    return compactJson(this.#sources[index] ?? "{}");
  }
}

/** Returns the arguments of a call as received; empty if there are none. @param source The part's text. */
export function getArgumentsText(source: string): string {
  const args = toMembers(toMembers(source).get("functionCall") ?? "").get("args");
  return args === undefined || args === "null" ? "" : args;
}

function partSources(position: number, json: string): readonly string[] {
  const candidate = splitElements(toMembers(json).get("candidates") ?? "")[position] ?? "";
  const content = toMembers(candidate).get("content") ?? "";
  return splitElements(toMembers(content).get("parts") ?? "");
}
