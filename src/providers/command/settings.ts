/** The settings of a local program that is used as a provider. */

import type { AnswerLimits } from "../../kit/call/answer-limits.ts";
import type { HttpTimeouts } from "../../kit/http/timeouts.ts";

/** Formats of a program's output. */
export const commandFormats = ["text", "json-lines", "codex"] as const;

/**
 * Format of a program's output: `text` is the answer itself; `json-lines` has a JSON object in each line, or text;
 * `codex` is the output of `codex exec --json`.
 */
export type CommandFormat = (typeof commandFormats)[number];

/** Ways to give a program its prompt. */
export const promptWays = ["stdin", "argument"] as const;

/** How a program gets its prompt: over its standard input, or as its last argument, after `--`. */
export type PromptWay = (typeof promptWays)[number];

/** Options of the adapter of a local program. */
export interface CommandAdapterOptions {
  /**
   * The program, by its absolute path, and its arguments. An argument `{model}` is replaced by the model of the
   * request, an argument `{effort}` by the arguments that `efforts` has for the effort of the request. No shell is
   * involved.
   */
  readonly command: readonly string[];
  /** Format of its output. */
  readonly format: CommandFormat;
  /** Name under which the adapter is registered. Default `command`. */
  readonly name?: string | undefined;
  /** Default `stdin`: arguments are visible to every process of the machine. */
  readonly prompt?: PromptWay | undefined;
  /** The program's environment. It gets no variable of the sidecar; PATH and HOME have defaults. */
  readonly environment?: Readonly<Record<string, string>> | undefined;
  /** Absolute path of the working directory. Default: an empty folder for each call, which is removed afterwards. */
  readonly folder?: string | undefined;
  /** Arguments by reasoning effort, instead of the argument `{effort}`. */
  readonly efforts?: Readonly<Record<string, readonly string[]>> | undefined;
  /**
   * Arguments for each image, instead of the argument `{images}`; `{file}` among them is the path of the image. Without
   * them a request with images is refused.
   */
  readonly images?: readonly string[] | undefined;
  /**
   * Arguments for the JSON Schema of the answer, instead of the argument `{schema}`; `{file}` among them is the path of
   * the schema. Without them the schema is in the prompt.
   */
  readonly schema?: readonly string[] | undefined;
  /** Maximum number of processes of the program at the same time; a further call is refused. Default 4. */
  readonly maxProcesses?: number | undefined;
  /** Whether the program connects only to this machine and private networks, which is not checked. Default false. */
  readonly local?: boolean | undefined;
  /** Refuses a program without `local`. Default false. */
  readonly localOnly?: boolean | undefined;
  /** Time limits; those left out keep their defaults. `connectMs` is not used. */
  readonly timeouts?: Partial<HttpTimeouts> | undefined;
  /** Limits of each answer; those left out keep their defaults. */
  readonly answerLimits?: Partial<AnswerLimits> | undefined;
}

/** The default of `maxProcesses`. An agent takes a good part of a core and some hundred MB. */
export const DEFAULT_MAX_PROCESSES = 4;

/** The program's environment unless the options say otherwise. */
export const DEFAULT_ENVIRONMENT: Readonly<Record<string, string>> = {
  PATH: "/usr/local/bin:/usr/bin:/bin",
  LANG: "C.UTF-8",
};

/** Argument that stands for the model. */
export const MODEL_ARGUMENT = "{model}";

/** Argument that is replaced by the arguments for the effort. */
export const EFFORT_ARGUMENT = "{effort}";

/** Argument that is replaced by the arguments for all images. */
export const IMAGES_ARGUMENT = "{images}";

/** Argument that is replaced by the arguments for the schema. */
export const SCHEMA_ARGUMENT = "{schema}";

/** Argument for an image or a schema that stands for the path of the file. */
export const FILE_ARGUMENT = "{file}";
