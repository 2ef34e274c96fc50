/** Our Request -> their body (provider documentation: "Create a message"). */

import type { ModelTraits } from "../../catalog/model-traits.ts";
import { invalidField } from "../../core/errors.ts";
import type { Request } from "../../gen/outrigger/v1/request_pb.ts";
import type { RequestBody } from "../../kit/adapter/request-context.ts";
import { LossReport } from "../../kit/call/loss-report.ts";
import { asJson, asObject, type JsonObject, mergeObjects, objectsIn, without } from "../../kit/json/json.ts";
import { SchemaBudget } from "../../kit/json-schema/limits.ts";
import {
  FIRST_VERSION_WITHOUT_SAMPLING,
  type MessageCreateParams,
  type Metadata,
  type OutputConfig,
  type OutputFormat,
} from "../../wire/anthropic-messages/request.ts";
import type { Untrusted } from "../../wire/untrusted.ts";
import { getBindingBetas, withBlockBinding } from "./block-binding.ts";
import { withBreakpoints } from "./cache.ts";
import { containerSettings } from "./container.ts";
import type { RequestContext, RequestSettings } from "./context.ts";
import { toConversation } from "./input.ts";
import { readOptions } from "./options.ts";
import { effectiveThinking, getMaxTokens, hasBudget, hasThinking, reasoningSettings } from "./reasoning.ts";
import { responseFormatSettings } from "./response-format.ts";
import { toolSettings } from "./tools.ts";

/** A request in the form that is sent. */
export interface BetaRequestBody extends RequestBody {
  /** Names for the header `anthropic-beta`. */
  readonly betas: readonly string[];
}

/**
 * Translates a request. The conversation is the last field of the body, so that the body of a turn begins with the
 * bytes of the previous turn.
 * @throws InvalidRequestError naming the part that the API has no form for, UnsupportedToolChoiceError; under
 *   LOSS_POLICY_REFUSE also InvalidRequestError for parts that would otherwise be changed or left out.
 */
export async function toRequestBody(
  request: Request,
  streaming: boolean,
  settings: RequestSettings,
): Promise<BetaRequestBody> {
  const loss = new LossReport();
  const traits = settings.models.traitsOf(request.model);
  const options = readOptions(request, settings.provider);
  const context = { ...settings, request, traits, options, loss, budget: new SchemaBudget() };
  const merged = await translate(context, streaming);
  loss.enforce(request.lossPolicy);
  if (objectsIn(merged.messages).length === 0)
    throw invalidField("messages", "expected at least one message with content after the instructions");
  const bound = withBlockBinding(merged, traits);
  const body = options.autoCache && settings.keepsBreakpoints !== true ? withBreakpoints(bound) : bound;
  const { messages } = body;
  return {
    body: asJson({ ...without(body, "messages"), messages }),
    betas: [...options.betas, ...getBindingBetas(body)],
    warnings: loss.warnings,
  };
}

/** Lists that provider options add to instead of replacing. */
const APPENDED_OPTIONS: readonly string[] = ["tools", "include"];

/** Leaves out settings with a `type` that the caller's options replace: two types cannot be merged. */
function withoutReplaced(body: JsonObject, options: JsonObject): JsonObject {
  const typed: readonly (keyof MessageCreateParams)[] = ["thinking", "tool_choice"];
  return without(body, ...typed.filter((key) => asObject(options[key])?.type !== undefined));
}

/** Returns the body with the caller's options. Undefined fields are not sent. */
async function translate(context: RequestContext, streaming: boolean): Promise<JsonObject> {
  const { request, traits, loss } = context;
  const { messages, system, container } = await toConversation(context);
  const { thinking, effort, options } = reasoningSettings(context, messages);
  const effective = effectiveThinking(thinking, options);
  const { format, instructions } = responseFormatSettings(context);
  const translated: Untrusted<MessageCreateParams> = {
    model: request.model,
    max_tokens: getMaxTokens(context, effective),
    stream: streaming ? true : undefined,
    thinking,
    output_config: outputConfig(effort, format),
    ...samplingSettings(context, hasThinking(effective, traits)),
    stop_sequences: stopSequences(request, loss),
    metadata: metadata(request, loss),
    ...containerSettings(container, context),
    ...toolSettings(context, hasBudget(effective)),
    system: unlessEmpty([...system, ...instructions]),
    messages,
  };
  return mergeObjects(withoutReplaced(asJson(translated), options), options, APPENDED_OPTIONS);
}

function unlessEmpty<Element>(list: readonly Element[]): readonly Element[] | undefined {
  return list.length === 0 ? undefined : list;
}

function outputConfig(
  effort: string | undefined,
  format: OutputFormat | undefined,
): Untrusted<OutputConfig> | undefined {
  return effort === undefined && format === undefined ? undefined : { effort, format };
}

/** The sampling parameters of a request. */
type SamplingSettings = Untrusted<Pick<MessageCreateParams, "temperature" | "top_p">>;

function samplingSettings(
  { request, traits, apiVersion, loss }: RequestContext,
  thinking: boolean,
): SamplingSettings {
  const { temperature, topP } = request;
  const isSupported =
    apiVersion < FIRST_VERSION_WITHOUT_SAMPLING &&
    (traits.sampling === "always" || (traits.sampling === "without_reasoning" && !thinking));
  if (isSupported) return supportedSampling(request, traits, loss);
  // 1 is the default.
  if (temperature !== undefined && temperature !== 1)
    loss.lose("temperature", "unsupported_setting", NO_SAMPLING);
  if (topP !== undefined && topP !== 1) loss.lose("top_p", "unsupported_setting", NO_SAMPLING);
  return {};
}

const NO_SAMPLING = "the model does not accept it in such a request; it was left out";

function supportedSampling(
  { temperature, topP }: Request,
  traits: ModelTraits,
  loss: LossReport,
): SamplingSettings {
  const isExclusive = traits.exclusiveSampling && temperature !== undefined && topP !== undefined;
  if (isExclusive)
    loss.lose(
      "top_p",
      "unsupported_setting",
      "the model accepts it only without temperature; it was left out",
    );
  if (temperature !== undefined && temperature > 1)
    loss.lose("temperature", "adjusted_setting", "the API accepts 0 to 1; 1 was sent");
  return {
    temperature: temperature === undefined ? undefined : Math.min(temperature, 1),
    top_p: isExclusive ? undefined : topP,
  };
}

function stopSequences(
  { stopSequences: sequences }: Request,
  loss: LossReport,
): readonly string[] | undefined {
  const kept = sequences.filter((sequence) => sequence.trim() !== "");
  if (kept.length < sequences.length) {
    const message = "the API does not accept a stop sequence of only white space; it was left out";
    loss.lose("stop_sequences", "unsupported_setting", message);
  }
  return unlessEmpty(kept);
}

function metadata({ metadata: pairs }: Request, loss: LossReport): Metadata | undefined {
  const { user_id: userId, ...rest } = pairs;
  if (Object.keys(rest).length > 0)
    loss.lose("metadata", "unsupported_setting", "the API accepts only user_id; the rest was left out");
  return userId === undefined ? undefined : { user_id: userId };
}
