import { type ModelOptions, type OptionName, optionDefinitions } from "./model-options.ts";
import { defaultsOf, isScriptName, type ScriptName } from "./script/scripts.ts";

/** What a model string chooses. */
export interface ModelChoice {
  /** The model string as the request named it; answers repeat it. */
  readonly model: string;
  readonly script: ScriptName;
  readonly options: ModelOptions;
}

/** How a model string can be wrong. */
export type ModelMistake =
  | { readonly kind: "unknown_model"; readonly model: string }
  | { readonly kind: "invalid_option"; readonly message: string };

/** Where model strings get their meaning besides their own words. */
export interface ModelNaming {
  /** Model strings by other names that stand for them. */
  readonly aliases: Readonly<Record<string, string>>;
  /** Options that hold where a model string does not set them. */
  readonly defaults: ModelOptions;
}

/**
 * Reads a model string: `sim-<script>` with, after a colon, options as `key=value` with commas between them. An alias is
 * replaced first.
 */
export function chooseModel(model: string, naming: ModelNaming): ModelChoice | ModelMistake {
  const meaning = Object.hasOwn(naming.aliases, model) ? (naming.aliases[model] ?? model) : model;
  const colon = meaning.indexOf(":");
  const script = (colon === -1 ? meaning : meaning.slice(0, colon)).replace(/^sim-/, "");
  if (!meaning.startsWith("sim-") || !isScriptName(script)) return { kind: "unknown_model", model };
  const options = readOptions(colon === -1 ? "" : meaning.slice(colon + 1));
  if (isMistake(options)) return options;
  return { model, script, options: { ...defaultsOf(script), ...naming.defaults, ...options } };
}

/** Whether what was read is a mistake. */
export function isMistake(choice: ModelChoice | ModelOptions | ModelMistake): choice is ModelMistake {
  return "kind" in choice;
}

/** Reads `key=value,key=value`. An empty text has no options. */
export function readOptions(text: string): ModelOptions | ModelMistake {
  const options: Record<string, unknown> = {};
  for (const entry of text.split(",").filter(Boolean)) {
    const [, name = "", value = ""] = /^([^=]*)=?(.*)$/s.exec(entry) ?? [];
    if (!isOptionName(name))
      return mistake(`Unknown option '${quote(name)}'`, Object.keys(optionDefinitions).join(", "));
    const definition = optionDefinitions[name];
    const read = definition.read(value);
    if (read === undefined)
      return mistake(`Invalid value '${quote(value)}' of option '${name}'`, definition.expected);
    options[name] = read;
  }
  return options;
}

function isOptionName(name: string): name is OptionName {
  return Object.hasOwn(optionDefinitions, name);
}

function mistake(what: string, expected: string): ModelMistake {
  return { kind: "invalid_option", message: `${what} in the model string. Expected ${expected}.` };
}

function quote(text: string): string {
  return text.length > 64 ? `${text.slice(0, 64)}…` : text;
}
