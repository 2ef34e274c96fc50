/** Our Request -> the arguments, the files and the input of the program. Pure. */
import { invalidField, UnsupportedToolChoiceError } from "../../core/errors.ts";
import {
  ResponseFormat_Type as Format,
  ToolChoice_Mode as Mode,
  type Request,
} from "../../gen/outrigger/v1/request_pb.ts";
import type { Warning } from "../../gen/outrigger/v1/response_pb.ts";
import { effortFor } from "../../kit/adapter/effort.ts";
import { LossReport } from "../../kit/call/loss-report.ts";
import { asObject, tryParseJson } from "../../kit/json/json.ts";
import { statesOtherRoot } from "../../kit/json-schema/wrap-schema.ts";
import { ImageFiles, type ProgramArgument, withFile } from "./files.ts";
import { toPrompt } from "./input.ts";
import {
  type CommandAdapterOptions,
  EFFORT_ARGUMENT,
  IMAGES_ARGUMENT,
  MODEL_ARGUMENT,
  SCHEMA_ARGUMENT,
} from "./settings.ts";

/** The input for starting a program. */
export interface ProgramInput {
  readonly args: readonly ProgramArgument[];
  /** For its standard input. */
  readonly input: string;
  /** Notes about parts of the request that were changed or left out. */
  readonly warnings: Warning[];
}

/** The options that say how a request is written. */
type RequestOptions = Pick<CommandAdapterOptions, "command" | "prompt" | "efforts" | "images" | "schema"> & {
  readonly provider: string;
};

/** A word that cannot be read as an option by a program, or as syntax by a shell. */
const MODEL = /^[A-Za-z0-9][A-Za-z0-9._:/@+-]{0,255}$/;

/** Maximum bytes of one argument. Linux takes 128 KiB. */
const MAX_ARGUMENT_BYTES = 120 * 1024;

/**
 * Translates a request.
 * @throws InvalidRequestError naming the part that the program cannot get; under LOSS_POLICY_REFUSE also parts that
 *   would otherwise be changed or left out. UnsupportedToolChoiceError if the model must call a tool.
 */
export function toProgramInput(request: Request, options: RequestOptions): ProgramInput {
  const loss = new LossReport();
  refuseForcedTools(request);
  reportSettings(request, options.provider, loss);
  const { provider, images: imageArguments } = options;
  const schema = schemaArguments(request, options.schema);
  const images = imageArguments && new ImageFiles();
  const prompt = toPrompt({ request, provider, loss, images, hasSchema: schema.length > 0 });
  const [, ...template] = options.command;
  const efforts = effortArguments(request, options.efforts, loss);
  const args = template.flatMap((argument): readonly ProgramArgument[] => {
    switch (argument) {
      case MODEL_ARGUMENT:
        return [getModel(request)];
      case EFFORT_ARGUMENT:
        return efforts;
      case IMAGES_ARGUMENT:
        return images?.files.flatMap((file) => withFile(imageArguments ?? [], file)) ?? [];
      case SCHEMA_ARGUMENT:
        return schema;
      default:
        return [argument];
    }
  });
  loss.enforce(request.lossPolicy);
  const { warnings } = loss;
  if (options.prompt !== "argument") return { args, input: prompt, warnings };
  // Arguments after `--` are never read as options.
  return { args: [...args, "--", asArgument(prompt)], input: "", warnings };
}

function refuseForcedTools({ toolChoice }: Request): void {
  if (toolChoice?.mode === Mode.REQUIRED || toolChoice?.mode === Mode.NAMED)
    throw new UnsupportedToolChoiceError("a program cannot call the caller's tools");
}

/** Reports the settings that no program takes. */
function reportSettings(request: Request, provider: string, loss: LossReport): void {
  const given: Readonly<Record<string, boolean>> = {
    tools: request.tools.length > 0,
    temperature: request.temperature !== undefined,
    top_p: request.topP !== undefined,
    max_tokens: request.maxTokens !== undefined,
    stop_sequences: request.stopSequences.length > 0,
    metadata: Object.keys(request.metadata).length > 0,
    [`provider_options_json["${provider}"]`]: Object.hasOwn(request.providerOptionsJson, provider),
  };
  for (const [field, isGiven] of Object.entries(given))
    if (isGiven) loss.lose(field, "unsupported_setting", "a program has no such setting; it was left out");
}

function getModel({ model }: Request): string {
  if (MODEL.test(model)) return model;
  throw invalidField("model", "expected letters, digits and ._:/@+-, beginning with a letter or digit");
}

function effortArguments(
  { reasoningEffort }: Request,
  efforts: CommandAdapterOptions["efforts"],
  loss: LossReport,
): readonly string[] {
  if (reasoningEffort === "") return [];
  if (efforts === undefined) {
    loss.lose(
      "reasoning_effort",
      "unsupported_setting",
      "the program has no setting for the effort; it was left out",
    );
    return [];
  }
  const effort = effortFor(reasoningEffort, Object.keys(efforts), loss);
  if (effort === undefined) return [];
  if (Object.hasOwn(efforts, effort)) return efforts[effort] ?? [];
  throw invalidField("reasoning_effort", `expected one of ${Object.keys(efforts).join(", ")}`);
}

/**
 * Returns the arguments for the schema of the answer. Empty if the request has none, or the program takes none. Codex
 * CLI passes its schema on to OpenAI's API, which requires an object.
 */
function schemaArguments(
  { responseFormat }: Request,
  args: readonly string[] | undefined,
): readonly ProgramArgument[] {
  if (args === undefined || responseFormat?.type !== Format.JSON_SCHEMA) return [];
  const { schemaJson } = responseFormat;
  const schema = asObject(tryParseJson(schemaJson));
  if (schema !== undefined && statesOtherRoot(schema)) return [];
  return withFile(args, { name: "schema.json", content: schemaJson });
}

function asArgument(prompt: string): string {
  if (prompt.includes("\0")) throw invalidField("messages", "expected text without NUL characters");
  const bytes = Buffer.byteLength(prompt);
  if (bytes <= MAX_ARGUMENT_BYTES) return prompt;
  throw invalidField(
    "messages",
    `expected at most ${MAX_ARGUMENT_BYTES} bytes, the longest argument of a program, found ${bytes}`,
  );
}
