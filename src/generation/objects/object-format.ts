import type { Request } from "../../gen/outrigger/v1/request_pb.ts";
import { ToolChoice_Mode } from "../../gen/outrigger/v1/request_pb.ts";
import type { JsonObject } from "../../kit/json/json.ts";

/** How a model is made to write an object. */
export type ObjectStrategy =
  /** The provider's structured output. */
  | "native"
  /** A tool whose parameters are the schema, and which the model must call. */
  | "tool"
  /** The schema in a system message. */
  | "prompt";

/** The object that is to be generated. */
export interface ObjectFormat {
  /** JSON Schema of the object, as text and parsed. */
  readonly schemaJson: string;
  readonly schema: JsonObject;
  /** Name of the object for the model. */
  readonly name: string;
  /** What the object is, for the model. May be empty. */
  readonly description: string;
  readonly strategy: ObjectStrategy;
}

/** What a client says about its models. A client without a method supports what it asks about. */
export interface ObjectSupport {
  supportsJsonSchema?(model: string, provider?: string): boolean;
  supportsToolChoice?(mode: ToolChoice_Mode, model: string, provider?: string): boolean;
}

/** Name of an object that has none. */
export const DEFAULT_OBJECT_NAME = "object";

/**
 * The strategy for a model: its structured output where it has one, else a tool where it can be made to call one, else
 * the prompt. Structured output and tools are made for objects, so that another schema is put into the prompt. Some
 * models cannot be made to call a tool while they reason, so a request that names an effort uses no tool.
 */
export function chooseStrategy(support: ObjectSupport, request: Request, schema: JsonObject): ObjectStrategy {
  const { model, provider, reasoningEffort } = request;
  if (!isObjectSchema(schema)) return "prompt";
  if (support.supportsJsonSchema?.(model, provider) ?? true) return "native";
  const canForceTool = support.supportsToolChoice?.(ToolChoice_Mode.NAMED, model, provider) ?? true;
  return canForceTool && reasoningEffort === "" ? "tool" : "prompt";
}

/** Whether a schema is that of an object, as the parameters of a tool have to be. */
export function isObjectSchema(schema: JsonObject): boolean {
  return schema.type === "object";
}
