/** Reasoning effort -> the settings by which the server's API controls reasoning. */
import { effortFor } from "../../kit/adapter/effort.ts";
import type { ReasoningSettings } from "../../wire/openai-chat/request.ts";
import type { RequestContext } from "./context.ts";

/** Returns the settings for the effort that the caller asks for, and those that the server needs in every request. */
export function reasoningSettings(context: RequestContext): ReasoningSettings {
  const { request, profile } = context;
  const wanted = request.reasoningEffort;
  const always = profile.reasoningFormat === "minimax" ? { reasoning_split: true } : {};
  if (wanted === "") return always;
  const isOn = wanted !== "none";
  switch (profile.reasoningFormat) {
    case "openai":
      return effortField(context);
    case "openrouter":
      return { reasoning: { effort: wanted } };
    case "deepseek":
      return {
        thinking: { type: isOn ? "enabled" : "disabled" },
        ...(isOn ? effortBesideSwitch(context) : {}),
      };
    case "qwen":
      if (isOn) loseEffort(context);
      return { enable_thinking: isOn };
    case "minimax":
      if (isOn) loseEffort(context);
      return { ...always, thinking: { type: isOn ? "adaptive" : "disabled" } };
    case "template":
      return {
        chat_template_kwargs: { enable_thinking: isOn },
        ...(isOn ? effortBesideSwitch(context) : {}),
      };
    case "none":
      context.loss.lose("reasoning_effort", "unsupported_setting", NO_SETTING);
      return {};
  }
}

const NO_SETTING = "the server has no such setting; it was left out";

function effortField({ request, profile, traits, loss }: RequestContext): ReasoningSettings {
  const effort = effortFor(request.reasoningEffort, profile.efforts ?? traits.reasoningEfforts, loss);
  return effort === undefined ? {} : { reasoning_effort: effort };
}

/** Returns the effort that accompanies an enabled switch. */
function effortBesideSwitch(context: RequestContext): ReasoningSettings {
  const { request, profile, loss } = context;
  const efforts = profile.efforts?.filter((effort) => effort !== "none");
  if (efforts?.length === 0) {
    loseEffort(context);
    return {};
  }
  const effort = effortFor(request.reasoningEffort, efforts, loss);
  return effort === undefined ? {} : { reasoning_effort: effort };
}

function loseEffort({ loss }: RequestContext): void {
  loss.lose(
    "reasoning_effort",
    "adjusted_setting",
    "the server can only turn reasoning on or off; it was turned on",
  );
}
