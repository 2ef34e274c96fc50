/** The HTTP API under `/v1`: OpenAI's API, for the models of every provider. */
import { MemoryAccount } from "../core/memory-account.ts";
import type { Endpoint } from "../http/endpoint.ts";
import { createEndpoint } from "../http/route-table.ts";
import { conversationRoutes } from "./conversations/routes.ts";
import type { ModelDirectory } from "./models/model-directory.ts";
import { modelRoutes } from "./models/routes.ts";
import { failedResponse } from "./openai/errors.ts";
import { KeptResponses } from "./responses/latest-response.ts";
import type { ResponsesParts } from "./responses/parts.ts";
import { ReplayMarks } from "./responses/replay-marks.ts";
import { inputRoutes, responsesRoutes } from "./responses/routes.ts";

/** The parts of the API. */
export interface V1Parts extends Omit<ResponsesParts, "keptResponses" | "marks"> {
  readonly models: ModelDirectory;
  /** The memory of the process. Default: a new account. */
  readonly account?: MemoryAccount | undefined;
}

/** Creates the API. */
export function createV1Api(parts: V1Parts): Endpoint {
  const { account = new MemoryAccount() } = parts;
  const shared = { ...parts, keptResponses: new KeptResponses(account.kept), marks: new ReplayMarks() };
  const routes = [
    ...inputRoutes(shared),
    ...responsesRoutes(shared),
    ...conversationRoutes(parts.engine.threads),
    ...modelRoutes(parts.models),
  ];
  return createEndpoint(routes, failedResponse, "/v1/");
}
