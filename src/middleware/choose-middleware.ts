import type { MiddlewareMethods } from "../client/middleware.ts";
import type { Request } from "../gen/outrigger/v1/request_pb.ts";

/** Which calls are meant. A field that is left out means all. */
export interface CallScope {
  /** Name under which the provider is registered. */
  readonly provider?: string | undefined;
  /** The model as the request names it, after aliases were resolved. */
  readonly model?: string | undefined;
}

/**
 * A middleware for the calls of one provider or model; others pass by:
 * `onlyFor({ provider: "openai" }, createRateLimit({ requestsPerMinute: 500 }))`.
 */
export function onlyFor(scope: CallScope, middleware: MiddlewareMethods): Required<MiddlewareMethods> {
  return chooseMiddleware((request) => (isWithin(request, scope) ? middleware : undefined));
}

/** Whether a request goes to a provider and a model. */
export function isWithin(request: Request, { provider, model }: CallScope): boolean {
  return (
    (provider === undefined || provider === request.provider) &&
    (model === undefined || model === request.model)
  );
}

/** A middleware that is chosen for each call. Undefined: the call passes by. */
export function chooseMiddleware(
  choose: (request: Request) => MiddlewareMethods | undefined,
): Required<MiddlewareMethods> {
  return {
    complete(request, next, options) {
      return choose(request)?.complete?.(request, next, options) ?? next(request);
    },
    stream(request, next, options) {
      return choose(request)?.stream?.(request, next, options) ?? next(request);
    },
  };
}
