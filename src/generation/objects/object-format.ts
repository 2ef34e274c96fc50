import type { Request } from "../../gen/outrigger/v1/request_pb.ts";
import { ToolChoice_Mode } from "../../gen/outrigger/v1/request_pb.ts";
import type { JsonObject } from "../../kit/json/json.ts";
import { wrapSchema } from "../../kit/json-schema/wrap-schema.ts";
import type { ObjectSupport } from "../loop/model-calls.ts";

/** How a model is made to write an object. */
export type ObjectStrategy =
  /** The provider's structured output. */
  | "native"
  /** A tool whose parameters are the schema, and which the model must call. */
  | "tool"
  /** The schema in a system message. */
  | "prompt";

/** The format of the object to generate. */
export interface ObjectFormat {
  /** JSON Schema of the object, as text and parsed. */
  readonly schemaJson: string;
  readonly schema: JsonObject;
  /** Name of the object for the model. */
  readonly name: string;
  /** Description of the object for the model. May be empty. */
  readonly description: string;
  readonly strategy: ObjectStrategy;
  /** Whether the value is in the member `value` of the object that the model writes, see `wrapSchema`. */
  readonly isWrapped?: boolean | undefined;
}

/** Default name of an object. */
export const DEFAULT_OBJECT_NAME = "object";

/**
 * Chooses the strategies for a model: its structured output if it has one, else a tool if it can be made to call one,
 * else the prompt. Structured output and tools are made for objects, so a schema of another value is wrapped in one, or
 * is put into the prompt if it cannot be. Some models cannot be made to call a tool while they reason, so a request
 * with a reasoning effort uses no tool.
 * @returns The strategies in the order in which they are tried: a server may refuse structured output.
 */
export function chooseStrategies(
  support: ObjectSupport,
  request: Request,
  schema: JsonObject,
): readonly [ObjectStrategy, ...ObjectStrategy[]] {
  const { model, provider, reasoningEffort } = request;
  if (!isObjectSchema(schema) && wrapSchema(schema, WRAPPED_MEMBER) === undefined) return ["prompt"];
  const canForceTool = support.supportsToolChoice?.(ToolChoice_Mode.NAMED, model, provider) ?? true;
  const other = canForceTool && reasoningEffort === "" ? "tool" : "prompt";
  return (support.supportsJsonSchema?.(model, provider) ?? true) ? ["native", other] : [other];
}

/** The member of a wrapping object that has the value. */
export const WRAPPED_MEMBER = "value";

/** Whether a schema describes an object, as the parameters of a tool must. */
export function isObjectSchema(schema: JsonObject): boolean {
  return schema.type === "object";
}
