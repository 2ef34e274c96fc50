/** The HTTP API under `/v1`: that of OpenAI, for the models of every provider. */
import { conversationRoutes } from "./conversations/routes.ts";
import type { Endpoint } from "./endpoint.ts";
import type { ModelDirectory } from "./models/model-directory.ts";
import { modelRoutes } from "./models/routes.ts";
import { failedResponse } from "./responses/errors.ts";
import { inputRoutes } from "./responses/input-routes.ts";
import type { ResponsesParts } from "./responses/parts.ts";
import { ReplayMarks } from "./responses/replay-marks.ts";
import { responsesRoutes } from "./responses/routes.ts";
import { endpointOf } from "./route-table.ts";

/** What the API is made of. */
export interface V1Parts extends Omit<ResponsesParts, "marks"> {
  readonly models: ModelDirectory;
}

/** Creates the API. */
export function createV1Api(parts: V1Parts): Endpoint {
  const shared = { ...parts, marks: new ReplayMarks() };
  const routes = [
    ...inputRoutes(shared),
    ...responsesRoutes(shared),
    ...conversationRoutes(parts.engine),
    ...modelRoutes(parts.models),
  ];
  return endpointOf(routes, failedResponse, "/v1/");
}
