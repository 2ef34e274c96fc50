import type { MiddlewareMethods } from "../client/middleware.ts";
import { quote } from "../client/violations.ts";
import { lazyBatches } from "../core/batches.ts";
import type { Caller } from "../core/caller.ts";
import { AccessDeniedError, type SDKError } from "../core/errors.ts";
import { EventStream } from "../core/event-stream.ts";
import { parseJsonText } from "../core/json-text.ts";
import type { Request } from "../gen/outrigger/v1/request_pb.ts";
import { chooseMiddleware } from "./choose-middleware.ts";

/**
 * Refuses calls of models that the caller may not use. Put it inside the middleware that resolves the provider and the
 * model, and around every cache.
 */
export function createModelAccess(): Required<MiddlewareMethods> {
  return chooseMiddleware((request, { caller }) => {
    const denial = findDenial(request, caller);
    if (denial === undefined) return undefined;
    const fail = async () => Promise.reject(denial);
    return { complete: fail, stream: () => new EventStream(lazyBatches(fail)) };
  });
}

/** Reports whether an error is a refusal by this middleware, as opposed to a provider's. */
export function isDenial(error: SDKError): boolean {
  return error instanceof AccessDeniedError && error.provider === "";
}

function findDenial(request: Request, caller: Caller | undefined): AccessDeniedError | undefined {
  if (caller === undefined || !caller.isRestricted) return undefined;
  const { provider, model } = request;
  const isDenied = (name: string) => !caller.allowsModel(provider, name);
  if (isDenied(model)) return deniedModel(caller, provider, model);
  for (const choice of modelChoices(request)) {
    if (choice.models === undefined) return deniedOption(caller, choice.field);
    const denied = choice.models.find(isDenied);
    if (denied !== undefined) return deniedModel(caller, provider, denied);
  }
  return undefined;
}

function deniedModel({ name }: Caller, provider: string, model: string): AccessDeniedError {
  return new AccessDeniedError(
    `the caller ${name} may not use the model ${quote(model)} of ${quote(provider)}`,
  );
}

function deniedOption({ name }: Caller, field: string): AccessDeniedError {
  const reason = "it can choose another model, and the caller is limited to some models";
  return new AccessDeniedError(`the caller ${name} may not set the option "${field}": ${reason}`);
}

/** A field of the provider's settings that decides about the model. */
interface ModelChoice {
  /** Path of the field, below the settings. */
  readonly field: string;
  /** The model that it names. Undefined if it may choose any. */
  readonly models: readonly string[] | undefined;
}

/** Returns the choices of models in the settings for providers and for their tools. */
function modelChoices({ providerOptionsJson, tools }: Request): ModelChoice[] {
  const texts = Object.values(providerOptionsJson);
  for (const { tool } of tools) if (tool.case === "hosted") texts.push(tool.value.configJson);
  return texts.flatMap((text) => collectModelChoices(parseOptions(text)));
}

/** Parses options of any depth: a choice must not be hidden below the levels that are read elsewhere. */
function parseOptions(text: string): unknown {
  try {
    return parseJsonText(text);
  } catch {
    return undefined;
  }
}

/**
 * Names of fields, in lower case and without separators, by which servers choose among models: LiteLLM's `fallbacks`,
 * `context_window_fallbacks`, `router_settings`, `model_list` and `user_config`, OpenRouter's `models`, `route` and
 * `preset`, and their like.
 */
const CHOICE =
  /^(?:.*models|.*fallbacks?|fallbackmodel|model(?:list|group\w*|alias\w*)|rout(?:e|er)|router\w*settings\w*|preset|userconfig)$/;

/** Fields with a JSON Schema, whose properties may have any names. */
const SCHEMA =
  /^(?:parameters|parametersjsonschema|inputschema|outputschema|schema|responseschema|responsejsonschema)$/;

/**
 * Finds the fields of a JSON value that decide about models, at any depth. Not recursive, since the caller controls the
 * depth.
 */
function collectModelChoices(root: unknown): ModelChoice[] {
  const choices: ModelChoice[] = [];
  const waiting: { readonly value: unknown; readonly path: string }[] = [{ value: root, path: "" }];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { value, path } = next;
    if (typeof value !== "object" || value === null) continue;
    for (const [name, inner] of Object.entries(value)) {
      const field = Array.isArray(value) ? `${path}[${name}]` : toFieldPath(path, name);
      const kind = Array.isArray(value) ? "" : name.toLowerCase().replace(/[_-]/g, "");
      if (kind === "model") choices.push({ field, models: typeof inner === "string" ? [inner] : undefined });
      else if (CHOICE.test(kind)) choices.push({ field, models: undefined });
      else if (!SCHEMA.test(kind)) waiting.push({ value: inner, path: field });
    }
  }
  return choices;
}

/** Maximum length of a path that is kept. The path of a deep value would be as long as all its parents together. */
const MAX_PATH = 100;

function toFieldPath(path: string, name: string): string {
  const inner = path === "" ? name : `${path}.${name}`;
  return inner.length > MAX_PATH ? `…${inner.slice(-MAX_PATH)}` : inner;
}
