import { withFieldPaths } from "../../../client/field-paths.ts";
import type { SDKError } from "../../../core/errors.ts";
import type { GenerationOptions } from "../../../gen/outrigger/v1/generation_pb.ts";

const MESSAGE = /^messages\[(\d+)\](.*)$/;

/** Names the fields of a model's request as the caller knows them: as fields of its GenerationOptions. */
export class RequestFields {
  readonly #path: string;
  /** Messages that stand before those of the caller. */
  readonly #added: readonly string[];

  /** @param path Path of the options in the caller's message. */
  constructor({ prompt, system }: GenerationOptions, path: string) {
    this.#path = path;
    this.#added = [...(system === "" ? [] : ["system"]), ...(prompt === "" ? [] : ["prompt"])];
  }

  /** The error of a call of the model. */
  rename(error: SDKError): SDKError {
    return withFieldPaths(error, (field) => this.#pathOf(field));
  }

  #pathOf(field: string): string {
    // A field of the object that is generated, which stands beside the options.
    if (field === "object" || field.startsWith("object.")) return field;
    if (field === "request") return `${this.#path}.request`;
    const [, index, rest = ""] = MESSAGE.exec(field) ?? [];
    if (index === undefined) return `${this.#path}.request.${field}`;
    const added = this.#added[Number(index)];
    if (added !== undefined) return `${this.#path}.${added}`;
    return `${this.#path}.request.messages[${Number(index) - this.#added.length}]${rest}`;
  }
}
