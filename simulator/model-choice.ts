import { type ModelOptions, type OptionName, optionDefinitions } from "./model-options.ts";
import { getDefaults, isScriptName, type ScriptName, scripts } from "./script/scripts.ts";

/** The selection of a model string. */
export interface ModelChoice {
  /** The model string as named in the request; answers repeat it. */
  readonly model: string;
  readonly script: ScriptName;
  readonly options: ModelOptions;
}

/** An error in a model string. */
export type ModelMistake =
  | { readonly kind: "unknown_model"; readonly model: string }
  | { readonly kind: "invalid_option"; readonly message: string };

/** The settings that determine the meaning of a model string besides the string itself. */
export interface ModelNaming {
  /** Model strings by their other names. */
  readonly aliases: Readonly<Record<string, string>>;
  /** Options that apply if a model string does not set them. */
  readonly defaults: ModelOptions;
}

/**
 * Reads a model string: `sim-<script>`, optionally followed by a colon and comma-separated `key=value` options. An
 * alias is replaced first.
 */
export function chooseModel(model: string, naming: ModelNaming): ModelChoice | ModelMistake {
  const meaning = Object.hasOwn(naming.aliases, model) ? (naming.aliases[model] ?? model) : model;
  const colon = meaning.indexOf(":");
  const script = (colon === -1 ? meaning : meaning.slice(0, colon)).replace(/^sim-/, "");
  if (!meaning.startsWith("sim-") || !isScriptName(script)) return { kind: "unknown_model", model };
  const options = readOptions(colon === -1 ? "" : meaning.slice(colon + 1));
  if (isModelMistake(options)) return options;
  return { model, script, options: { ...getDefaults(script), ...naming.defaults, ...options } };
}

/** Returns the names that lists of models show: each script without options, and the aliases. */
export function modelNames({ aliases }: Pick<ModelNaming, "aliases">): string[] {
  return [...Object.keys(scripts).map((script) => `sim-${script}`), ...Object.keys(aliases)];
}

/** Reports whether the result of reading a model string is an error. */
export function isModelMistake(choice: ModelChoice | ModelOptions | ModelMistake): choice is ModelMistake {
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
