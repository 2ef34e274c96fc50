import type { MiddlewareMethods } from "../client/middleware.ts";

/** Sets the temperature of requests that have none. */
export function createDefaultTemperature(temperature: number): Required<MiddlewareMethods> {
  return {
    complete: (request, next) => next({ ...request, temperature: request.temperature ?? temperature }),
    stream: (request, next) => next({ ...request, temperature: request.temperature ?? temperature }),
  };
}
