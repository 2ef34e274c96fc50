import { withFieldPaths } from "../../client/field-paths.ts";
import type { SDKError } from "../../core/errors.ts";
import type { GenerationOptions } from "../../gen/outrigger/v1/generation_pb.ts";

const MESSAGE = /^messages\[(\d+)\](.*)$/;

/** The schema in a request that asks for an object by its format. */
const FORMAT_SCHEMA = "response_format.schema_json";

const OBJECT_SCHEMA = "object.schema_json";

/** Names the fields of a model's request as the caller knows them: as fields of its GenerationOptions. */
export class RequestFields {
  readonly #options: GenerationOptions | undefined;
  readonly #path: string;
  /** Messages that are placed before the caller's messages. */
  readonly #added: readonly string[];
  /** Fields that hold the schema of an object that is generated. */
  readonly #schemaFields: readonly string[];

  /** @param path Path of the options in the caller's message. */
  constructor(options: GenerationOptions | undefined, path: string, schemaFields: readonly string[] = []) {
    const { prompt = "", system = "" } = options ?? {};
    this.#options = options;
    this.#path = path;
    this.#added = [...(system === "" ? [] : ["system"]), ...(prompt === "" ? [] : ["prompt"])];
    this.#schemaFields = schemaFields;
  }

  /**
   * Returns the names for a request for an object, whose schema is in the response format or in a tool after the
   * caller's tools.
   */
  forObject(): RequestFields {
    const tool = this.#options?.request?.tools.length ?? 0;
    const schemaFields = [FORMAT_SCHEMA, `tools[${tool}].function.parameters_json`];
    return new RequestFields(this.#options, this.#path, schemaFields);
  }

  /** Returns the error of a call of the model with the caller's field names. */
  rename(error: SDKError): SDKError {
    return withFieldPaths(error, (field) => this.#toPath(field));
  }

  #toPath(field: string): string {
    // A field of the generated object's options, which are separate from the request.
    if (field === "object" || field.startsWith("object.")) return field;
    const schema = this.#schemaFields.find((schemaField) => field.startsWith(schemaField));
    if (schema !== undefined) return `${OBJECT_SCHEMA}${field.slice(schema.length)}`;
    if (field === "request") return `${this.#path}.request`;
    const [, index, rest = ""] = MESSAGE.exec(field) ?? [];
    if (index === undefined) return `${this.#path}.request.${field}`;
    const added = this.#added[Number(index)];
    if (added !== undefined) return `${this.#path}.${added}`;
    return `${this.#path}.request.messages[${Number(index) - this.#added.length}]${rest}`;
  }
}
