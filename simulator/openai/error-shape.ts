import type { ErrorObject } from "../../src/wire/openai-responses/error.ts";
import type { ModelOptions } from "../model-options.ts";

/** The `error` object of OpenAI's APIs. `param` is the path of the wrong parameter, such as `input[0].content`. */
export interface OpenAIError extends Readonly<Pick<ErrorObject, "message" | "type" | "param">> {
  readonly code: string | null;
}

/** Format of the errors of OpenAI's API, or of a server that is compatible with it. */
export type ErrorShape = NonNullable<ModelOptions["error_shape"]>;

/** Creates the body of an error. OpenAI's error repeats the status of a 401. */
export function shapeError(error: OpenAIError, status: number, shape: ErrorShape): object {
  const { message, type, param, code } = error;
  switch (shape) {
    case "openai":
      return status === 401 ? { error, status } : { error };
    case "numeric":
      return { error: { code: status, message, type } };
    case "top_level":
      return { object: "error", message, type, param, code: status };
    case "text":
      return {
        code: status < 500 ? "Client specified an invalid argument" : "Service error",
        error: message,
      };
    case "message":
      return { message };
    case "detail":
      return {
        detail: [{ type: code ?? type, loc: ["body", ...(param === null ? [] : [param])], msg: message }],
      };
    default:
      return shape satisfies never;
  }
}
