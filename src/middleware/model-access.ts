import type { MiddlewareMethods } from "../client/middleware.ts";
import { quote } from "../client/violations.ts";
import { lazyBatches } from "../core/batches.ts";
import type { Caller } from "../core/caller.ts";
import { AccessDeniedError, type SDKError } from "../core/errors.ts";
import { EventStream } from "../core/event-stream.ts";
import type { Request } from "../gen/outrigger/v1/request_pb.ts";
import { tryReadJson } from "../kit/json/json.ts";

/**
 * Refuses calls of models that the caller may not use. To be put where the provider and the model of a call are known,
 * and around every cache.
 */
export function createModelAccess(): Required<MiddlewareMethods> {
  return {
    async complete(request, next, { caller }) {
      const denial = denialOf(request, caller);
      if (denial !== undefined) throw denial;
      return next(request);
    },
    stream(request, next, { caller }) {
      const denial = denialOf(request, caller);
      if (denial === undefined) return next(request);
      return new EventStream(
        lazyBatches(() => {
          throw denial;
        }),
      );
    },
  };
}

/** Whether an error is a refusal of this middleware, and not one of a provider. */
export function isDenial(error: SDKError): boolean {
  return error instanceof AccessDeniedError && error.provider === "";
}

function denialOf(request: Request, caller: Caller | undefined): AccessDeniedError | undefined {
  if (caller === undefined || !caller.isRestricted) return undefined;
  const { provider, model } = request;
  const denied = [model, ...modelsInOptions(request)].find((name) => !caller.allowsModel(provider, name));
  if (denied === undefined) return undefined;
  const what = `the model ${quote(denied)} of ${quote(provider)}`;
  return new AccessDeniedError(`the access key ${caller.name} may not use ${what}`);
}

/** Models that the provider's own fields name: such a field replaces the model, adds others, or is that of a tool. */
function modelsInOptions({ providerOptionsJson, tools }: Request): string[] {
  const texts = Object.values(providerOptionsJson);
  for (const { tool } of tools) if (tool.case === "hosted") texts.push(tool.value.configJson);
  return texts.flatMap((text) => modelNamesIn(tryReadJson(text)));
}

/** Names of fields that hold a model, or a list of them. OpenRouter and LiteLLM have lists. */
const MODEL_FIELD = /^(?:model|models|fallback_?models?|fallbacks)$/i;

/** The texts in the fields of a JSON value that hold models, at any depth. Not recursive: the depth is the caller's. */
function modelNamesIn(root: unknown): string[] {
  const names: string[] = [];
  const waiting: { readonly value: unknown; readonly isModel: boolean }[] = [{ value: root, isModel: false }];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { value, isModel } = next;
    if (typeof value === "string" && isModel) names.push(value);
    if (typeof value !== "object" || value === null) continue;
    const isList = Array.isArray(value);
    for (const [name, inner] of Object.entries(value))
      waiting.push({ value: inner, isModel: isList ? isModel : MODEL_FIELD.test(name) });
  }
  return names;
}
