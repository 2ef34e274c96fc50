import { getPath, type HttpApi, type HttpRoute } from "./http-api.ts";
import { sendRejection, unknownPath } from "./rejection.ts";

const UNKNOWN: HttpRoute = {
  name: "unknown",
  isObserved: true,
  serve: async (request, response) => sendRejection(request, response, unknownPath(getPath(request))),
};

/** Takes every request that no other API takes, and answers that there is nothing at its path. */
export const fallbackApi = { find: () => UNKNOWN, reject: sendRejection } satisfies HttpApi;
