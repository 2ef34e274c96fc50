/** Reasoning effort -> what the server's API steers reasoning with. */
import { effortFor } from "../../kit/adapter/effort.ts";
import type { JsonObject } from "../../kit/json/json.ts";
import type { RequestContext } from "./context.ts";

/** The settings that ask for an effort; none where the caller asks for none. */
export function effortSettings(context: RequestContext): JsonObject {
  const { request, profile } = context;
  const wanted = request.reasoningEffort;
  if (wanted === "") return {};
  const isOn = wanted !== "none";
  switch (profile.thinkingFormat) {
    case "openai":
      return effortField(context);
    case "openrouter":
      return { reasoning: { effort: wanted } };
    case "deepseek":
      return { thinking: { type: isOn ? "enabled" : "disabled" }, ...(isOn ? levelField(context) : {}) };
    case "qwen":
      if (isOn) noteNoLevels(context);
      return { enable_thinking: isOn };
    case "template":
      return { chat_template_kwargs: { enable_thinking: isOn }, ...(isOn ? levelField(context) : {}) };
    case "none":
      context.loss.lose("reasoning_effort", "unsupported_setting", NOT_STEERED);
      return {};
  }
}

const NOT_STEERED = "the server has no such setting; it was left out";

function effortField({ request, profile, traits, loss }: RequestContext): JsonObject {
  const effort = effortFor(request.reasoningEffort, profile.efforts ?? traits.reasoningEfforts, loss);
  return effort === undefined ? {} : { reasoning_effort: effort };
}

/** The level beside a switch that is on. */
function levelField(context: RequestContext): JsonObject {
  const { request, profile, loss } = context;
  const levels = profile.efforts?.filter((effort) => effort !== "none");
  if (levels?.length === 0) {
    noteNoLevels(context);
    return {};
  }
  const effort = effortFor(request.reasoningEffort, levels, loss);
  return effort === undefined ? {} : { reasoning_effort: effort };
}

function noteNoLevels({ loss }: RequestContext): void {
  loss.lose(
    "reasoning_effort",
    "adjusted_setting",
    "the server reasons or does not; reasoning was turned on",
  );
}
