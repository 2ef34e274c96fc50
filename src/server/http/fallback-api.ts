import { sendRejection, unknownPath } from "../status/rejection.ts";
import { type HttpApi, type HttpRoute, pathOf } from "./http-api.ts";

const UNKNOWN: HttpRoute = {
  name: "unknown",
  isObserved: true,
  serve: async (request, response) => sendRejection(request, response, unknownPath(pathOf(request))),
};

/** Takes every request that no other API takes, and answers that there is nothing at its path. */
export const fallbackApi = { find: () => UNKNOWN, reject: sendRejection } satisfies HttpApi;
